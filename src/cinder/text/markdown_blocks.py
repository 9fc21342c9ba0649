"""Parses markdown into blocks: headings, paragraphs, list items, tables and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

_LIST_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]")
_CLOSING_MARKS = re.compile(r"(?:^|(?<=[ \t]))#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
# A longer line with a rule beneath it is a paragraph, not a heading.
_MAX_TITLE_CHARS = 300
_FRONT_MATTER_CHARS = 20_000
# The rest of a text with more, which no page for readers has, is one paragraph.
MAX_BLOCKS = 100_000
MAX_LINES = 300_000


class BlockKind(Enum):
    """What a block is."""

    HEADING = auto()
    PARAGRAPH = auto()
    LIST_ITEM = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A block and its position; the newline after its last line is not part of it."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """Of a heading: one to six."""
    title: str = ""
    """Of a heading: its text without the heading's marks."""


def find_blocks(markdown: str, *, has_headings: bool = True) -> list[MarkdownBlock]:
    """Return the blocks of a text, in order. Blank lines belong to none.

    Args:
        markdown: the text.
        has_headings: whether lines that look like headings are; they are paragraphs otherwise.
    """
    scanner = _Scanner()
    blocks = scanner.blocks
    end = 0
    if markdown.startswith("---\n"):
        closing = markdown.find("\n---\n", 3, _FRONT_MATTER_CHARS)
        if closing > 0:
            end = closing + 4
            blocks.append(MarkdownBlock(BlockKind.CODE, 0, end))
    for start, line in islice(_lines(markdown, end), MAX_LINES):
        scanner.take(start, line)
        end = start + len(line)
        if len(blocks) >= MAX_BLOCKS:
            break
    scanner.close()
    if rest := markdown[end:].strip():
        first = markdown.index(rest[0], end)
        blocks.append(MarkdownBlock(BlockKind.PARAGRAPH, first, first + len(rest)))
    if has_headings:
        return blocks
    return [
        MarkdownBlock(BlockKind.PARAGRAPH, block.start, block.end)
        if block.kind is BlockKind.HEADING
        else block
        for block in blocks
    ]


@dataclass(frozen=True, slots=True)
class CodeFence:
    """The line that opens a code block, which determines the line that closes it."""

    mark: str
    is_quoted: bool

    @classmethod
    def opened_by(cls, line: str) -> "CodeFence | None":
        """Return the fence that a line opens, in a list or quotation too; else None."""
        inner = line.lstrip(" \t>")
        if marker := _LIST_MARKER.match(inner):
            inner = inner[marker.end() :].lstrip(" \t")
        if not inner.startswith(("```", "~~~")):
            return None
        information = inner.lstrip(inner[0])
        # Backticks after the mark make it inline code.
        if inner[0] == "`" and "`" in information:
            return None
        mark = inner[: len(inner) - len(information)]
        return cls(mark, line.lstrip().startswith(">"))

    def is_closed_by(self, line: str) -> bool:
        """Whether a line ends the block: at least as many marks, and nothing else."""
        inner = line.strip(" \t>\r")
        return inner.startswith(self.mark) and not inner.strip(self.mark[0])

    def is_left_by(self, line: str) -> bool:
        """Whether a line ends a quoted block by ending its quotation."""
        return self.is_quoted and not line.lstrip().startswith(">")


class _Scanner:
    """Takes one line after another; a block is open until a line ends it."""

    def __init__(self) -> None:
        self.blocks: list[MarkdownBlock] = []
        self._kind: BlockKind | None = None
        self._start = self._end = 0
        self._line = ""
        self._fence: CodeFence | None = None

    def take(self, start: int, line: str) -> None:
        if self._fence is not None and not self._fence.is_left_by(line):
            self._end = start + len(line)
            if self._fence.is_closed_by(line):
                self.close()
            return
        is_blank = not line or line.isspace()
        if self._fence is not None or is_blank:
            self.close()
        if not is_blank:
            self._take_outside_code(start, line)

    def close(self) -> None:
        if self._kind is not None:
            self.blocks.append(MarkdownBlock(self._kind, self._start, self._end))
        self._kind = self._fence = None

    def _take_outside_code(self, start: int, line: str) -> None:
        if line[0].isalpha():
            # The common case, and no mark begins with a letter.
            self._extend_text(start, line)
        elif self._is_underlined_by(line):
            level = 1 if "=" in line else 2
            end = start + len(line)
            title = self._line.strip()
            self.blocks.append(MarkdownBlock(BlockKind.HEADING, self._start, end, level, title))
            self._kind = None
        elif fence := CodeFence.opened_by(line):
            self._open(BlockKind.CODE, start, line)
            self._fence = fence
        elif heading := _ATX.match(line):
            self.close()
            title = _CLOSING_MARKS.sub("", line[heading.end() :].strip()).rstrip()
            end = start + len(line)
            self.blocks.append(MarkdownBlock(BlockKind.HEADING, start, end, len(heading[1]), title))
        elif line.lstrip().startswith("|"):
            self._extend(start, line, BlockKind.TABLE)
        elif _LIST_MARKER.match(line.lstrip()):
            self._open(BlockKind.LIST_ITEM, start, line)
        else:
            self._extend_text(start, line)

    def _extend_text(self, start: int, line: str) -> None:
        is_item = self._kind is BlockKind.LIST_ITEM
        self._extend(start, line, BlockKind.LIST_ITEM if is_item else BlockKind.PARAGRAPH)

    def _extend(self, start: int, line: str, kind: BlockKind) -> None:
        if self._kind is not kind:
            self._open(kind, start, line)
        self._end, self._line = start + len(line), line

    def _open(self, kind: BlockKind, start: int, line: str) -> None:
        self.close()
        self._kind, self._start, self._end, self._line = kind, start, start + len(line), line

    def _is_underlined_by(self, line: str) -> bool:
        is_one_line = self._kind is BlockKind.PARAGRAPH and self._end - self._start == len(
            self._line
        )
        return (
            is_one_line
            and len(self._line) <= _MAX_TITLE_CHARS
            and not self._line.lstrip().startswith(">")
            and _UNDERLINE.match(line) is not None
        )


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    while (end := text.find("\n", start)) >= 0:
        yield start, text[start:end]
        start = end + 1
    yield start, text[start:]
