"""Tells headings from body text, and removes running headers, footers and page numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import median

from cinder.documents.pdf.layout import Segment
from cinder.documents.pdf.pdfium import Bookmark
from cinder.documents.pdf.reading_order import PageLines, TextLine
from cinder.documents.pdf.tables import Table

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
class BodyStyle:
    """What the running text of a document looks like; `leading` is in font sizes."""

    size: float
    leading: float


def measure_body(pages: Iterable[PageLines]) -> BodyStyle:
    """Return the size that most characters have, and the distance its lines stand apart."""
    sizes: Counter[float] = Counter()
    pitches: list[float] = []
    for page in pages:
        above: Segment | None = None
        for item in page.items:
            segment = item.segment if isinstance(item, TextLine) else None
            if segment is not None:
                sizes[round(2 * segment.size) / 2] += len(segment.text)
                pitch = _pitch(above, segment)
                pitches += [pitch] if pitch else []
            above = segment
    leading = median(pitches) if pitches else _DEFAULT_LEADING
    return BodyStyle(max(sizes, key=lambda size: (sizes[size], size), default=0.0), leading)


def _pitch(above: Segment | None, below: Segment) -> float | None:
    if above is None or abs(above.size - below.size) > 0.5 or below.size <= 0:
        return None
    pitch = (below.baseline - above.baseline) / below.size
    return pitch if 0.8 < pitch < 2.5 else None


class Headings:
    """Tells which lines of a document are headings, and of which level."""

    def __init__(
        self, pages: Sequence[PageLines], body: BodyStyle, bookmarks: Sequence[Bookmark]
    ) -> None:
        self._body = body
        self._titles = {
            (bookmark.page_index + 1, _normalise(bookmark.title)) for bookmark in bookmarks
        }
        lines = [item for page in pages for item in page.items if isinstance(item, TextLine)]
        self._classes = _size_classes(
            line.segment.size for line in lines if self._is_large(line.segment)
        )
        depths = [
            _depth(line.segment.text) for line in lines if self._may_be_bold_heading(line.segment)
        ]
        self._least_depth = min(filter(None, depths), default=1)

    def level(self, line: TextLine, page_number: int, *, stands_alone: bool) -> int | None:
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


_MIN_PAGES = 3
# A head or foot stands in the outer eighth of its page, and is no more than so many lines.
_ZONE = 0.12
_MAX_LINES = 3
# No further apart than this, in font sizes, two lines of the same size are of one text.
_FLOW = 1.9
_SAME_SIZE = 0.5
_SAME_ROW = 0.4
# Larger than the body by so much, a line is a heading.
_NUMBER = re.compile(r"\d+")
_FIRST_NUMBER = re.compile(r"(\d{1,4})\s")
_LAST_NUMBER = re.compile(r"\s(\d{1,4})$")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|página|pagina)\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:/|of|von|de|di|sur)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)

_Key = tuple[bool, str, int, int]


def drop_running_text(pages: Sequence[PageLines]) -> list[PageLines]:
    """Return the pages without what repeats at their edges and without their numbers."""
    if len(pages) < 2:
        return list(pages)
    large = _LARGER * measure_body(pages).size
    edges = [list(_edge_lines(page, large)) for page in pages]
    counts: Counter[_Key] = Counter()
    for page, edge in zip(pages, edges, strict=True):
        counts.update({key for key, _ in edge})
        counts.update({offset for key, line in edge for offset in _offsets(page, key, line)})
    least = min(_MIN_PAGES, len(pages))
    return [_without(page, edge, counts, least) for page, edge in zip(pages, edges, strict=True)]


def _without(
    page: PageLines, edge: list[tuple[_Key, TextLine]], counts: Counter[_Key], least: int
) -> PageLines:
    repeated = {
        id(line)
        for key, line in edge
        if counts[key] >= least
        or any(counts[offset] >= _MIN_PAGES for offset in _offsets(page, key, line))
        or _is_page_number(line)
    }
    rows = _rows([item for item in page.items if isinstance(item, TextLine)])
    dropped = _outside_body(rows, repeated) | _outside_body(rows[::-1], repeated)
    kept = [item for item in page.items if id(item) not in dropped]
    # What stood below the head now begins the page.
    if kept and isinstance(kept[0], TextLine):
        kept[0] = replace(kept[0], is_first=True)
    return replace(page, items=tuple(kept))


def _rows(lines: list[TextLine]) -> list[list[TextLine]]:
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.segment.baseline):
        above = rows[-1][0].segment if rows else None
        if above is None or line.segment.baseline - above.baseline > _SAME_ROW * above.size:
            rows.append([])
        rows[-1].append(line)
    return rows


def _outside_body(rows: list[list[TextLine]], repeated: set[int]) -> set[int]:
    """Return which of the repeated lines stand between the page's edge and its body.

    Rows come from the edge inwards: the first without any is the body's, and so is what flows on
    into it.
    """
    outer = list(takewhile(lambda row: any(id(line) in repeated for line in row), rows))
    while outer and len(outer) < len(rows) and _flows(outer[-1], rows[len(outer)]):
        outer.pop()
    return {id(line) for row in outer for line in row if id(line) in repeated}


def _flows(row: list[TextLine], inner: list[TextLine]) -> bool:
    if any(map(_is_page_number, row)):
        return False
    here, there = row[0].segment, inner[0].segment
    is_near = abs(here.baseline - there.baseline) <= _FLOW * here.size
    return is_near and abs(here.size - there.size) <= _SAME_SIZE


def _is_page_number(line: TextLine) -> bool:
    return _PAGE_NUMBER.fullmatch(line.segment.text) is not None


def _edge_lines(page: PageLines, large: float) -> Iterator[tuple[_Key, TextLine]]:
    """Yield the lines at the top and the bottom of a page, each with what it would repeat as."""
    height = page.page.height
    lines = [item for item in page.items if isinstance(item, TextLine)]
    tables = [item for item in page.items if isinstance(item, Table)]
    heads = [line for line in lines if line.segment.bottom <= _ZONE * height]
    feet = [line for line in lines if line.segment.top >= (1 - _ZONE) * height]
    heads.sort(key=lambda line: line.segment.top)
    feet.sort(key=lambda line: -line.segment.bottom)
    for line in heads[:_MAX_LINES]:
        if not any(table.top < line.segment.top for table in tables):
            yield _key(line.segment, large, is_head=True), line
    for line in feet[:_MAX_LINES]:
        if not any(table.bottom > line.segment.bottom for table in tables):
            yield _key(line.segment, large, is_head=False), line


def _offsets(page: PageLines, key: _Key, line: TextLine) -> Iterator[_Key]:
    """Yield how far the numbers at a line's ends are from the page's: always as far, in a head."""
    for found in (_FIRST_NUMBER.match(line.segment.text), _LAST_NUMBER.search(line.segment.text)):
        if found is not None and "1" in key[1]:
            yield key[0], "", int(found[1]) - page.page.number, 0


def _key(segment: Segment, large: float, *, is_head: bool) -> _Key:
    text = segment.text.casefold()
    # Numbers change from page to page; but `Chapter 3` in large letters is no running head.
    if segment.size < large:
        text = _NUMBER.sub("1", text)
    return is_head, text, round(segment.baseline / 4), round(2 * segment.size)
