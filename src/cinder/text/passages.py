"""Splits markdown into chunks at block boundaries, and finds passages for a query with BM25.

What alone is longer than the part may be is the exception: a code block then ends at a line, a row
or a link wherever it must. Nothing is added to the text, so the parts join to the whole again.

A piece never ends inside a table row, unless that row alone is longer than any piece may be.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.text.markdown_blocks import BlockKind, MarkdownBlock, find_blocks
from cinder.text.outline import OutlineHeading
from cinder.text.sentences import (
    CLOSING_MARKS,
    ENDS,
    MAX_SPAN_CHARS,
    UNSPACED_ENDS,
    find_spans,
    plain_text,
    span_around,
)
from cinder.text.terms import find_query_terms, find_terms

_SENTENCE_END = re.compile(rf"[{ENDS}][{CLOSING_MARKS}\]]{{0,4}}\s+|[{UNSPACED_ENDS}]+\s*")
_GAP = re.compile(r"\s+")
_SHOWN_CHARS = 200


def find_cut(text: str, blocks: Sequence[MarkdownBlock], start: int, max_chars: int) -> int:
    """Return where a part that begins at `start` ends; always past `start` while text remains."""
    limit = start + max_chars
    if limit >= len(text):
        return len(text)
    index = bisect_right(blocks, limit, key=lambda block: block.start) - 1
    if index < 0:
        return limit
    block = blocks[index]
    is_inside = block.start < limit < block.end
    cut = _cut_in_block(text, block, start, limit) if is_inside else limit
    last = index if cut > block.start else index - 1
    return _before_headings(blocks, last, start + max_chars // 2, cut)


def describe_begin(text: str, blocks: Sequence[MarkdownBlock], start: int) -> str | None:
    """Say what a part begins in the middle of, where its first line alone does not tell."""
    index = bisect_right(blocks, start, key=lambda block: block.start) - 1
    if index < 0 or not blocks[index].start < start < blocks[index].end:
        return None
    block = blocks[index]
    first = text[block.start : block.end].partition("\n")[0].strip()[:_SHOWN_CHARS]
    if block.kind is BlockKind.CODE:
        return f"It begins inside a code block that was opened with {first}"
    if block.kind is BlockKind.TABLE:
        return f"It begins inside a table whose first row is {first}"
    return None


def _before_headings(blocks: Sequence[MarkdownBlock], last: int, earliest: int, cut: int) -> int:
    """Move a cut that would leave headings without what they head in front of them."""
    while last >= 0 and blocks[last].kind is BlockKind.HEADING and blocks[last].start > earliest:
        cut = blocks[last].start
        last -= 1
    return cut


def _cut_in_block(text: str, block: MarkdownBlock, start: int, limit: int) -> int:
    size = limit - start
    is_half_full = block.start - start >= size / 2
    fits_next = block.end - block.start <= size
    keeps_whole = block.kind in (BlockKind.CODE, BlockKind.HEADING)
    if block.start > start and (is_half_full or (keeps_whole and fits_next)):
        return block.start
    if block.kind is BlockKind.CODE:
        return _cut_at_line(text, block, start, limit) or limit
    if block.kind is BlockKind.TABLE:
        return _cut_in_table(text, block, start, limit)
    cut = _cut_inline(text, max(block.start, start), block.end, limit)
    return cut or (block.start if block.start > start else limit)


def _cut_at_line(text: str, block: MarkdownBlock, start: int, limit: int) -> int | None:
    """Return the last end of a line, or None where the line is longer than there is room for."""
    begin = max(block.start, start)
    newline = text.rfind("\n", begin, limit + 1)
    if newline >= begin:
        return min(newline + 1, limit)
    return block.start if block.start > start else None


def _cut_in_table(text: str, block: MarkdownBlock, start: int, limit: int) -> int:
    cut = _cut_at_line(text, block, start, limit)
    if cut is None:
        row_end = text.find("\n", limit, block.end)
        return _cut_inline(text, start, block.end if row_end < 0 else row_end, limit) or limit
    is_without_rows = text.count("\n", block.start, cut) <= 2
    return block.start if is_without_rows and block.start > start else cut


def _cut_inline(text: str, begin: int, end: int, limit: int) -> int | None:
    """Return the last end of a sentence, else of a word, that is in no link and no code.

    None where one link or piece of code takes all the room.
    """
    # What ends later is longer than there is room for, or begins past the limit.
    spans = find_spans(text, begin, min(end, limit + min(limit - begin, MAX_SPAN_CHARS)))
    half = (begin + limit) // 2
    for pattern, earliest in ((_SENTENCE_END, half), (_GAP, half), (_GAP, begin)):
        ends = (match.end() for match in pattern.finditer(text, earliest, limit))
        if cut := max((e for e in ends if e > begin and not span_around(spans, e)), default=0):
            return cut
    span = span_around(spans, limit)
    if span is None:
        return limit
    return span[0] if span[0] > begin else None


# What stands further on is not searched.
SEARCHED_CHARS = 1_000_000

_MAX_TERMS = 64
# A longer paragraph or table is several passages; short list items are one together.
_PASSAGE_CHARS = 1_000
_LIST_CHARS = 500
# The usual constants of BM25: how soon a repeated word stops counting, and how much length does.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_HEADING_WEIGHT = 0.5
# What scores less than this part of the best one is about something else.
_MIN_SCORE_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class MatchedPassage:
    """A part of a text, and the section it stands in."""

    section: str
    start: int
    end: int
    kind: BlockKind
    block: int
    """Where the block begins that it is part of."""
    score: float = 0.0


def find_passages(
    text: str, blocks: Sequence[MarkdownBlock], outline: Sequence[OutlineHeading], query: str
) -> list[MatchedPassage]:
    """Return the passages that match a query, the best first; none where no word of it occurs.

    Only the first `SEARCHED_CHARS` from the first of the blocks on are looked at.
    """
    wanted = sorted(find_query_terms(query))[:_MAX_TERMS]
    units = list(_split_passages(text, blocks, outline))
    counts = [_count_terms(text[unit.start : unit.end], wanted) for unit in units]
    headings = _weigh_headings(outline, wanted, len(text))
    scores = _bm25_scores(units, counts, headings, wanted)
    scored = [
        MatchedPassage(u.section, u.start, u.end, u.kind, u.block, score)
        for u, score in zip(units, scores, strict=True)
        if score > 0
    ]
    scored.sort(key=lambda passage: (-passage.score, passage.start))
    least = scored[0].score * _MIN_SCORE_SHARE if scored else 0.0
    return [passage for passage in scored if passage.score >= least]


def _split_passages(
    text: str, blocks: Sequence[MarkdownBlock], outline: Sequence[OutlineHeading]
) -> Iterator[MatchedPassage]:
    """Yield a text in pieces of a size that is worth showing, headings left out."""
    section = -1
    gathered: MatchedPassage | None = None
    last = blocks[0].start + SEARCHED_CHARS if blocks else 0
    for block in blocks:
        if block.start >= last:
            break
        while section + 1 < len(outline) and outline[section + 1].start <= block.start:
            section += 1
        name = outline[section].id if section >= 0 else ""
        if gathered is not None and not _continues(gathered, block, name):
            yield gathered
            gathered = None
        if block.kind is BlockKind.LIST_ITEM and block.end - block.start <= _PASSAGE_CHARS:
            start = gathered.start if gathered is not None else block.start
            gathered = MatchedPassage(name, start, block.end, block.kind, start)
        elif block.kind is not BlockKind.HEADING:
            yield from _split_block(text, block, name)
    if gathered is not None:
        yield gathered


def _continues(gathered: MatchedPassage, block: MarkdownBlock, section: str) -> bool:
    is_item = block.kind is BlockKind.LIST_ITEM and gathered.section == section
    return is_item and block.end - gathered.start <= _LIST_CHARS


def _split_block(text: str, block: MarkdownBlock, section: str) -> Iterator[MatchedPassage]:
    if block.kind is BlockKind.CODE:
        yield MatchedPassage(section, block.start, block.end, block.kind, block.start)
        return
    start, here = block.start, [block]
    last = min(block.end, start + SEARCHED_CHARS)
    while start < last:
        end = min(find_cut(text, here, start, _PASSAGE_CHARS), block.end)
        yield MatchedPassage(section, start, end, block.kind, block.start)
        start = end


def _count_terms(text: str, wanted: Sequence[str]) -> tuple[Counter[str], int]:
    terms = list(find_terms(text))
    every = Counter(terms)
    return Counter({term: every[term] for term in wanted if term in every}), len(terms)


def _weigh_headings(
    outline: Sequence[OutlineHeading], wanted: Sequence[str], total_chars: int
) -> dict[str, dict[str, float]]:
    """Map each section to the wanted terms in its heading and in those above it, with weights.

    A heading above nearly all of the text tells little of any one passage.
    """
    weights: dict[str, dict[str, float]] = {}
    above: list[tuple[int, dict[str, float]]] = []
    for heading in outline:
        while above and above[-1][0] >= heading.level:
            above.pop()
        weight = _HEADING_WEIGHT * (1 - heading.chars / (total_chars + 1))
        own = dict.fromkeys(set(find_terms(heading.title)).intersection(wanted), weight)
        weights[heading.id] = (above[-1][1] | own) if above else own
        above.append((heading.level, weights[heading.id]))
    return weights


def _bm25_scores(
    units: Sequence[MatchedPassage],
    counts: Sequence[tuple[Counter[str], int]],
    headings: dict[str, dict[str, float]],
    wanted: Sequence[str],
) -> list[float]:
    total = len(units) or 1
    mean_length = sum(length for _, length in counts) / total or 1.0
    having = Counter(term for found, _ in counts for term in found)
    weights = {
        term: math.log(1 + (total - having[term] + 0.5) / (having[term] + 0.5)) for term in wanted
    }
    scores = []
    for unit, (found, length) in zip(units, counts, strict=True):
        above = headings.get(unit.section, {})
        relative = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length / mean_length
        matched = set(found) | set(above)
        score = 0.0
        for term in sorted(matched):
            times = found[term] + above.get(term, 0.0)
            score += weights[term] * times * (_SATURATION + 1) / (times + _SATURATION * relative)
        coverage = len(matched) / max(1, len(wanted))
        scores.append(score * (0.5 + 0.5 * coverage))
    return scores


# What stands further on is not read: some thousand pages of a book.
READ_CHARS = 5_000_000
CHUNK_CHARS = 1_200

# A heading begins a new piece, unless what stands before it is too little to be one.
_MIN_CHUNK_CHARS = 400
_MAX_ROW_CHARS = 6_000
_MAX_CONTEXT_CHARS = 600
_MAX_TITLE_CHARS = 120
_MAX_HEADING_CHARS = 300
_HEADING_JOINT = " > "


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece, the headings above it, and what it cannot be read without."""

    start: int
    end: int
    heading: str
    context: str = ""


def split_chunks(markdown: str) -> list[TextChunk]:
    """Return the pieces of a text, in order; together they hold all its blocks."""
    text = markdown[:READ_CHARS]
    cutter = _ChunkBuilder(text)
    for block in find_blocks(text):
        cutter.take(block)
    cutter.close()
    return cutter.pieces


class _ChunkBuilder:
    """Takes one block after another; a piece is open until it is full or its section ends."""

    def __init__(self, text: str) -> None:
        self.pieces: list[TextChunk] = []
        self._text = text
        self._titles: list[tuple[int, str]] = []
        self._heading = ""
        self._open: TextChunk | None = None

    def take(self, block: MarkdownBlock) -> None:
        if block.kind is BlockKind.HEADING:
            self._begin_section(block)
        if self._open is not None and block.end - self._open.start > CHUNK_CHARS:
            self.close()
        if block.end - block.start <= CHUNK_CHARS:
            start, heading = block.start, self._heading
            if self._open is not None:
                start, heading = self._open.start, self._open.heading
            self._open = TextChunk(start, block.end, heading)
        else:
            self._cut(block)

    def close(self) -> None:
        if self._open is not None:
            self.pieces.append(self._open)
        self._open = None

    def _begin_section(self, block: MarkdownBlock) -> None:
        if self._open is not None and self._open.end - self._open.start >= _MIN_CHUNK_CHARS:
            self.close()
        while self._titles and self._titles[-1][0] >= block.level:
            self._titles.pop()
        title = plain_text(block.title[: 2 * _MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]
        self._titles.append((block.level, title))
        self._heading = _join_titles([title for _, title in self._titles])

    def _cut(self, block: MarkdownBlock) -> None:
        if block.kind is BlockKind.TABLE:
            self.pieces.extend(self._rows(block))
            return
        start = block.start
        while start < block.end:
            end = min(find_cut(self._text, [block], start, CHUNK_CHARS), block.end)
            self.pieces.append(TextChunk(start, end, self._heading))
            start = end

    def _rows(self, block: MarkdownBlock) -> Iterator[TextChunk]:
        """Yield a long table in whole rows; all but the first piece come with its head."""
        head = _head_of(self._text, block)
        start = block.start
        while start < block.end:
            end = _end_of_rows(self._text, start, block.end)
            context = head if start > block.start else ""
            yield TextChunk(start, end, self._heading, context)
            start = end


def _join_titles(titles: Sequence[str]) -> str:
    """Return headings as one line; of too many, the innermost."""
    joined = _HEADING_JOINT.join(filter(None, titles))
    return joined if len(joined) <= _MAX_HEADING_CHARS else f"…{joined[-_MAX_HEADING_CHARS:]}"


def _head_of(text: str, table: MarkdownBlock) -> str:
    first = text.find("\n", table.start, table.end)
    second = text.find("\n", first + 1, table.end) if first >= 0 else -1
    head = text[table.start : second] if second >= 0 else ""
    return head if len(head) <= _MAX_CONTEXT_CHARS else ""


def _end_of_rows(text: str, start: int, end: int) -> int:
    limit = start + CHUNK_CHARS
    if limit >= end:
        return end
    newline = text.rfind("\n", start, limit)
    if newline < 0:
        newline = text.find("\n", limit, min(end, start + _MAX_ROW_CHARS))
    return newline + 1 if newline >= 0 else min(end, start + _MAX_ROW_CHARS)
