"""Splits markdown into chunks at block boundaries.

A chunk ends inside a block only where the block alone exceeds the limit: a code block then ends at
a line, a table at a row, a paragraph at a sentence. The chunks of a text join to the whole text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.text.markdown_blocks import BlockKind, MarkdownBlock, find_blocks
from cinder.text.sentences import (
    CLOSING_MARKS,
    ENDS,
    MAX_SPAN_CHARS,
    UNSPACED_ENDS,
    find_spans,
    plain_text,
    span_around,
)

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
    # A heading stays with the text beneath it, unless the part would be less than half full.
    earliest = start + max_chars // 2
    while last >= 0 and blocks[last].kind is BlockKind.HEADING and blocks[last].start > earliest:
        cut = blocks[last].start
        last -= 1
    return cut


def describe_begin(text: str, blocks: Sequence[MarkdownBlock], start: int) -> str | None:
    """Describe the block that a part begins inside of, where its first line does not show it."""
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


def _cut_in_block(text: str, block: MarkdownBlock, start: int, limit: int) -> int:
    size = limit - start
    is_half_full = block.start - start >= size / 2
    fits_next = block.end - block.start <= size
    keeps_whole = block.kind in (BlockKind.CODE, BlockKind.HEADING)
    if block.start > start and (is_half_full or (keeps_whole and fits_next)):
        return block.start
    if block.kind not in (BlockKind.CODE, BlockKind.TABLE):
        cut = _cut_inline(text, max(block.start, start), block.end, limit)
        return cut or (block.start if block.start > start else limit)
    begin = max(block.start, start)
    newline = text.rfind("\n", begin, limit + 1)
    # None where the line exceeds the limit.
    cut = block.start if block.start > start else None
    if newline >= begin:
        cut = min(newline + 1, limit)
    if block.kind is BlockKind.CODE:
        return cut or limit
    if cut is None:
        row_end = text.find("\n", limit, block.end)
        return _cut_inline(text, start, block.end if row_end < 0 else row_end, limit) or limit
    has_no_rows = text.count("\n", block.start, cut) <= 2
    return block.start if has_no_rows and block.start > start else cut


def _cut_inline(text: str, begin: int, end: int, limit: int) -> int | None:
    """Return the last end of a sentence, else of a word, outside links and code.

    None where one link or piece of code fills all of it.
    """
    # A span that ends later is longer than the limit allows, or begins past it.
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


def cut_block(
    text: str, block: MarkdownBlock, max_chars: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield the parts of a long block that begin before `end`."""
    start = block.start
    while start < end:
        cut = min(find_cut(text, [block], start, max_chars), block.end)
        yield start, cut
        start = cut


# The text after these characters, some thousand pages of a book, is not read.
READ_CHARS = 5_000_000
CHUNK_CHARS = 1_200

# A heading begins a new chunk, unless the chunk before it would be shorter than this.
_MIN_CHUNK_CHARS = 400
_MAX_ROW_CHARS = 6_000
_MAX_CONTEXT_CHARS = 600
_MAX_TITLE_CHARS = 120
_MAX_HEADING_CHARS = 300


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A part of a text, the headings above it, and the head of the table that it continues."""

    start: int
    end: int
    heading: str
    context: str = ""


def split_chunks(markdown: str) -> list[TextChunk]:
    """Return the chunks of a text, in order; together they hold all its blocks."""
    text = markdown[:READ_CHARS]
    builder = _ChunkBuilder(text)
    for block in find_blocks(text):
        builder.take(block)
    builder.close()
    return builder.chunks


class _ChunkBuilder:
    """Takes one block after another; a chunk is open until it is full or its section ends."""

    def __init__(self, text: str) -> None:
        self.chunks: list[TextChunk] = []
        self._text = text
        self._titles: list[tuple[int, str]] = []
        self._heading = ""
        self._open: TextChunk | None = None

    def take(self, block: MarkdownBlock) -> None:
        if block.kind is BlockKind.HEADING:
            if self._open is not None and self._open.end - self._open.start >= _MIN_CHUNK_CHARS:
                self.close()
            while self._titles and self._titles[-1][0] >= block.level:
                self._titles.pop()
            title = plain_text(block.title[: 2 * _MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]
            self._titles.append((block.level, title))
            joined = " > ".join(title for _, title in self._titles if title)
            is_long = len(joined) > _MAX_HEADING_CHARS
            self._heading = f"…{joined[-_MAX_HEADING_CHARS:]}" if is_long else joined
        if self._open is not None and block.end - self._open.start > CHUNK_CHARS:
            self.close()
        if block.end - block.start <= CHUNK_CHARS:
            start, heading = block.start, self._heading
            if self._open is not None:
                start, heading = self._open.start, self._open.heading
            self._open = TextChunk(start, block.end, heading)
        elif block.kind is BlockKind.TABLE:
            self._split_table(block)
        else:
            for start, end in cut_block(self._text, block, CHUNK_CHARS, block.end):
                self.chunks.append(TextChunk(start, end, self._heading))

    def close(self) -> None:
        if self._open is not None:
            self.chunks.append(self._open)
        self._open = None

    def _split_table(self, block: MarkdownBlock) -> None:
        """Cut a long table at its rows; all chunks but the first have its head as context."""
        text, start = self._text, block.start
        first = text.find("\n", start, block.end)
        second = text.find("\n", first + 1, block.end) if first >= 0 else -1
        head = text[start:second] if 0 <= second <= start + _MAX_CONTEXT_CHARS else ""
        while start < block.end:
            end, limit = block.end, start + CHUNK_CHARS
            if limit < end:
                newline = text.rfind("\n", start, limit)
                longest = min(end, start + _MAX_ROW_CHARS)
                if newline < 0:
                    newline = text.find("\n", limit, longest)
                end = newline + 1 if newline >= 0 else longest
            context = head if start > block.start else ""
            self.chunks.append(TextChunk(start, end, self._heading, context))
            start = end
