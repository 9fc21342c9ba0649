"""Runs the stages over pages, merges what they find, and caches it."""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import structlog

from cinder.errors import CinderError
from cinder.extraction.field_specs import schema_path
from cinder.extraction.merging import build_data, keep_values, merge_data
from cinder.llm.base import Budget, BudgetLimits
from cinder.llm.schema_check import SchemaCheck
from cinder.models.document import Json
from cinder.models.extraction import ExtractedData, FieldPath, FieldValue, ModelUsage
from cinder.services.extraction.found_fields import (
    SchemaFields,
    field_of,
    is_firm,
    is_in_array,
    open_fields,
    still_missing,
)
from cinder.services.extraction.model_stage import ModelStage
from cinder.services.extraction.prompt_schema import read_prompt_fields
from cinder.services.extraction.site_recipes import RecipeLearner
from cinder.services.extraction.stages import (
    ExtractionRun,
    ExtractionSpec,
    ExtractionStage,
    LoadedPage,
    make_extraction_spec,
)
from cinder.services.threads import run_in_thread

_MAX_ENTRIES = 2_000


class FindingsCache:
    """Holds findings, those that were asked for last."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._held: OrderedDict[str, ExtractedData] = OrderedDict()
        self._values = 0

    def find(self, key: str) -> ExtractedData | None:
        """Return what is held; None where nothing is."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def hold(self, key: str, found: ExtractedData) -> None:
        """Hold findings, and let go of those that have not been used for longest."""
        replaced = self._held.pop(key, None)
        self._held[key] = found
        self._values += _size(found) - (_size(replaced) if replaced else 0)
        while self._held and (self._values > self._max_values or len(self._held) > _MAX_ENTRIES):
            _, oldest = self._held.popitem(last=False)
            self._values -= _size(oldest)


def findings_key(identity: str, page: LoadedPage, wanted: Sequence[Json]) -> str:
    """Return what findings are held by: who found them, in what content, and what was wanted."""
    parts = [identity, page.fingerprint, *wanted]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _size(found: ExtractedData) -> int:
    return len(found.values) + len(found.conflicts) + 1


def join_stages(found: ExtractedData, more: ExtractedData) -> ExtractedData:
    """Return what one stage found and what a later one adds to it, for the same page.

    A firm value stays. A weak one gives way to a proved one of the later stage. An array is taken
    from one stage as a whole, since items of two ways of reading are never quite the same.
    """
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=True)))
    proved = (each for each in more.values if each.is_grounded)
    taken_over = _arrays_of(proved, firm=False)
    found = keep_values(found, _outside(found.values, taken_over))
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=False)))
    firm = keep_values(found, [each for each in found.values if is_firm(each)])
    weak = keep_values(found, [each for each in found.values if not is_firm(each)])
    # Where nothing was dropped, both would be all of it.
    parts = [firm, more] if len(firm.values) == len(found.values) else [firm, more, weak]
    return _with_missing(merge_data(parts), (found, more))


def join_pages(pages: Sequence[ExtractedData]) -> ExtractedData:
    """Return the data of several pages, in their order."""
    return _with_missing(merge_data(pages), pages) if pages else ExtractedData(data={})


def keep_firm(found: ExtractedData) -> ExtractedData:
    """Return the data without what does not quite fit; those fields count as missing."""
    kept = keep_values(found, [each for each in found.values if is_firm(each)])
    named = (*found.missing, *(field_of(each.path) for each in found.values))
    return replace(kept, missing=still_missing(named, kept))


def order_by_schema(found: ExtractedData, fields: SchemaFields) -> ExtractedData:
    """Return the data with its fields in the order in which the schema has them."""
    places: Mapping[str, int] = {field: place for place, field in enumerate(fields.names)}
    values = sorted(found.values, key=lambda each: places.get(field_of(each.path), len(places)))
    return replace(found, data=build_data(values, fields.nothing), values=tuple(values))


def _with_missing(joined: ExtractedData, parts: Iterable[ExtractedData]) -> ExtractedData:
    named = [field for part in parts for field in part.missing]
    return replace(joined, missing=still_missing(named, joined))


def _arrays_of(values: Iterable[FieldValue], *, firm: bool) -> set[str]:
    return {
        field_of(each.path)
        for each in values
        if is_in_array(each.path) and (is_firm(each) or not firm)
    }


def _outside(values: Iterable[FieldValue], fields: set[str]) -> list[FieldValue]:
    return [
        each for each in values if not is_in_array(each.path) or field_of(each.path) not in fields
    ]


# What stands beneath others is seen only when those are gone.
_MAX_ROUNDS = 4
_MAX_REFUSED = 5_000
_MAX_TOLD = 10


def drop_refused(found: ExtractedData, check: SchemaCheck) -> ExtractedData:
    """Return the data without single values that the schema refuses; warnings tell which."""
    for _ in range(_MAX_ROUNDS):
        held = {each.path: each for each in found.values}
        refused = {
            place: message
            for place, message in check.violations(found.data, _MAX_REFUSED)
            if place in held
        }
        if not refused:
            break
        found = _without(found, refused)
    return found


def find_problems(found: ExtractedData, check: SchemaCheck) -> tuple[str, ...]:
    """Return where the data does not match the schema."""
    return check.problems(found.data)


def _without(found: ExtractedData, refused: dict[FieldPath, str]) -> ExtractedData:
    kept = keep_values(found, [each for each in found.values if each.path not in refused])
    told = [
        f"{schema_path(place)}: a value was left out, for the schema refuses it: {message}"
        for place, message in islice(refused.items(), _MAX_TOLD)
    ]
    if len(refused) > _MAX_TOLD:
        told.append(f"{len(refused) - _MAX_TOLD} more values were left out for such reasons.")
    filled = {schema_path(each.path) for each in kept.values}
    lost = [field for place in refused if (field := schema_path(place)) not in filled]
    return replace(
        kept,
        missing=tuple(dict.fromkeys((*kept.missing, *lost))),
        warnings=(*kept.warnings, *told),
    )


# Of a request's time, what is kept for joining and checking what the model said.
_ANSWERING_SECONDS = 2.0
_CHARS_PER_VALUE = 100

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionModel:
    """The owner's language model: the stage that asks it, and what one request may take of it."""

    name: str
    stage: ModelStage
    limits: BudgetLimits


@dataclass(frozen=True, slots=True)
class Findings:
    """What pages hold, and the wish that it answers; None where a model chose the fields."""

    extracted: ExtractedData
    wish: ExtractionSpec | None = None


class Extractor:
    """Fills a schema from pages.

    The stages, which cost little, run on every page. The model is asked about one page after the
    other, and only for what is still open by then.
    """

    def __init__(
        self,
        stages: Sequence[ExtractionStage],
        model: ExtractionModel | None,
        memory: FindingsCache,
        learner: RecipeLearner | None = None,
    ) -> None:
        self._stages = stages
        self._model = model
        self._memory = memory
        self._learner = learner

    def begin(self, until: float, caller: str) -> ExtractionRun:
        """Return what a caller's request notes, which ends at a time of the loop's clock."""
        if self._model is None:
            return ExtractionRun()
        left = max(0.0, until - asyncio.get_running_loop().time() - _ANSWERING_SECONDS)
        limits = self._model.limits
        limits = replace(limits, seconds=min(limits.seconds, left))
        return ExtractionRun(budget=Budget(limits, caller=caller))

    def usage_of(self, run: ExtractionRun) -> ModelUsage | None:
        """Return what was asked of the model; None where there was none to ask."""
        if self._model is None or run.budget is None:
            return None
        budget = run.budget
        return ModelUsage(model=self._model.name, calls=budget.calls, tokens=budget.tokens)

    async def answer(
        self,
        pages: Sequence[LoadedPage],
        prompt: str,
        wish: ExtractionSpec | None,
        run: ExtractionRun,
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
            wish = make_extraction_spec(prompt, schema, is_schema_given=False)
        if wish is None:
            return Findings(ExtractedData(data={}))
        return Findings(await self.extract(pages, wish, run), wish)

    async def _answer_freely(
        self, stage: ModelStage, pages: Sequence[LoadedPage], prompt: str, run: ExtractionRun
    ) -> ExtractedData:
        # One after the other: each takes of the same budget.
        found = [await self._remember(stage, page, prompt, run) for page in pages if run.may_ask]
        joined = await _join(found)
        if joined.values:
            run.note_engine(stage.engine)
        return joined

    async def _remember(
        self, stage: ModelStage, page: LoadedPage, prompt: str, run: ExtractionRun
    ) -> ExtractedData:
        key = findings_key(stage.identity, page, (prompt,))
        found = self._memory.find(key)
        if found is None:
            warned = len(run.warnings)
            found = await stage.find_freely(page, prompt, run)
            if len(run.warnings) == warned:
                self._memory.hold(key, found)
        return found

    async def extract(
        self, pages: Sequence[LoadedPage], wish: ExtractionSpec, run: ExtractionRun
    ) -> ExtractedData:
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
        self,
        pages: Sequence[LoadedPage],
        wish: ExtractionSpec,
        found: Sequence[ExtractedData],
        run: ExtractionRun,
    ) -> None:
        """Learn from what was found on each page, for the next of their sites."""
        if self._learner is not None:
            await self._learner.learn(pages, wish, found, run)

    async def _find_by_stages(
        self, page: LoadedPage, wish: ExtractionSpec, run: ExtractionRun
    ) -> ExtractedData:
        found = ExtractedData(data=wish.fields.nothing, missing=wish.fields.names)
        for stage in self._stages:
            wanted = open_fields(wish.fields.names, found)
            if not wanted:
                break
            more = await self._find(stage, page, wish, wanted, run)
            found = await _add(found, more, wish)
        return found

    async def _find(
        self,
        stage: ExtractionStage,
        page: LoadedPage,
        wish: ExtractionSpec,
        fields: tuple[str, ...],
        run: ExtractionRun,
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
    stage: ExtractionStage,
    page: LoadedPage,
    wish: ExtractionSpec,
    fields: tuple[str, ...],
    run: ExtractionRun,
) -> ExtractedData:
    """Return what a stage finds; where it fails, nothing, and a sentence in the run."""
    try:
        return await stage.find(page, wish, fields, run)
    except CinderError as error:
        log.warning("a stage failed", stage=stage.engine, url=page.url, reason=error.message)
        run.warnings.append(error.message)
        return ExtractedData(data={}, missing=fields)


async def _add(found: ExtractedData, more: ExtractedData, wish: ExtractionSpec) -> ExtractedData:
    """Return findings with what a later stage adds to them, as far as the schema takes it."""

    def add() -> ExtractedData:
        return drop_refused(join_stages(found, more), wish.check)

    return await run_in_thread(_weigh((found, more)), add)


async def _join(pages: Sequence[ExtractedData]) -> ExtractedData:
    return await run_in_thread(_weigh(pages), join_pages, pages)


def _weigh(findings: Sequence[ExtractedData]) -> int:
    """Return how long a text is that would take about as long."""
    return sum(len(each.values) for each in findings) * _CHARS_PER_VALUE


def _worth_asking(
    wish: ExtractionSpec, of_page: ExtractedData, of_all: ExtractedData
) -> tuple[str, ...]:
    """Return what a model is asked of a page: what is open there, and not known from another.

    An array is joined of all pages, so that each is asked for it.
    """
    names = wish.fields.names
    unknown = {*open_fields(names, of_all), *wish.fields.arrays}
    return tuple(field for field in open_fields(names, of_page) if field in unknown)
