"""The pieces of a markdown text: whole blocks of a section together, long ones cut apart.

A piece never ends inside a table row, unless that row alone is longer than any piece may be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.extract.reading.blocks import Block, BlockKind, find_blocks
from cinder.extract.reading.cutting import find_cut
from cinder.extract.reading.inline_text import plain_text

# What stands further on is not read: some thousand pages of a book.
READ_CHARS = 5_000_000
PIECE_CHARS = 1_200

# A heading begins a new piece, unless what stands before it is too little to be one.
_ENOUGH_CHARS = 400
_MAX_ROW_CHARS = 6_000
_MAX_CONTEXT_CHARS = 600
_MAX_TITLE_CHARS = 120
_MAX_HEADING_CHARS = 300
_HEADING_JOINT = " > "


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece, the headings above it, and what it cannot be read without."""

    start: int
    end: int
    heading: str
    context: str = ""


def find_pieces(markdown: str) -> list[Piece]:
    """Return the pieces of a text, in order; together they hold all its blocks."""
    text = markdown[:READ_CHARS]
    cutter = _Cutter(text)
    for block in find_blocks(text):
        cutter.take(block)
    cutter.close()
    return cutter.pieces


class _Cutter:
    """Takes one block after another; a piece is open until it is full or its section ends."""

    def __init__(self, text: str) -> None:
        self.pieces: list[Piece] = []
        self._text = text
        self._titles: list[tuple[int, str]] = []
        self._heading = ""
        self._open: Piece | None = None

    def take(self, block: Block) -> None:
        if block.kind is BlockKind.HEADING:
            self._begin_section(block)
        if self._open is not None and block.end - self._open.start > PIECE_CHARS:
            self.close()
        if block.end - block.start <= PIECE_CHARS:
            start, heading = block.start, self._heading
            if self._open is not None:
                start, heading = self._open.start, self._open.heading
            self._open = Piece(start, block.end, heading)
        else:
            self._cut(block)

    def close(self) -> None:
        if self._open is not None:
            self.pieces.append(self._open)
        self._open = None

    def _begin_section(self, block: Block) -> None:
        if self._open is not None and self._open.end - self._open.start >= _ENOUGH_CHARS:
            self.close()
        while self._titles and self._titles[-1][0] >= block.level:
            self._titles.pop()
        title = plain_text(block.title[: 2 * _MAX_TITLE_CHARS])[:_MAX_TITLE_CHARS]
        self._titles.append((block.level, title))
        self._heading = _join_titles([title for _, title in self._titles])

    def _cut(self, block: Block) -> None:
        if block.kind is BlockKind.TABLE:
            self.pieces.extend(self._rows(block))
            return
        start = block.start
        while start < block.end:
            end = min(find_cut(self._text, [block], start, PIECE_CHARS), block.end)
            self.pieces.append(Piece(start, end, self._heading))
            start = end

    def _rows(self, block: Block) -> Iterator[Piece]:
        """Yield a long table in whole rows; all but the first piece come with its head."""
        head = _head_of(self._text, block)
        start = block.start
        while start < block.end:
            end = _end_of_rows(self._text, start, block.end)
            context = head if start > block.start else ""
            yield Piece(start, end, self._heading, context)
            start = end


def _join_titles(titles: Sequence[str]) -> str:
    """Return headings as one line; of too many, the innermost."""
    joined = _HEADING_JOINT.join(filter(None, titles))
    return joined if len(joined) <= _MAX_HEADING_CHARS else f"…{joined[-_MAX_HEADING_CHARS:]}"


def _head_of(text: str, table: Block) -> str:
    first = text.find("\n", table.start, table.end)
    second = text.find("\n", first + 1, table.end) if first >= 0 else -1
    head = text[table.start : second] if second >= 0 else ""
    return head if len(head) <= _MAX_CONTEXT_CHARS else ""


def _end_of_rows(text: str, start: int, end: int) -> int:
    limit = start + PIECE_CHARS
    if limit >= end:
        return end
    newline = text.rfind("\n", start, limit)
    if newline < 0:
        newline = text.find("\n", limit, min(end, start + _MAX_ROW_CHARS))
    return newline + 1 if newline >= 0 else min(end, start + _MAX_ROW_CHARS)
