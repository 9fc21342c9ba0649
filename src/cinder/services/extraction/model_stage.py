"""The stage that asks a language model for open fields, and looks up what it answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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
from cinder.models.document import Json
from cinder.models.extraction import (
    ExtractedData,
    ExtractionEngine,
    FieldValue,
    PassageQuery,
    RankedPassage,
)
from cinder.services.extraction.field_searches import (
    FieldSearch,
    FreeSearch,
    ProofContext,
    plan_searches,
)
from cinder.services.extraction.model_prompts import (
    Chunk,
    PromptLimit,
    estimate_tokens,
    make_prompt,
    pack_passages,
    spans_of,
)
from cinder.services.extraction.stages import ExtractionRun, ExtractionSpec, LoadedPage
from cinder.services.threads import run_in_thread

# About 20,000 characters of English.
DEFAULT_CHUNK_TOKENS = 6_000

_RANKED_PASSAGES = 400
# Fields that one call asks for: small models lose sight of more.
_FIELDS_AT_ONCE = 20
# After so many chunks in a row without anything new, the rest of the page is left unread.
_MAX_FRUITLESS_CHUNKS = 5


class PassageRanker(Protocol):
    """Ranks the passages of a page."""

    async def rank_passages(
        self, markdown: str, query: PassageQuery, *, limit: int
    ) -> tuple[RankedPassage, ...]:
        """Return the passages that a question is about, the best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuestion:
    """What is asked of a page."""

    markdown: str
    """As it is saved: offsets count in it, and nothing else of the page is shown to the model."""
    url: str
    prompt: str = ""
    schema: Mapping[str, Json] | None = None
    """None where only a prompt says what is wanted."""
    fields: tuple[str, ...] = ()
    """The places in the schema to ask for: `price`, `address.city`, `offers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFindings:
    """What a model found, looked up."""

    values: tuple[FieldValue, ...] = ()
    missing: tuple[str, ...] = ()
    """The fields asked for that it said nothing of."""
    tried: tuple[str, ...] = ()
    """What was tried and failed, in plain sentences."""
    passages_read: int = 0
    is_over: bool = False
    """Whether the model is not to be asked again for this request: it failed, or the budget is
    spent."""


class ModelExtractor:
    """Asks a model about pages, by the passages that most likely hold what is wanted."""

    def __init__(
        self, model: LanguageModel, ranker: PassageRanker, chunk_tokens: int = DEFAULT_CHUNK_TOKENS
    ) -> None:
        self._model = model
        self._ranker = ranker
        self._chunk_tokens = chunk_tokens
        self._limit = PromptLimit()

    @property
    def model_name(self) -> str:
        """The model's name in the settings."""
        return self._model.name

    async def ask(self, question: PageQuestion, budget: Budget) -> ModelFindings:
        """Return what the model finds; whatever fails on the way is told and never raised."""
        searches, unknown = _plan(question)
        asking = _PageSession(self, question, searches, budget)
        if searches and question.markdown.strip():
            await asking.run()
        silent = tuple(
            f"The field '{name}' is not asked of a model: it holds arrays in arrays, or is not in "
            "the schema."
            for name in unknown
        )
        return ModelFindings(
            values=tuple(value for each in searches for value in each.values),
            missing=(*(s.name for s in searches if not s.values and s.name), *unknown),
            tried=(*silent, *asking.tried),
            passages_read=len(asking.read_ids),
            is_over=asking.is_over,
        )

    async def rank(
        self, question: PageQuestion, searches: Sequence[FieldSearch]
    ) -> list[RankedPassage]:
        """Return the passages of a page that what is searched for may stand in."""
        wanted = [each.wanted for each in searches if each.wanted is not None]
        query = build_passage_query(question.prompt, wanted)
        ranked = await self._ranker.rank_passages(question.markdown, query, limit=_RANKED_PASSAGES)
        return list(ranked)

    async def complete(self, question: PageQuestion, chunk: Chunk, budget: Budget) -> Json:
        """Return what the model says of a chunk.

        Raises:
            ModelFailed: it says nothing; its subclasses tell why.
        """
        prompt = make_prompt(question.prompt, chunk.searches, chunk.passages)
        tokens = _tokens_of(prompt)
        try:
            answer = await self._model.complete(prompt, budget)
        except ContextTooLong:
            self._limit.note_refused(tokens)
            raise
        self._limit.note_read(tokens)
        return answer.value

    def room_for_passages(self, question: PageQuestion, searches: Sequence[FieldSearch]) -> int:
        """Return about how many tokens of a page one call carries."""
        bare = make_prompt(question.prompt, searches[:_FIELDS_AT_ONCE], ())
        return self._limit.room_for(self._chunk_tokens, _tokens_of(bare))


def _tokens_of(prompt: ModelRequest) -> int:
    schema = json.dumps(prompt.schema) if prompt.schema is not None else ""
    return estimate_tokens(f"{prompt.system}{prompt.user}{schema}")


def _plan(question: PageQuestion) -> tuple[list[FieldSearch], tuple[str, ...]]:
    if question.schema is None:
        return [FreeSearch()], ()
    return plan_searches(question.schema, question.fields)


class _PageSession:
    """One question under way."""

    def __init__(
        self,
        asker: ModelExtractor,
        question: PageQuestion,
        searches: Sequence[FieldSearch],
        budget: Budget,
    ) -> None:
        self._asker = asker
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
        """Ask chunk after chunk, until all is found or nothing more can be."""
        try:
            await self._ask_all()
        except CinderError as error:
            # What the page alone is to blame for does not concern the next one.
            self.is_over = isinstance(error, ModelFailed)
            self._note(error)

    async def _ask_all(self) -> None:
        fruitless = 0
        while self._open and (passages := await self._next_passages()):
            if fruitless == _MAX_FRUITLESS_CHUNKS:
                self.tried.append(
                    f"The last {_MAX_FRUITLESS_CHUNKS} parts of {self._question.url} "
                    "that the model read had "
                    "nothing of what is missing, so the rest, which matches less, was left unread."
                )
                return
            has_news = await self._ask_about(passages)
            fruitless = 0 if has_news else fruitless + 1

    @property
    def _open(self) -> list[FieldSearch]:
        return [each for each in self._searches if each.is_open]

    async def _next_passages(self) -> tuple[RankedPassage, ...]:
        """Return the best passages for what is open that were not read yet."""
        keys = [each.key for each in self._open]
        if keys != self._ranked_for:
            self._ranked = await self._asker.rank(self._question, self._open)
            self._ranked_for = keys
        unread = (each for each in self._ranked if each.id not in self.read_ids)
        room = self._asker.room_for_passages(self._question, self._open)
        passages = pack_passages(unread, room)
        self.read_ids.update(each.id for each in passages)
        return passages

    async def _ask_about(self, passages: tuple[RankedPassage, ...]) -> bool:
        """Ask about some passages, in smaller parts if need be; return whether there was news."""
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
                said = await self._asker.complete(self._question, chunk, self._budget)
            except (ContextTooLong, ModelLengthExceeded, ModelAnswerInvalid) as error:
                waiting += reversed(self._parts_of(chunk, error))
            else:
                has_news = await self._take(said, chunk) or has_news
        return has_news

    def _parts_of(self, chunk: Chunk, error: CinderError) -> tuple[Chunk, ...]:
        """Return the halves of a chunk that was too much, or nothing and tell so."""
        if isinstance(error, ModelAnswerInvalid):
            parts = chunk.halve_searches()
        else:
            parts = chunk.halve_text() or chunk.halve_searches()
        if not parts:
            self._note(error)
        return parts

    async def _take(self, said: Json, chunk: Chunk) -> bool:
        told = said if isinstance(said, Mapping) else {}
        reading = ProofContext(self._prover, spans_of(chunk.passages))

        def take() -> bool:
            news = [each.take(told.get(each.key), reading) for each in chunk.searches]
            return any(news)

        return await run_in_thread(len(self._question.markdown), take)

    def _note(self, error: CinderError) -> None:
        if error.message not in self.tried:
            self.tried.append(error.message)


# Raise it with every change of what a model is asked.
_ASKING_VERSION = 1
_WITHOUT_MODEL = "What was found without it is here."


class ModelStage:
    """Asks a model for the fields that are open."""

    engine = ExtractionEngine.MODEL

    def __init__(self, asker: ModelExtractor) -> None:
        self._asker = asker
        self.identity = f"model-{_ASKING_VERSION} {asker.model_name}"

    async def find(
        self, page: LoadedPage, wish: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return what the model says, looked up in the page."""
        return await self._ask(page, wish.prompt, wish.schema, fields, run)

    async def find_freely(self, page: LoadedPage, prompt: str, run: ExtractionRun) -> ExtractedData:
        """Return what a prompt wants, where no schema says which fields that are."""
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
        findings = await self._asker.ask(question, run.budget)
        _note(findings, run)
        return ExtractedData(
            data=build_data(findings.values, {}),
            values=findings.values,
            missing=findings.missing,
        )


def _note(findings: ModelFindings, run: ExtractionRun) -> None:
    told = [*findings.tried, *([_WITHOUT_MODEL] if findings.is_over else [])]
    if told:
        run.warnings.append(" ".join(told))
    run.is_model_down = run.is_model_down or findings.is_over
