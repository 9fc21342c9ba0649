"""The stage that asks a language model for open fields, and looks up what it answers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.background import run_in_thread
from cinder.errors import CinderError
from cinder.extraction.grounding import ClaimProver
from cinder.extraction.merging import build_data
from cinder.extraction.passage_ranking import build_passage_query
from cinder.llm.base import (
    Budget,
    ContextTooLong,
    LanguageModel,
    ModelAnswerInvalid,
    ModelFailed,
    ModelLengthExceeded,
    ModelRequest,
)
from cinder.llm.prompting import PromptLimit, estimate_tokens
from cinder.models.document import Json
from cinder.models.extraction import (
    ExtractedData,
    ExtractionEngine,
    FieldValue,
    RankedPassage,
)
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.model_prompts import (
    FieldSearch,
    FreeSearch,
    ProofContext,
    make_prompt,
    plan_searches,
)
from cinder.services.extraction.stages import ExtractionRun, ExtractionSpec, LoadedPage

# About 20,000 characters of English.
DEFAULT_CHUNK_TOKENS = 6_000

_RANKED_PASSAGES = 400
_LEAST_CHARS = 200
# Fields in one call: small models overlook some of more.
_FIELDS_AT_ONCE = 20
# After so many chunks in a row without a new value, the rest of the page is not read.
_MAX_FRUITLESS_CHUNKS = 5


@dataclass(frozen=True, slots=True)
class Chunk:
    """Passages, the best first, and the fields to search for in them."""

    passages: tuple[RankedPassage, ...]
    searches: tuple[FieldSearch, ...]

    def halve_text(self) -> "tuple[Chunk, ...]":
        """Return the better half of its text and the other; none if it is too short."""
        if len(self.passages) > 1:
            middle = (len(self.passages) + 1) // 2
            halves = (self.passages[:middle], self.passages[middle:])
            return tuple(Chunk(half, self.searches) for half in halves)
        only = self.passages[0]
        if len(only.text) < 2 * _LEAST_CHARS:
            return ()
        # After a line or a word near the middle.
        cut = middle = len(only.text) // 2
        for gap in (" ", "\n"):
            if (found := only.text.rfind(gap, middle // 2, middle)) > 0:
                cut = found + 1
        first = replace(only, text=only.text[:cut], end=only.start + cut)
        second = replace(only, text=only.text[cut:], start=only.start + cut)
        return Chunk((first,), self.searches), Chunk((second,), self.searches)

    def halve_searches(self) -> "tuple[Chunk, ...]":
        """Return it with each half of its fields; none if it has only one."""
        if len(self.searches) < 2:
            return ()
        middle = (len(self.searches) + 1) // 2
        halves = (self.searches[:middle], self.searches[middle:])
        return tuple(Chunk(self.passages, half) for half in halves)


def pack_passages(passages: Iterable[RankedPassage], max_tokens: int) -> tuple[RankedPassage, ...]:
    """Return the first passages that fit into so many tokens, at least one."""
    packed: list[RankedPassage] = []
    room = max_tokens
    for passage in passages:
        text = f"{passage.heading}\n{passage.context}\n{passage.text}\n\n"
        room -= estimate_tokens(text)
        if room < 0 and packed:
            break
        packed.append(passage)
    return tuple(packed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuestion:
    """The fields to find on a page."""

    markdown: str
    """The page as saved: offsets refer to it, and the model sees nothing else of the page."""
    url: str
    prompt: str = ""
    schema: Mapping[str, Json] | None = None
    """None if only the prompt says what to find."""
    fields: tuple[str, ...] = ()
    """The paths in the schema to ask for: `price`, `address.city`, `offers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFindings:
    """The values of a model, with their evidence."""

    values: tuple[FieldValue, ...] = ()
    missing: tuple[str, ...] = ()
    """The fields without a value."""
    tried: tuple[str, ...] = ()
    """What failed, in sentences."""
    is_over: bool = False
    """Whether not to ask the model again for this request: it failed, or the budget is used up."""


class ModelExtractor:
    """Asks a model about the passages of a page that most likely have the fields."""

    def __init__(
        self,
        model: LanguageModel,
        sandbox: ExtractionSandbox,
        chunk_tokens: int = DEFAULT_CHUNK_TOKENS,
    ) -> None:
        self.model_name = model.name
        self._model = model
        self._sandbox = sandbox
        self._chunk_tokens = chunk_tokens
        self._limit = PromptLimit()

    async def ask(self, question: PageQuestion, budget: Budget) -> ModelFindings:
        """Return the model's values; failures are reported in the findings, not raised."""
        searches: list[FieldSearch] = [FreeSearch()]
        unknown: tuple[str, ...] = ()
        if question.schema is not None:
            searches, unknown = plan_searches(question.schema, question.fields)
        session = _PageSession(self, question, searches, budget)
        if searches and question.markdown.strip():
            await session.run()
        not_asked = tuple(
            f"The field '{name}' is not asked of a model: it holds arrays in arrays, or is not in "
            "the schema."
            for name in unknown
        )
        return ModelFindings(
            values=tuple(value for search in searches for value in search.values),
            missing=(*(s.name for s in searches if not s.values and s.name), *unknown),
            tried=(*not_asked, *session.tried),
            is_over=session.is_over,
        )

    async def rank(
        self, question: PageQuestion, searches: Sequence[FieldSearch]
    ) -> list[RankedPassage]:
        """Return the passages of a page that may have the fields, the best first."""
        specs = [search.spec for search in searches if search.spec is not None]
        query = build_passage_query(question.prompt, specs)
        markdown = question.markdown
        return list(await self._sandbox.rank_passages(markdown, query, limit=_RANKED_PASSAGES))

    async def complete(self, question: PageQuestion, chunk: Chunk, budget: Budget) -> Json:
        """Return the model's answer about a chunk.

        Raises:
            ModelFailed: there is no answer; the subclass says why.
        """
        prompt = make_prompt(question.prompt, chunk.searches, chunk.passages)
        with self._limit.learning_from(_tokens_of(prompt)):
            return (await self._model.complete(prompt, budget)).value

    def room_for_passages(self, question: PageQuestion, searches: Sequence[FieldSearch]) -> int:
        """Return about how many tokens of a page fit into one call."""
        bare = make_prompt(question.prompt, searches[:_FIELDS_AT_ONCE], ())
        return self._limit.room_for(self._chunk_tokens, _tokens_of(bare))


def _tokens_of(prompt: ModelRequest) -> int:
    schema = json.dumps(prompt.schema) if prompt.schema is not None else ""
    return estimate_tokens(f"{prompt.system}{prompt.user}{schema}")


class _PageSession:
    """The calls of one question."""

    def __init__(
        self,
        extractor: ModelExtractor,
        question: PageQuestion,
        searches: Sequence[FieldSearch],
        budget: Budget,
    ) -> None:
        self._extractor = extractor
        self._question = question
        self._searches = searches
        self._budget = budget
        self._prover = ClaimProver(question.markdown, question.url)
        self._ranked: list[RankedPassage] = []
        self._ranked_for: list[str] | None = None
        self.read_ids: set[str] = set()
        self.tried: list[str] = []
        self.is_over = False

    async def run(self) -> None:
        """Ask about one chunk after the other, until all is found or the passages end."""
        fruitless = 0
        try:
            while self._open and (passages := await self._next_passages()):
                if fruitless == _MAX_FRUITLESS_CHUNKS:
                    self.tried.append(
                        f"The last {_MAX_FRUITLESS_CHUNKS} parts of {self._question.url} that the "
                        "model read had nothing of what is missing, so the rest, which matches "
                        "less, was left unread."
                    )
                    return
                has_news = await self._ask_about(passages)
                fruitless = 0 if has_news else fruitless + 1
        except CinderError as error:
            # Other errors are about this page only.
            self.is_over = isinstance(error, ModelFailed)
            self._note(error)

    @property
    def _open(self) -> list[FieldSearch]:
        return [search for search in self._searches if search.is_open]

    async def _next_passages(self) -> tuple[RankedPassage, ...]:
        """Return the best unread passages for the open fields."""
        keys = [search.key for search in self._open]
        if keys != self._ranked_for:
            self._ranked = await self._extractor.rank(self._question, self._open)
            self._ranked_for = keys
        unread = (passage for passage in self._ranked if passage.id not in self.read_ids)
        room = self._extractor.room_for_passages(self._question, self._open)
        passages = pack_passages(unread, room)
        self.read_ids.update(passage.id for passage in passages)
        return passages

    async def _ask_about(self, passages: tuple[RankedPassage, ...]) -> bool:
        """Ask about passages, in smaller parts if needed; return whether there is a new value."""
        searches = self._open
        waiting = [
            Chunk(passages, tuple(searches[first : first + _FIELDS_AT_ONCE]))
            for first in range(0, len(searches), _FIELDS_AT_ONCE)
        ][::-1]
        has_news = False
        while waiting:
            chunk = waiting.pop()
            chunk = Chunk(chunk.passages, tuple(s for s in chunk.searches if s.is_open))
            if not chunk.searches:
                continue
            try:
                data = await self._extractor.complete(self._question, chunk, self._budget)
            except (ContextTooLong, ModelLengthExceeded, ModelAnswerInvalid) as error:
                is_text_fine = isinstance(error, ModelAnswerInvalid)
                halves = () if is_text_fine else chunk.halve_text()
                halves = halves or chunk.halve_searches()
                waiting += reversed(halves)
                if not halves:
                    self._note(error)
            else:
                has_news = await self._take(data, chunk) or has_news
        return has_news

    async def _take(self, data: Json, chunk: Chunk) -> bool:
        answer = data if isinstance(data, Mapping) else {}
        spans = [(passage.start, passage.end) for passage in chunk.passages]
        context = ProofContext(self._prover, spans)

        def take() -> bool:
            news = [search.take(answer.get(search.key), context) for search in chunk.searches]
            return any(news)

        return await run_in_thread(len(self._question.markdown), take)

    def _note(self, error: CinderError) -> None:
        if error.message not in self.tried:
            self.tried.append(error.message)


# Increase this when the prompts change: cached findings become stale.
_PROMPT_VERSION = 1
_WITHOUT_MODEL = "What was found without it is here."


class ModelStage:
    """Asks a model for the open fields."""

    engine = ExtractionEngine.MODEL

    def __init__(self, extractor: ModelExtractor) -> None:
        self._extractor = extractor
        self.identity = f"model-{_PROMPT_VERSION} {extractor.model_name}"

    async def find(
        self, page: LoadedPage, spec: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return the model's values, looked up in the page."""
        return await self._ask(page, spec.prompt, spec.schema, fields, run)

    async def find_freely(self, page: LoadedPage, prompt: str, run: ExtractionRun) -> ExtractedData:
        """Return the values that a prompt asks for, without a schema."""
        return await self._ask(page, prompt, None, (), run)

    async def _ask(
        self,
        page: LoadedPage,
        prompt: str,
        schema: Mapping[str, Json] | None,
        fields: tuple[str, ...],
        run: ExtractionRun,
    ) -> ExtractedData:
        if run.budget is None:
            return ExtractedData(data={}, missing=fields)
        question = PageQuestion(
            markdown=page.markdown or "", url=page.url, prompt=prompt, schema=schema, fields=fields
        )
        findings = await self._extractor.ask(question, run.budget)
        if warnings := [*findings.tried, *([_WITHOUT_MODEL] if findings.is_over else [])]:
            run.warnings.append(" ".join(warnings))
        run.is_model_down = run.is_model_down or findings.is_over
        return ExtractedData(
            data=build_data(findings.values, {}),
            values=findings.values,
            missing=findings.missing,
        )
