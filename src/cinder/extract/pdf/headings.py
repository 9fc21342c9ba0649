"""Tells headings from text: by size beside that of the body, by weight, by the file's outline."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from cinder.extract.pdf.layout import Segment
from cinder.extract.pdf.page_lines import Line, PageLines
from cinder.extract.pdf.pdfium import Bookmark

_LARGER = 1.12
_SAME_CLASS = 1.05
_MAX_LEVEL = 6
_MAX_HEADING_CHARS = 200
_MAX_BOLD_CHARS = 100
_DEFAULT_LEADING = 1.2
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?\s+\S")
_NOT_WORDS = re.compile(r"[\W_]+")
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Body:
    """What the running text of a document looks like; `leading` is in font sizes."""

    size: float
    leading: float


def measure_body(pages: Iterable[PageLines]) -> Body:
    """Return the size that most characters have, and the distance its lines stand apart."""
    sizes: Counter[float] = Counter()
    pitches: list[float] = []
    for page in pages:
        above: Segment | None = None
        for item in page.items:
            segment = item.segment if isinstance(item, Line) else None
            if segment is not None:
                sizes[round(2 * segment.size) / 2] += len(segment.text)
                pitch = _pitch(above, segment)
                pitches += [pitch] if pitch else []
            above = segment
    leading = median(pitches) if pitches else _DEFAULT_LEADING
    return Body(max(sizes, key=lambda size: (sizes[size], size), default=0.0), leading)


def _pitch(above: Segment | None, below: Segment) -> float | None:
    if above is None or abs(above.size - below.size) > 0.5 or below.size <= 0:
        return None
    pitch = (below.baseline - above.baseline) / below.size
    return pitch if 0.8 < pitch < 2.5 else None


class Headings:
    """Tells which lines of a document are headings, and of which level."""

    def __init__(
        self, pages: Sequence[PageLines], body: Body, bookmarks: Sequence[Bookmark]
    ) -> None:
        self._body = body
        self._titles = {
            (bookmark.page_index + 1, _normalise(bookmark.title)) for bookmark in bookmarks
        }
        lines = [item for page in pages for item in page.items if isinstance(item, Line)]
        self._classes = _size_classes(
            line.segment.size for line in lines if self._is_large(line.segment)
        )
        depths = [
            _depth(line.segment.text) for line in lines if self._may_be_bold_heading(line.segment)
        ]
        self._least_depth = min(filter(None, depths), default=1)

    def level(self, line: Line, page_number: int, *, stands_alone: bool) -> int | None:
        """Return a line's level as a heading, h1 being 1; None where it is text.

        `stands_alone` tells whether there is more space above it than between lines.
        """
        segment = line.segment
        if self._is_large(segment):
            return self._class_of(segment.size)
        if not _LETTERS.search(segment.text):
            return None
        is_named = (page_number, _normalise(segment.text)) in self._titles
        if is_named or (stands_alone and self._may_be_bold_heading(segment)):
            deeper = max(0, (_depth(segment.text) or self._least_depth) - self._least_depth)
            return min(len(self._classes) + 1 + deeper, _MAX_LEVEL)
        return None

    def _is_large(self, segment: Segment) -> bool:
        text = segment.text
        return (
            segment.size >= _LARGER * self._body.size
            and len(text) <= _MAX_HEADING_CHARS
            and _LETTERS.search(text) is not None
        )

    def _may_be_bold_heading(self, segment: Segment) -> bool:
        text = segment.text
        is_short = len(text) <= _MAX_BOLD_CHARS and not text.endswith((".", ",", ";", ":"))
        is_body_size = segment.size >= 0.95 * self._body.size
        return segment.is_bold and is_short and is_body_size and bool(_LETTERS.search(text))

    def _class_of(self, size: float) -> int:
        larger = sum(size < smallest for smallest in self._classes)
        return min(larger + 1, _MAX_LEVEL)


def _size_classes(sizes: Iterable[float]) -> list[float]:
    """Return the least size of each class of sizes that are as good as equal, largest first."""
    classes: list[float] = []
    for size in sorted(set(sizes), reverse=True):
        if classes and classes[-1] <= size * _SAME_CLASS:
            classes[-1] = size
        else:
            classes.append(size)
    return classes


def _depth(text: str) -> int | None:
    found = _NUMBERED.match(text)
    return found[1].count(".") + 1 if found else None


def _normalise(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip().casefold()
