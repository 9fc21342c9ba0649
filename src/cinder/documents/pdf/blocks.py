"""Joins the lines of a PDF into headings, paragraphs, list items and code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from cinder.documents.pdf.headings import BodyStyle, Headings
from cinder.documents.pdf.layout import Segment, Word
from cinder.documents.pdf.reading_order import PageLines, TextLine
from cinder.documents.pdf.tables import Table

Lines = list[tuple[Word, ...]]


@dataclass(slots=True)
class PdfHeading:
    """A heading, h1 being level 1."""

    level: int
    lines: Lines


@dataclass(slots=True)
class Paragraph:
    """Lines of prose that belong together; `size` is their font's."""

    lines: Lines
    size: float = 0.0


@dataclass(slots=True)
class ListItem:
    """An entry of a list: how deep it is indented, and its number where it has one."""

    depth: int
    number: int | None
    lines: Lines


@dataclass(slots=True)
class Code:
    """Lines whose spaces and breaks are kept."""

    lines: list[str]


PdfBlock = PdfHeading | Paragraph | ListItem | Code | Table


_BULLETS = frozenset("•◦▪▫‣●○■□►▶✓✔➢➤·∙*-\u2013\u2014\u2043o")
_NUMBER = re.compile(r"\(?(\d{1,3})[.)]")
_LETTER = re.compile(r"\(?[a-zA-Z][.)]|\([ivx]{2,4}\)")


@dataclass(frozen=True, slots=True)
class ListMarker:
    """The marker at the beginning of a line, and the words after it."""

    left: float
    words: tuple[Word, ...]
    number: int | None = None
    is_lettered: bool = False


def parse_list_marker(words: tuple[Word, ...]) -> ListMarker | None:
    """Return the list marker that a line begins with; None where it has none."""
    if len(words) < 2:
        return None
    first = words[0]
    if first.text in _BULLETS:
        return ListMarker(first.box.left, words[1:])
    if found := _NUMBER.fullmatch(first.text):
        return ListMarker(first.box.left, words[1:], number=int(found[1]))
    if _LETTER.fullmatch(first.text):
        # Markdown has no lettered lists: the letter stays with its text.
        return ListMarker(first.box.left, words, is_lettered=True)
    return None


_MAX_SPACES = 120


def spaced_text(segment: Segment, left: float) -> str:
    """Return a line in a monospaced font with its spaces; `left` is where lines begin."""
    widths = [(word.box.right - word.box.left) / len(word.text) for word in segment.words]
    width = median(widths) or segment.size
    text = ""
    for word in segment.words:
        column = round((word.box.left - left) / width)
        least = 1 if text else 0
        text += " " * max(least, min(column - len(text), _MAX_SPACES)) + word.text
    return text


_MORE_THAN_LEADING = 1.25
_MAX_HEADING_LINES = 4
# A listing may have empty lines; its lines are a little more than their size apart.
_CODE_GAP = 3.3
_CODE_LEADING = 1.3
_INDENT = 0.8
_SAME_SIZE = 0.08
_SENTENCE_END = re.compile("[.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\\]]*$")
_SMALL = 0.92


@dataclass(slots=True)
class _OpenBlock:
    """The block that the next line may continue, and its last and first line."""

    block: PdfBlock | None = None
    line: Segment | None = None
    first: Segment | None = None


@dataclass(slots=True)
class PageBlocks:
    """The blocks that begin on a page."""

    number: int
    blocks: list[PdfBlock] = field(default_factory=list)


class BlockBuilder:
    """Builds blocks line by line; paragraphs may continue from page to page."""

    def __init__(self, body: BodyStyle, headings: Headings) -> None:
        self._body = body
        self._headings = headings
        self._pages: list[PageBlocks] = []
        self._last = _OpenBlock()
        self._list_lefts: list[float] = []
        self._list_number = 0

    def build(self, pages: Sequence[PageLines]) -> list[PageBlocks]:
        """Return the pages with their blocks."""
        for page in pages:
            self._pages.append(PageBlocks(page.page.number))
            for item in page.items:
                if isinstance(item, Table):
                    self._add(item, None)
                else:
                    self._take(item)
            for text in page.page.sideways:
                self._pages[-1].blocks.append(Code([text]))
        return self._pages

    def _add(self, block: PdfBlock, segment: Segment | None) -> None:
        self._pages[-1].blocks.append(block)
        self._last = _OpenBlock(block, segment, segment)
        if not isinstance(block, ListItem | Paragraph):
            self._list_lefts = []

    def _take(self, line: TextLine) -> None:
        segment = line.segment
        words = tuple(segment.words)
        stands_alone = line.is_first or self._is_apart(segment)
        level = self._headings.level(line, self._pages[-1].number, stands_alone=stands_alone)
        if level is not None:
            block = self._last.block
            if (
                isinstance(block, PdfHeading)
                and block.level == level
                and len(block.lines) < _MAX_HEADING_LINES
                and not self._is_apart(segment)
            ):
                block.lines.append(words)
                self._last.line = segment
            else:
                self._add(PdfHeading(level, [words]), segment)
        elif segment.is_monospaced:
            block, first = self._last.block, self._last.first
            apart = self._is_apart(segment, _CODE_GAP)
            if isinstance(block, Code) and first is not None and not apart:
                if self._is_apart(segment, _MORE_THAN_LEADING * _CODE_LEADING):
                    block.lines.append("")
                block.lines.append(spaced_text(segment, first.left))
                self._last.line = segment
            else:
                self._add(Code([spaced_text(segment, segment.left)]), segment)
        elif marker := self._marker(words, segment):
            lefts = [left for left in self._list_lefts if left < marker.left - 3]
            self._list_lefts = [*lefts, marker.left]
            if marker.number is not None:
                self._list_number = marker.number
            self._add(ListItem(len(lefts), marker.number, [marker.words]), segment)
        elif not self._continue_block(line):
            self._add(Paragraph([words], segment.size), segment)

    def _marker(self, words: tuple[Word, ...], segment: Segment) -> ListMarker | None:
        marker = parse_list_marker(words)
        if marker is None or (marker.number is None and not marker.is_lettered):
            return marker
        # A line of prose may begin with a number; the numbers of a list count up.
        if marker.number is not None:
            return marker if marker.number in (1, self._list_number + 1) else None
        return marker if self._list_lefts or self._is_apart(segment) else None

    def _continue_block(self, line: TextLine) -> bool:
        """Add a line to the block before it, if it belongs there; return whether it does."""
        last, segment = self._last, line.segment
        if line.is_first:
            return self._resume(line)
        if not isinstance(last.block, Paragraph | ListItem) or last.line is None:
            return False
        is_same_size = abs(last.line.size - segment.size) <= _SAME_SIZE * last.line.size
        if not is_same_size or self._is_apart(segment):
            return False
        if isinstance(last.block, ListItem):
            if segment.left < (last.first or last.line).left + 2 and _ends(last.line):
                return False
        elif self._begins_paragraph(last.line, line):
            return False
        last.block.lines.append(tuple(segment.words))
        last.line = segment
        return True

    def _is_apart(self, segment: Segment, leading: float | None = None) -> bool:
        """Whether there is more space above a line than between lines of a paragraph."""
        above = self._last.line
        if above is None:
            return True
        pitch = segment.baseline - above.baseline
        most = leading or _MORE_THAN_LEADING * self._body.leading
        return not 0 < pitch <= most * max(segment.size, above.size)

    def _begins_paragraph(self, above: Segment, line: TextLine) -> bool:
        segment = line.segment
        is_indented = segment.left - above.left > _INDENT * segment.size
        is_second = above is self._last.first
        if is_indented and not (is_second and above.right > line.right - 2 * segment.size):
            return True
        if above.text.endswith("-"):
            return False
        # A line that ends where another word would still fit ends a paragraph.
        needed = segment.words[0].box.right - segment.words[0].box.left + segment.size
        fits = above.right + needed + segment.size < line.right
        return fits and (_ends(above) or segment.text[:1].isupper())

    def _resume(self, line: TextLine) -> bool:
        """Continue a sentence that the last column or page left unfinished."""
        segment = line.segment
        if not segment.text[:1].islower():
            return False
        before = [page for page in self._pages if page.blocks][-1:]
        for block in reversed(before[0].blocks if before else []):
            if not isinstance(block, Paragraph):
                return False
            # Notes below the last paragraph are smaller than the body.
            if block.size < _SMALL * self._body.size:
                continue
            is_same_size = abs(block.size - segment.size) <= _SAME_SIZE * block.size
            if _SENTENCE_END.search(block.lines[-1][-1].text) or not is_same_size:
                return False
            block.lines.append(tuple(segment.words))
            self._last = _OpenBlock(block, segment, segment)
            return True
        return False


def _ends(segment: Segment) -> bool:
    return _SENTENCE_END.search(segment.text) is not None
