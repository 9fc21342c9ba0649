"""The stage of the model: asks the owner's language model for what rules did not find."""

from collections.abc import Mapping

from cinder.extract.fields.extraction import build_data
from cinder.model.document import Json
from cinder.model.extract import Engine
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.asking import ModelAsker, ModelFindings, ModelQuestion
from cinder.services.extraction.stages import ReadPage, Run, Wish

# Raise it with every change of what a model is asked.
_ASKING_VERSION = 1
_WITHOUT_MODEL = "What was found without it is here."


class ModelStage:
    """Asks a model for the fields that are open."""

    engine = Engine.MODEL

    def __init__(self, asker: ModelAsker) -> None:
        self._asker = asker
        self.identity = f"model-{_ASKING_VERSION} {asker.model_name}"

    async def find(
        self, page: ReadPage, wish: Wish, fields: tuple[str, ...], run: Run
    ) -> ExtractedData:
        """Return what the model says, looked up in the page."""
        return await self._ask(page, wish.prompt, wish.schema, fields, run)

    async def find_freely(self, page: ReadPage, prompt: str, run: Run) -> ExtractedData:
        """Return what a prompt wants, where no schema says which fields that are."""
        return await self._ask(page, prompt, None, (), run)

    async def _ask(
        self,
        page: ReadPage,
        prompt: str,
        schema: Mapping[str, Json] | None,
        fields: tuple[str, ...],
        run: Run,
    ) -> ExtractedData:
        if run.budget is None:
            return ExtractedData(data={}, missing=fields)
        question = ModelQuestion(
            markdown=page.markdown or "", url=page.url, prompt=prompt, schema=schema, fields=fields
        )
        findings = await self._asker.ask(question, run.budget)
        _note(findings, run)
        return ExtractedData(
            data=build_data(findings.values, {}),
            values=findings.values,
            missing=findings.missing,
        )


def _note(findings: ModelFindings, run: Run) -> None:
    told = [*findings.tried, *([_WITHOUT_MODEL] if findings.is_over else [])]
    if told:
        run.warnings.append(" ".join(told))
    run.is_model_down = run.is_model_down or findings.is_over
