"""The stage of rules: fields found on a page without a model, in a child process."""

from cinder.extract.fields.version import FIELDS_VERSION
from cinder.model.extract import Engine
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.stages import ReadPage, Run, Wish
from cinder.services.sandbox.sandbox import ExtractionSandbox


class RulesStage:
    """Fills a schema by what the page itself says."""

    engine = Engine.RULES
    identity = f"rules-{FIELDS_VERSION}"

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def find(
        self, page: ReadPage, wish: Wish, _fields: tuple[str, ...], _run: Run
    ) -> ExtractedData:
        """Return what the page says of all fields; whoever has some already leaves those out.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._sandbox.extract_fields(
            page.text,
            page.markdown,
            content_type=page.content_type,
            url=page.url,
            schema=wish.schema,
        )
