"""The layout of a PDF page: words, drawn lines and links, grouped into rows and segments."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from statistics import median


@dataclass(frozen=True, slots=True)
class Style:
    """How a font looks."""

    is_bold: bool = False
    is_monospaced: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle; `top` is less than `bottom`."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point lies within it."""
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom


@dataclass(frozen=True, slots=True)
class Word:
    """Glyphs without a gap between them; `size` is the font's, as it is drawn."""

    text: str
    box: Box
    baseline: float
    size: float
    style: Style = Style()
    link: str | None = None


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A drawn line, vertical or horizontal: its position across, and its start and end."""

    position: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PageLayout:
    """One page as drawn. `sideways` has the lines of text in another direction."""

    number: int
    height: float
    words: tuple[Word, ...] = ()
    level_rules: tuple[DrawnLine, ...] = ()
    upright_rules: tuple[DrawnLine, ...] = ()
    sideways: tuple[str, ...] = ()
    image_count: int = 0
    dropped_chars: int = 0
    """Characters that cannot be seen: outside of the page, or too small to read."""
    is_cut: bool = False
    """Whether the page has more text than is read."""


@dataclass(frozen=True)
class Segment:
    """Words of one line without a gap as wide as a column's."""

    words: Sequence[Word] = field(default_factory=tuple)

    @cached_property
    def left(self) -> float:
        """Where it begins."""
        return min(word.box.left for word in self.words)

    @cached_property
    def right(self) -> float:
        """Where it ends."""
        return max(word.box.right for word in self.words)

    @cached_property
    def top(self) -> float:
        """Its upper edge."""
        return min(word.box.top for word in self.words)

    @cached_property
    def bottom(self) -> float:
        """Its lower edge."""
        return max(word.box.bottom for word in self.words)

    @cached_property
    def baseline(self) -> float:
        """The baseline of most of its words."""
        return median(word.baseline for word in self.words)

    @cached_property
    def size(self) -> float:
        """The font size of most of its characters."""
        sizes = sorted((word.size, len(word.text)) for word in self.words)
        half = sum(count for _, count in sizes) / 2
        for size, count in sizes:
            half -= count
            if half <= 0:
                return size
        return sizes[-1][0]

    @cached_property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return all(word.style.is_bold for word in self.words)

    @cached_property
    def is_monospaced(self) -> bool:
        """Whether all of it is in a monospaced font."""
        return all(word.style.is_monospaced for word in self.words)

    @cached_property
    def text(self) -> str:
        """Its words, with spaces between."""
        return " ".join(word.text for word in self.words)


_BASELINE_TOLERANCE = 0.4
# The space between two words of a line is narrower than this, in font sizes.
_SEGMENT_GAP = 1.0
_LEADER = re.compile(r"[.·…_]+")
_LEADERS = re.compile(r"[.·…_]{3,}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def split_rows(words: Iterable[Word]) -> list[list[Word]]:
    """Return the words by line, from top to bottom, each from left to right."""
    rows: list[list[Word]] = []
    anchor: Word | None = None
    for word in sorted(words, key=lambda word: (word.baseline, word.box.left)):
        size = max(word.size, anchor.size) if anchor else 0.0
        if anchor is None or word.baseline - anchor.baseline > _BASELINE_TOLERANCE * size:
            rows.append([])
            anchor = word
        elif word.size > anchor.size:
            # A superscript comes first by its baseline, but the larger words define the row.
            anchor = word
        rows[-1].append(word)
    return [sorted(row, key=lambda word: word.box.left) for row in rows]


def split_segments(row: Sequence[Word], gap: float = _SEGMENT_GAP) -> list[Segment]:
    """Return the segments of a row; dots that lead to a page number are left out."""
    words: list[Word] = []
    for _, group in groupby(row, lambda word: _LEADER.fullmatch(word.text) is not None):
        together = list(group)
        if not _LEADERS.fullmatch("".join(word.text for word in together)):
            words += together
    segments: list[list[Word]] = []
    right = 0.0
    for word in words:
        if not segments or word.box.left - right > gap * word.size:
            segments.append([])
            right = word.box.right
        segments[-1].append(word)
        right = max(right, word.box.right)
    return [Segment(_in_reading_direction(segment)) for segment in segments]


def join_segments(segments: Sequence[Segment]) -> Segment:
    """Return the segments of one row as one."""
    if len(segments) == 1:
        return segments[0]
    words = sorted((w for s in segments for w in s.words), key=lambda word: word.box.left)
    return Segment(_in_reading_direction(words))


def _in_reading_direction(words: list[Word]) -> tuple[Word, ...]:
    backwards = sum(_RIGHT_TO_LEFT.search(word.text) is not None for word in words)
    return tuple(reversed(words)) if 2 * backwards > len(words) else tuple(words)
