"""What stands on a PDF's page: words, drawn rules and links, in points from the top left corner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
        """The point in its middle."""
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
class Rule:
    """A drawn line, upright or level: where it stands, and from where to where it reaches."""

    position: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PageLayout:
    """One page as it is drawn. `sideways` are the lines that run in another direction."""

    number: int
    width: float
    height: float
    words: tuple[Word, ...] = ()
    level_rules: tuple[Rule, ...] = ()
    upright_rules: tuple[Rule, ...] = ()
    sideways: tuple[str, ...] = ()
    image_count: int = 0
    dropped_chars: int = 0
    """Characters that nobody can see: outside of the page, or drawn too small to read."""
    is_cut: bool = False
    """Whether the page has more text than is read."""


@dataclass(frozen=True)
class Segment:
    """Words of one line that stand together, with no gap as wide as a column's."""

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
        """The line that most of its words stand on."""
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
        """Whether all of it is set in a typewriter's font."""
        return all(word.style.is_monospaced for word in self.words)

    @cached_property
    def text(self) -> str:
        """Its words, with spaces between."""
        return " ".join(word.text for word in self.words)
