"""Where to end a part of a markdown text: never inside a table row, a code block or a link.

What alone is longer than the part may be is the exception: a code block then ends at a line, a row
or a link wherever it must. Nothing is added to the text, so the parts join to the whole again.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from cinder.extract.reading.blocks import Block, BlockKind
from cinder.extract.reading.inline_spans import MAX_SPAN_CHARS, find_spans, span_around
from cinder.extract.reading.sentences import CLOSING_MARKS, ENDS, UNSPACED_ENDS

_SENTENCE_END = re.compile(rf"[{ENDS}][{CLOSING_MARKS}\]]{{0,4}}\s+|[{UNSPACED_ENDS}]+\s*")
_GAP = re.compile(r"\s+")
_SHOWN_CHARS = 200


def find_cut(text: str, blocks: Sequence[Block], start: int, max_chars: int) -> int:
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


def describe_begin(text: str, blocks: Sequence[Block], start: int) -> str | None:
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


def _before_headings(blocks: Sequence[Block], last: int, earliest: int, cut: int) -> int:
    """Move a cut that would leave headings without what they head in front of them."""
    while last >= 0 and blocks[last].kind is BlockKind.HEADING and blocks[last].start > earliest:
        cut = blocks[last].start
        last -= 1
    return cut


def _cut_in_block(text: str, block: Block, start: int, limit: int) -> int:
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


def _cut_at_line(text: str, block: Block, start: int, limit: int) -> int | None:
    """Return the last end of a line, or None where the line is longer than there is room for."""
    begin = max(block.start, start)
    newline = text.rfind("\n", begin, limit + 1)
    if newline >= begin:
        return min(newline + 1, limit)
    return block.start if block.start > start else None


def _cut_in_table(text: str, block: Block, start: int, limit: int) -> int:
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
