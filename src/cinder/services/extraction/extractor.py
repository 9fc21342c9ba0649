"""The extractor: runs the stages over pages and joins what they find."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from cinder.errors import CinderError
from cinder.llm.budget import Budget, BudgetLimits
from cinder.model.extract import ModelUsage
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.joining import (
    join_pages,
    join_stages,
    keep_firm,
    order_by_schema,
)
from cinder.services.extraction.memory import FindingsMemory, findings_key
from cinder.services.extraction.model_stage import ModelStage
from cinder.services.extraction.open_fields import open_fields
from cinder.services.extraction.prompt_fields import read_prompt_fields
from cinder.services.extraction.recipe_learning import RecipeLearner
from cinder.services.extraction.schema_fit import drop_refused
from cinder.services.extraction.stages import ReadPage, Run, Stage, Wish, make_wish
from cinder.services.off_loop import off_loop

# Of a request's time, what is kept for joining and checking what the model said.
_ANSWERING_SECONDS = 2.0
_CHARS_PER_VALUE = 100

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedModel:
    """The owner's language model: the stage that asks it, and what one request may take of it."""

    name: str
    stage: ModelStage
    limits: BudgetLimits


@dataclass(frozen=True, slots=True)
class Findings:
    """What pages hold, and the wish that it answers; None where a model chose the fields."""

    extracted: ExtractedData
    wish: Wish | None = None


class Extractor:
    """Fills a schema from pages.

    The stages, which cost little, run on every page. The model is asked about one page after the
    other, and only for what is still open by then.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        model: AskedModel | None,
        memory: FindingsMemory,
        learner: RecipeLearner | None = None,
    ) -> None:
        self._stages = stages
        self._model = model
        self._memory = memory
        self._learner = learner

    def begin(self, until: float, caller: str) -> Run:
        """Return what a caller's request notes, which ends at a time of the loop's clock."""
        if self._model is None:
            return Run()
        left = max(0.0, until - asyncio.get_running_loop().time() - _ANSWERING_SECONDS)
        limits = self._model.limits
        limits = replace(limits, seconds=min(limits.seconds, left))
        return Run(budget=Budget(limits, caller=caller))

    def usage_of(self, run: Run) -> ModelUsage | None:
        """Return what was asked of the model; None where there was none to ask."""
        if self._model is None or run.budget is None:
            return None
        budget = run.budget
        return ModelUsage(model=self._model.name, calls=budget.calls, tokens=budget.tokens)

    async def answer(
        self, pages: Sequence[ReadPage], prompt: str, wish: Wish | None, run: Run
    ) -> Findings:
        """Return what pages hold of what is wanted: by a schema, or else by the prompt alone.

        Without a schema it is the model that says which fields there are. Where there is none, the
        fields are those that the prompt lists.
        """
        if wish is None and self._model is not None and run.may_ask:
            found = await self._answer_freely(self._model.stage, pages, prompt, run)
            if found.values:
                return Findings(found)
        if wish is None and (schema := read_prompt_fields(prompt)):
            wish = make_wish(prompt, schema, is_schema_given=False)
        if wish is None:
            return Findings(ExtractedData(data={}))
        return Findings(await self.extract(pages, wish, run), wish)

    async def _answer_freely(
        self, stage: ModelStage, pages: Sequence[ReadPage], prompt: str, run: Run
    ) -> ExtractedData:
        # One after the other: each takes of the same budget.
        found = [await self._remember(stage, page, prompt, run) for page in pages if run.may_ask]
        joined = await _join(found)
        if joined.values:
            run.note_engine(stage.engine)
        return joined

    async def _remember(
        self, stage: ModelStage, page: ReadPage, prompt: str, run: Run
    ) -> ExtractedData:
        key = findings_key(stage.identity, page, (prompt,))
        found = self._memory.find(key)
        if found is None:
            warned = len(run.warnings)
            found = await stage.find_freely(page, prompt, run)
            if len(run.warnings) == warned:
                self._memory.hold(key, found)
        return found

    async def extract(self, pages: Sequence[ReadPage], wish: Wish, run: Run) -> ExtractedData:
        """Return what the pages hold, joined in their order."""
        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(self._find_by_stages(page, wish, run)) for page in pages]
        found = [task.result() for task in reading]
        for place, page in enumerate(pages):
            if self._model is None or not run.may_ask:
                break
            wanted = _worth_asking(wish, found[place], await _join(found))
            if wanted:
                asked = await self._find(self._model.stage, page, wish, wanted, run)
                found[place] = await _add(found[place], asked, wish)
        await self.learn(pages, wish, found, run)
        joined = order_by_schema(await _join(found), wish.fields)
        # What a prompt calls a thing is a guess: one that fits only so far is none to answer with.
        return joined if wish.is_schema_given else keep_firm(joined)

    async def learn(
        self, pages: Sequence[ReadPage], wish: Wish, found: Sequence[ExtractedData], run: Run
    ) -> None:
        """Learn from what was found on each page, for the next of their sites."""
        if self._learner is not None:
            await self._learner.learn(pages, wish, found, run)

    async def _find_by_stages(self, page: ReadPage, wish: Wish, run: Run) -> ExtractedData:
        found = ExtractedData(data=wish.fields.nothing, missing=wish.fields.names)
        for stage in self._stages:
            wanted = open_fields(wish.fields.names, found)
            if not wanted:
                break
            more = await self._find(stage, page, wish, wanted, run)
            found = await _add(found, more, wish)
        return found

    async def _find(
        self, stage: Stage, page: ReadPage, wish: Wish, fields: tuple[str, ...], run: Run
    ) -> ExtractedData:
        key = None
        if stage.identity is not None:
            key = findings_key(stage.identity, page, (wish.prompt, wish.schema, fields))
        found = self._memory.find(key) if key is not None else None
        if found is None:
            warned = len(run.warnings)
            found = await _try(stage, page, wish, fields, run)
            # What failed today may do tomorrow.
            if key is not None and len(run.warnings) == warned:
                self._memory.hold(key, found)
        if found.values:
            run.note_engine(stage.engine)
        return found


async def _try(
    stage: Stage, page: ReadPage, wish: Wish, fields: tuple[str, ...], run: Run
) -> ExtractedData:
    """Return what a stage finds; where it fails, nothing, and a sentence in the run."""
    try:
        return await stage.find(page, wish, fields, run)
    except CinderError as error:
        log.warning("a stage failed", stage=stage.engine, url=page.url, reason=error.message)
        run.warnings.append(error.message)
        return ExtractedData(data={}, missing=fields)


async def _add(found: ExtractedData, more: ExtractedData, wish: Wish) -> ExtractedData:
    """Return findings with what a later stage adds to them, as far as the schema takes it."""

    def add() -> ExtractedData:
        return drop_refused(join_stages(found, more), wish.check)

    return await off_loop(_weigh((found, more)), add)


async def _join(pages: Sequence[ExtractedData]) -> ExtractedData:
    return await off_loop(_weigh(pages), join_pages, pages)


def _weigh(findings: Sequence[ExtractedData]) -> int:
    """Return how long a text is that would take about as long."""
    return sum(len(each.values) for each in findings) * _CHARS_PER_VALUE


def _worth_asking(wish: Wish, of_page: ExtractedData, of_all: ExtractedData) -> tuple[str, ...]:
    """Return what a model is asked of a page: what is open there, and not known from another.

    An array is joined of all pages, so that each is asked for it.
    """
    names = wish.fields.names
    unknown = {*open_fields(names, of_all), *wish.fields.arrays}
    return tuple(field for field in open_fields(names, of_page) if field in unknown)
