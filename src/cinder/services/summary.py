"""Summarizes documents: by the configured language model, or by choosing sentences."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from cinder.background import run_in_thread
from cinder.errors import CinderError
from cinder.llm.base import (
    Budget,
    BudgetLimits,
    ContextTooLong,
    FinishReason,
    LanguageModel,
    ModelFailed,
    ModelRequest,
)
from cinder.llm.prompting import PromptFence, PromptLimit, estimate_tokens
from cinder.lru_cache import LruCache
from cinder.metrics import Metrics
from cinder.models.document import Document
from cinder.text.markdown_blocks import find_blocks
from cinder.text.passages import TextChunk, split_chunks
from cinder.text.sentences import find_sentences, plain_text
from cinder.text.summary import Summary, summarize

MAX_SUMMARY_CHARS = 2_800

# The maximum of parts of a page; about half of the calls remain for joining their notes.
_MOST_PARTS = 12
_LEAST_CHARS = 400
# The tokens of a prompt without the page's text.
_OTHER_TOKENS = 250
_MAX_ANSWER_CHARS = 20_000
_END_OF_THOUGHT = "</think>"
_TASK = (
    "You summarise web pages, in the language of the page. You add nothing that it does not say."
)
_SUMMARY = (
    "Summarise this page in three to six sentences of plain text: what it is about, and the most "
    "important of what it says. Write the summary alone, without a preface."
)
_NOTES = (
    "This is part of a long page. Write down what it says in at most five sentences of plain text, "
    "the most important first: names, figures, findings. Write nothing else."
)


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A model's summary, and a warning about it."""

    text: str
    warning: str = ""


class SummaryWriter:
    """Asks a model for summaries, within the limits of one request."""

    def __init__(self, model: LanguageModel, limits: BudgetLimits, chunk_tokens: int) -> None:
        self.model_name = model.name
        self._model = model
        self._limits = limits
        self._chunk_tokens = chunk_tokens
        self._limit = PromptLimit()

    async def write(self, markdown: str, budget: Budget) -> WrittenSummary:
        """Return a summary of a page.

        Raises:
            ModelFailed: the model wrote none; the subclass says why.
        """
        parts, is_whole = await run_in_thread(len(markdown), self._cut, markdown)
        if len(parts) == 1:
            return WrittenSummary(await self._digest(parts[0], _SUMMARY, budget))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._note(part, budget)) for part in parts]
        noted = [task.result() for task in tasks]
        notes = [note for note in noted if isinstance(note, str)]
        if not notes:
            raise next(note for note in noted if isinstance(note, ModelFailed))
        text = await self._digest("\n\n".join(notes), _SUMMARY, budget)
        if is_whole and len(notes) == len(parts):
            return WrittenSummary(text)
        return WrittenSummary(
            text,
            f"The model did not read the page whole: the summary is of {len(notes)} parts of it.",
        )

    def _cut(self, markdown: str) -> tuple[list[str], bool]:
        """Return the parts to read, and whether they are all of the page."""
        pieces = split_chunks(markdown)
        tokens = self._limit.room_for(self._chunk_tokens, _OTHER_TOKENS)
        most = min(_MOST_PARTS, self._limits.calls // 2, self._limits.tokens // (2 * tokens))
        chosen = _choose(markdown, pieces, max(1, most) * tokens)
        parts: list[str] = []
        room = 0
        for piece in chosen:
            text = markdown[piece.start : piece.end]
            size = estimate_tokens(text) + 1
            if size > room:
                parts.append("")
                room = tokens
            parts[-1] += f"{text}\n\n"
            room -= size
        is_read = bool(pieces) and pieces[-1].end >= len(markdown.rstrip())
        return parts or [markdown[:_LEAST_CHARS]], is_read and len(chosen) == len(pieces)

    async def _note(self, part: str, budget: Budget) -> str | ModelFailed:
        try:
            return await self._digest(part, _NOTES, budget)
        except ModelFailed as failure:
            return failure

    async def _digest(self, text: str, task: str, budget: Budget) -> str:
        """Return a model's digest of a text; of a long one, by way of notes on its halves."""
        try:
            return await self._ask(text, task, budget)
        except ContextTooLong:
            if len(text) < _LEAST_CHARS:
                raise
        middle = max(text.rfind(" ", 0, len(text) // 2), text.rfind("\n", 0, len(text) // 2)) + 1
        middle = middle if middle > len(text) // 4 else len(text) // 2
        notes = [
            await self._digest(half, _NOTES, budget) for half in (text[:middle], text[middle:])
        ]
        return await self._digest("\n\n".join(notes), task, budget)

    async def _ask(self, text: str, task: str, budget: Budget) -> str:
        fence = PromptFence.around(text)
        prompt = ModelRequest(
            system=f"{_TASK} {fence.rule}", user=f"{fence.enclose(text.strip())}\n\n{task}"
        )
        tokens = estimate_tokens(f"{prompt.system}{prompt.user}")
        with self._limit.learning_from(tokens):
            answer = await self._model.complete(prompt, budget)
        is_cut = answer.finish_reason is FinishReason.LENGTH
        written = _clean(answer.text, is_cut=is_cut)
        if not written:
            raise ModelFailed(
                f"The language model {self._model.name!r} wrote no summary. Allow it more tokens "
                "(llm.max-output-tokens, CINDER_LLM__MAX_OUTPUT_TOKENS), or choose another"
            )
        return written


def _choose(markdown: str, pieces: Sequence[TextChunk], max_tokens: int) -> list[TextChunk]:
    """Return the pieces to read: all, or the beginnings of sections first, spread evenly."""
    sizes = {piece: estimate_tokens(markdown[piece.start : piece.end]) + 1 for piece in pieces}
    if sum(sizes.values()) <= max_tokens:
        return list(pieces)
    starts = list(pieces[:1]) + [b for a, b in pairwise(pieces) if a.heading != b.heading]
    begun = set(starts)
    others = [piece for piece in pieces if piece not in begun]
    chosen: list[TextChunk] = []
    room = max_tokens
    for group in (starts, others):
        kept = _spread(group, [sizes[piece] for piece in group], room)
        room -= sum(sizes[piece] for piece in kept)
        chosen += kept
    return sorted(chosen, key=lambda piece: piece.start)


def _spread(pieces: Sequence[TextChunk], sizes: Sequence[int], max_tokens: int) -> list[TextChunk]:
    """Return pieces that are spread evenly and fit into so many tokens."""
    total = sum(sizes)
    if total <= max_tokens:
        return list(pieces)
    kept: list[TextChunk] = []
    passed = taken = 0
    for piece, size in zip(pieces, sizes, strict=True):
        # A piece is taken when the taken share falls behind the passed share.
        if (taken + size) * total <= (passed + size) * max_tokens and taken + size <= max_tokens:
            kept.append(piece)
            taken += size
        passed += size
    return kept


def _clean(answer: str, *, is_cut: bool) -> str:
    """Return a model's answer as plain sentences: no reasoning, no markup, no links."""
    answer = answer[-_MAX_ANSWER_CHARS:].rpartition(_END_OF_THOUGHT)[2]
    text = plain_text(answer[: 2 * MAX_SUMMARY_CHARS].strip())
    if not is_cut and len(text) <= MAX_SUMMARY_CHARS:
        return text
    ends = [end for _, end in find_sentences(text, 0, len(text)) if end <= MAX_SUMMARY_CHARS]
    # The last sentence of a cut text is incomplete.
    whole = ends[:-1] if is_cut and ends and ends[-1] == len(text) else ends
    return text[: whole[-1]] if whole else ""


BY_MODEL = "model"

# How many summaries are kept, and about what one takes in memory.
_KEPT_SUMMARIES, _SUMMARY_BYTES = 256, 4 * 1024
# Choosing sentences takes about as long as other work on a text of so many times the length.
SENTENCES_COST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSummary:
    """A document's summary, its origin, and a warning about it."""

    summary: Summary | None
    """None if the page has no text to summarize."""
    model: str = ""
    """The model that wrote it; empty if it consists of sentences of the page."""
    warning: str = ""


class Summarizer:
    """Summarizes with the language model; if that fails, chooses sentences."""

    def __init__(
        self, writer: SummaryWriter, new_budget: Callable[[str], Budget], metrics: Metrics
    ) -> None:
        self._writer = writer
        self._new_budget = new_budget
        self._metrics = metrics
        self._kept: LruCache[bytes, PageSummary] = LruCache(_KEPT_SUMMARIES * _SUMMARY_BYTES)

    async def summarize(self, document: Document, seconds: float, caller: str) -> PageSummary:
        """Return a document's summary within so many seconds; a model's failure is a warning."""
        markdown = document.content.markdown or ""
        if not markdown.strip():
            return PageSummary(summary=None)
        key = sha256(markdown.encode("utf-8", "replace")).digest()
        if (kept := self._kept.get(key)) is not None:
            return kept
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                written = await self._writer.write(markdown, self._new_budget(caller))
        except TimeoutError:
            return await self._fall_back(document, "The request's timeout left it too little time.")
        except CinderError as error:
            return await self._fall_back(document, error.message)
        summary = PageSummary(
            summary=Summary(written.text, BY_MODEL, ()),
            model=self._writer.model_name,
            warning=written.warning,
        )
        self._kept.put(key, summary, _SUMMARY_BYTES)
        return summary

    async def _fall_back(self, document: Document, reason: str) -> PageSummary:
        self._metrics.model_stand_ins.labels("summary").inc()
        cost = SENTENCES_COST * len(document.content.markdown or "")
        summary = await run_in_thread(cost, summarize_document, document)
        warning = f"The summary is made of the page's own sentences, not by the model: {reason}"
        return PageSummary(
            summary=summary, warning=warning if warning.endswith(".") else f"{warning}."
        )


def summarize_document(document: Document) -> Summary | None:
    """Return the most important sentences of a document; None if it has none."""
    markdown = document.content.markdown or ""
    summary = summarize(markdown, find_blocks(markdown))
    return summary if summary.text else None
