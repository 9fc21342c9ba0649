"""The extraction pipeline: stages in order, each for the fields still missing."""

import asyncio
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import structlog

from cinder.background import run_in_thread
from cinder.errors import CinderError
from cinder.extraction.field_specs import schema_path
from cinder.extraction.merging import build_data, keep_values, merge_data
from cinder.llm.base import Budget, BudgetLimits
from cinder.llm.schema_check import SchemaCheck
from cinder.models.document import Json
from cinder.models.extraction import ExtractedData, FieldValue, ModelUsage
from cinder.services.extraction.found_fields import (
    SchemaFields,
    field_of,
    is_firm,
    is_in_array,
    open_fields,
    still_missing,
)
from cinder.services.extraction.model_stage import ModelStage
from cinder.services.extraction.site_recipes import RecipeLearner
from cinder.services.extraction.stages import (
    ExtractionRun,
    ExtractionSpec,
    ExtractionStage,
    LoadedPage,
    make_extraction_spec,
)

_MAX_FIELDS = 30
_MAX_WORDS = 4
_MAX_PROMPT_CHARS = 2_000
_SEPARATORS = re.compile(r"[,;\n•]| and | und | plus | with | as well as |&")
_WORD = re.compile(r"[^\W_]+(?:'s)?")
_ASIDE = re.compile(r"\([^()]{0,200}\)")
# The end of a sentence; the sentences after the first explain it.
_SENTENCE_END = re.compile(r"[.?!:](?:\s|$)")
_VERBS = frozenset(
    (
        *("extract", "get", "find", "give", "list", "return", "show", "tell", "fetch", "collect"),
        *("read", "what", "which", "who", "when", "where", "is", "are", "was", "were", "me"),
        *("please", "i", "need", "want", "would", "like", "also", "pull", "identify", "for"),
        "each",
        *("out", "then", "both", "us", "with", "including", "includes", "include", "such", "to"),
    )
)
_ARTICLES = frozenset(
    ("the", "a", "an", "its", "their", "all", "every", "any", "it", "this", "that")
)
# Tasks whose result is no value on the page.
_TASKS = frozenset(
    ("summarize", "summarise", "describe", "explain", "compare", "translate", "rewrite", "analyze")
)
# Words before the location of the fields, which is no field itself.
_WHERE = frozenset(
    ("from", "on", "in", "at", "by", "if", "whether", "because", "about", "how", "why")
)
_NUMBERS = frozenset(("price", "cost", "fee", "rating", "score", "salary", "stars"))
_COUNTS = frozenset(("count", "number", "quantity", "reviews", "pages", "servings", "year"))
_NOT_COUNTED = frozenset(
    ("phone", "telephone", "serial", "article", "part", "model", "fax", "account")
)
_DATES = frozenset(("date", "deadline", "published", "birthday"))
_ADDRESSES = frozenset(("url", "link", "website", "homepage", "image"))


def read_prompt_fields(prompt: str) -> Mapping[str, Json] | None:
    """Return the schema of the fields that a prompt lists; None if it lists none."""
    text = _ASIDE.sub(" ", prompt[:_MAX_PROMPT_CHARS]).strip()
    if not _TASKS.isdisjoint(word.casefold() for word in _WORD.findall(text)[:3]):
        return None
    if end := _SENTENCE_END.search(text):
        rest = text[end.end() :]
        # "I need the following: name, price" has its fields after the colon.
        text = rest if end[0][0] == ":" and rest.strip() else text[: end.start()]
    named: dict[str, Json] = {}
    for part in _SEPARATORS.split(text):
        words = _field_words(part)
        if 0 < len(words) <= _MAX_WORDS and len(named) < _MAX_FIELDS:
            name = words[0] + "".join(word.capitalize() for word in words[1:])
            named.setdefault(name, _describe(words))
    return {"type": "object", "properties": named} if named else None


def _field_words(part: str) -> list[str]:
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(part)[:20])
    head, of, tail = " ".join(words).partition(" of ")
    if not of or tail.split()[:1] == ["this"]:
        return _name_words(head.split())
    # "The name of the author" is the author's name.
    return [*_name_words(tail.split()), *_name_words(head.split())]


def _name_words(words: list[str]) -> list[str]:
    kept: list[str] = []
    for word in words:
        if word in _WHERE and kept:
            break
        if (kept or word not in _VERBS) and word not in _ARTICLES and word not in _WHERE:
            kept.append(word)
    return kept


def _describe(words: list[str]) -> dict[str, Json]:
    last, unique = words[-1], set(words)
    if last in _DATES:
        return {"type": "string", "format": "date"}
    if "email" in unique or "mail" in unique:
        return {"type": "string", "format": "email"}
    if last in _ADDRESSES:
        return {"type": "string", "format": "uri"}
    if unique & _NUMBERS:
        return {"type": "number"}
    if unique & _COUNTS and not unique & _NOT_COUNTED:
        return {"type": "integer"}
    return {"type": "string"}


_MAX_ENTRIES = 2_000


class FindingsCache:
    """An LRU cache of findings."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._held: OrderedDict[str, ExtractedData] = OrderedDict()
        self._values = 0

    def find(self, key: str) -> ExtractedData | None:
        """Return the cached findings; None if there are none."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def hold(self, key: str, found: ExtractedData) -> None:
        """Cache findings, and evict the least recently used."""
        replaced = self._held.pop(key, None)
        self._held[key] = found
        self._values += _size(found) - (_size(replaced) if replaced else 0)
        while self._held and (self._values > self._max_values or len(self._held) > _MAX_ENTRIES):
            _, oldest = self._held.popitem(last=False)
            self._values -= _size(oldest)


def findings_key(identity: str, page: LoadedPage, question: Sequence[Json]) -> str:
    """Return the cache key of findings: the stage, the page's content, and the question."""
    parts = [identity, page.fingerprint, *question]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _size(found: ExtractedData) -> int:
    return len(found.values) + len(found.conflicts) + 1


def join_stages(found: ExtractedData, more: ExtractedData) -> ExtractedData:
    """Return the findings of one stage and of a later one, for the same page.

    A firm value stays. A grounded value of the later stage replaces a weak one. An array comes from
    one stage as a whole, since the items of two stages never match exactly.
    """
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=True)))
    proved = (each for each in more.values if each.is_grounded)
    taken_over = _arrays_of(proved, firm=False)
    found = keep_values(found, _outside(found.values, taken_over))
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=False)))
    firm = keep_values(found, [each for each in found.values if is_firm(each)])
    weak = keep_values(found, [each for each in found.values if not is_firm(each)])
    # Without weak values, `weak` equals `found`: `keep_values` drops nothing then.
    parts = [firm, more] if len(firm.values) == len(found.values) else [firm, more, weak]
    return _with_missing(merge_data(parts), (found, more))


def join_pages(pages: Sequence[ExtractedData]) -> ExtractedData:
    """Return the data of several pages, in their order."""
    return _with_missing(merge_data(pages), pages) if pages else ExtractedData(data={})


def keep_firm(found: ExtractedData) -> ExtractedData:
    """Return the data without weak values; their fields count as missing."""
    kept = keep_values(found, [each for each in found.values if is_firm(each)])
    named = (*found.missing, *(field_of(each.path) for each in found.values))
    return replace(kept, missing=still_missing(named, kept))


def order_by_schema(found: ExtractedData, fields: SchemaFields) -> ExtractedData:
    """Return the data with its fields in the order of the schema."""
    order: Mapping[str, int] = {field: index for index, field in enumerate(fields.names)}
    values = sorted(found.values, key=lambda each: order.get(field_of(each.path), len(order)))
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


# The schema check may report a nested value only after its container is valid.
_MAX_ROUNDS = 4
_MAX_REFUSED = 5_000
_MAX_NAMED = 10


def drop_refused(found: ExtractedData, check: SchemaCheck) -> ExtractedData:
    """Return the data without single values that the schema refuses; warnings name them."""
    for _ in range(_MAX_ROUNDS):
        paths = {each.path for each in found.values}
        refused = {
            path: message
            for path, message in check.violations(found.data, _MAX_REFUSED)
            if path in paths
        }
        if not refused:
            break
        kept = keep_values(found, [each for each in found.values if each.path not in refused])
        warnings = [
            f"{schema_path(path)}: a value was left out, for the schema refuses it: {message}"
            for path, message in islice(refused.items(), _MAX_NAMED)
        ]
        if (unnamed := len(refused) - _MAX_NAMED) > 0:
            warnings.append(f"{unnamed} more values were left out for such reasons.")
        filled = {schema_path(each.path) for each in kept.values}
        lost = [field for path in refused if (field := schema_path(path)) not in filled]
        found = replace(
            kept,
            missing=tuple(dict.fromkeys((*kept.missing, *lost))),
            warnings=(*kept.warnings, *warnings),
        )
    return found


# The part of a request's time that is reserved for merging and checking the model's values.
_ANSWERING_SECONDS = 2.0
_CHARS_PER_VALUE = 100

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionModel:
    """The configured language model: its stage, and the limits of one request."""

    name: str
    stage: ModelStage
    limits: BudgetLimits


@dataclass(frozen=True, slots=True)
class Findings:
    """The data of pages, and its spec; None if a model chose the fields."""

    extracted: ExtractedData
    spec: ExtractionSpec | None = None


class Extractor:
    """Fills a schema from pages.

    The stages, which cost little, run on every page. The model is asked about one page after the
    other, and only for the fields that are still open.
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
        self._cache = memory
        self._learner = learner

    def begin(self, until: float, caller: str) -> ExtractionRun:
        """Return the run of a caller's request, which ends at a time of the loop's clock."""
        if self._model is None:
            return ExtractionRun()
        left = max(0.0, until - asyncio.get_running_loop().time() - _ANSWERING_SECONDS)
        limits = self._model.limits
        limits = replace(limits, seconds=min(limits.seconds, left))
        return ExtractionRun(budget=Budget(limits, caller=caller))

    def usage_of(self, run: ExtractionRun) -> ModelUsage | None:
        """Return the use of the model in a run; None if there is no model."""
        if self._model is None or run.budget is None:
            return None
        budget = run.budget
        return ModelUsage(model=self._model.name, calls=budget.calls, tokens=budget.tokens)

    async def answer(
        self,
        pages: Sequence[LoadedPage],
        prompt: str,
        spec: ExtractionSpec | None,
        run: ExtractionRun,
    ) -> Findings:
        """Return the data of pages for a schema, or for a prompt without one.

        Without a schema, the model chooses the fields; without a model, the fields are those that
        the prompt lists.
        """
        if spec is None and self._model is not None and run.may_ask:
            found = await self._answer_freely(self._model.stage, pages, prompt, run)
            if found.values:
                return Findings(found)
        if spec is None and (schema := read_prompt_fields(prompt)):
            spec = make_extraction_spec(prompt, schema, is_schema_given=False)
        if spec is None:
            return Findings(ExtractedData(data={}))
        return Findings(await self.extract(pages, spec, run), spec)

    async def _answer_freely(
        self, stage: ModelStage, pages: Sequence[LoadedPage], prompt: str, run: ExtractionRun
    ) -> ExtractedData:
        found = []
        # One after the other: they share a budget.
        for page in pages:
            if run.may_ask:
                key = findings_key(stage.identity, page, (prompt,))
                find = partial(stage.find_freely, page, prompt, run)
                found.append(await self._cached(key, find, run))
        joined = await _join(found)
        if joined.values:
            run.note_engine(stage.engine)
        return joined

    async def _cached(
        self, key: str | None, find: Callable[[], Awaitable[ExtractedData]], run: ExtractionRun
    ) -> ExtractedData:
        found = self._cache.find(key) if key is not None else None
        if found is None:
            warned = len(run.warnings)
            found = await find()
            # A stage that failed may succeed next time.
            if key is not None and len(run.warnings) == warned:
                self._cache.hold(key, found)
        return found

    async def extract(
        self, pages: Sequence[LoadedPage], spec: ExtractionSpec, run: ExtractionRun
    ) -> ExtractedData:
        """Return the data of the pages, joined in their order."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._find_by_stages(page, spec, run)) for page in pages]
        found = [task.result() for task in tasks]
        for index, page in enumerate(pages):
            if self._model is None or not run.may_ask:
                break
            # Fields known from another page are not asked for, but an array is joined from all.
            unknown = {*open_fields(spec.fields.names, await _join(found)), *spec.fields.arrays}
            still_open = open_fields(spec.fields.names, found[index])
            if fields := tuple(field for field in still_open if field in unknown):
                more = await self._find(self._model.stage, page, spec, fields, run)
                found[index] = await _add(found[index], more, spec)
        await self.learn(pages, spec, found, run)
        joined = order_by_schema(await _join(found), spec.fields)
        # Fields of a prompt are a guess, so only values that fit well count.
        return joined if spec.is_schema_given else keep_firm(joined)

    async def learn(
        self,
        pages: Sequence[LoadedPage],
        spec: ExtractionSpec,
        found: Sequence[ExtractedData],
        run: ExtractionRun,
    ) -> None:
        """Learn recipes from the findings of each page, for other pages of its site."""
        if self._learner is not None:
            await self._learner.learn(pages, spec, found, run)

    async def _find_by_stages(
        self, page: LoadedPage, spec: ExtractionSpec, run: ExtractionRun
    ) -> ExtractedData:
        found = ExtractedData(data=spec.fields.nothing, missing=spec.fields.names)
        for stage in self._stages:
            if fields := open_fields(spec.fields.names, found):
                found = await _add(found, await self._find(stage, page, spec, fields, run), spec)
        return found

    async def _find(
        self,
        stage: ExtractionStage,
        page: LoadedPage,
        spec: ExtractionSpec,
        fields: tuple[str, ...],
        run: ExtractionRun,
    ) -> ExtractedData:
        async def find() -> ExtractedData:
            try:
                return await stage.find(page, spec, fields, run)
            except CinderError as error:
                reason = error.message
                log.warning("a stage failed", stage=stage.engine, url=page.url, reason=reason)
                run.warnings.append(reason)
                return ExtractedData(data={}, missing=fields)

        key = None
        if stage.identity is not None:
            key = findings_key(stage.identity, page, (spec.prompt, spec.schema, fields))
        found = await self._cached(key, find, run)
        if found.values:
            run.note_engine(stage.engine)
        return found


async def _add(found: ExtractedData, more: ExtractedData, spec: ExtractionSpec) -> ExtractedData:
    """Return findings with those of a later stage, without values that the schema refuses."""

    def add() -> ExtractedData:
        return drop_refused(join_stages(found, more), spec.check)

    return await run_in_thread(_weigh((found, more)), add)


async def _join(pages: Sequence[ExtractedData]) -> ExtractedData:
    return await run_in_thread(_weigh(pages), join_pages, pages)


def _weigh(findings: Sequence[ExtractedData]) -> int:
    """Return the length of a text that takes about as long to process."""
    return sum(len(each.values) for each in findings) * _CHARS_PER_VALUE
