"""Finds headings, and removes running headers, footers and page numbers."""

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
    """The style of a document's body text; `leading` is in font sizes."""

    size: float
    leading: float


def measure_body(pages: Iterable[PageLines]) -> BodyStyle:
    """Return the font size of most characters, and the usual distance between lines."""
    sizes: Counter[float] = Counter()
    pitches: list[float] = []
    for page in pages:
        above: Segment | None = None
        for item in page.items:
            segment = item.segment if isinstance(item, TextLine) else None
            if segment is not None:
                sizes[round(2 * segment.size) / 2] += len(segment.text)
            if above and segment and abs(above.size - segment.size) <= 0.5 and segment.size > 0:
                pitch = (segment.baseline - above.baseline) / segment.size
                pitches += [pitch] if 0.8 < pitch < 2.5 else []
            above = segment
    leading = median(pitches) if pitches else _DEFAULT_LEADING
    return BodyStyle(max(sizes, key=lambda size: (sizes[size], size), default=0.0), leading)


class Headings:
    """Decides which lines of a document are headings, and their levels."""

    def __init__(
        self, pages: Sequence[PageLines], body: BodyStyle, bookmarks: Sequence[Bookmark]
    ) -> None:
        self._body = body
        self._titles = {
            (bookmark.page_index + 1, _normalise(bookmark.title)) for bookmark in bookmarks
        }
        lines = [item for page in pages for item in page.items if isinstance(item, TextLine)]
        # The smallest size of each class of nearly equal sizes, largest first.
        self._classes: list[float] = []
        sizes = {line.segment.size for line in lines if self._is_large(line.segment)}
        for size in sorted(sizes, reverse=True):
            if self._classes and self._classes[-1] <= size * _SAME_CLASS:
                self._classes[-1] = size
            else:
                self._classes.append(size)
        depths = [
            _depth(line.segment.text) for line in lines if self._may_be_bold_heading(line.segment)
        ]
        self._least_depth = min(filter(None, depths), default=1)

    def level(self, line: TextLine, page_number: int, *, stands_alone: bool) -> int | None:
        """Return a line's level as a heading, h1 being 1; None where it is text.

        `stands_alone` is whether there is more space above it than between lines.
        """
        segment = line.segment
        if self._is_large(segment):
            larger = sum(segment.size < smallest for smallest in self._classes)
            return min(larger + 1, _MAX_LEVEL)
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


def _depth(text: str) -> int | None:
    found = _NUMBERED.match(text)
    return found[1].count(".") + 1 if found else None


def _normalise(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip().casefold()


_MIN_PAGES = 3
# A header or footer is in the outer eighth of its page, and has at most so many lines.
_ZONE = 0.12
_MAX_LINES = 3
# Two lines of the same size that are no further apart, in font sizes, are of one text.
_FLOW = 1.9
_SAME_SIZE = 0.5
_SAME_ROW = 0.4
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
    """Return the pages without repeated lines at their edges and without page numbers."""
    if len(pages) < 2:
        return list(pages)
    large = _LARGER * measure_body(pages).size
    edges = [list(_edge_lines(page, large)) for page in pages]
    counts: Counter[_Key] = Counter()
    for page, edge in zip(pages, edges, strict=True):
        counts.update({key for key, _ in edge})
        counts.update({offset for key, line in edge for offset in _offsets(page, key, line)})
    least = min(_MIN_PAGES, len(pages))
    kept_pages = []
    for page, edge in zip(pages, edges, strict=True):
        repeated = {
            id(line)
            for key, line in edge
            if counts[key] >= least
            or any(counts[offset] >= _MIN_PAGES for offset in _offsets(page, key, line))
            or _is_page_number(line)
        }
        lines = [item for item in page.items if isinstance(item, TextLine)]
        rows: list[list[TextLine]] = []
        for line in sorted(lines, key=lambda line: line.segment.baseline):
            above = rows[-1][0].segment if rows else None
            if above is None or line.segment.baseline - above.baseline > _SAME_ROW * above.size:
                rows.append([])
            rows[-1].append(line)
        dropped = _outside_body(rows, repeated) | _outside_body(rows[::-1], repeated)
        kept = [item for item in page.items if id(item) not in dropped]
        # The line below the header now begins the page.
        if kept and isinstance(kept[0], TextLine):
            kept[0] = replace(kept[0], is_first=True)
        kept_pages.append(replace(page, items=tuple(kept)))
    return kept_pages


def _outside_body(rows: list[list[TextLine]], repeated: set[int]) -> set[int]:
    """Return which of the repeated lines are outside the body; rows go from the edge inwards."""
    # The first row without a repeated line is in the body, and so are rows that continue into it.
    outer = list(takewhile(lambda row: any(id(line) in repeated for line in row), rows))
    while outer and len(outer) < len(rows) and not any(map(_is_page_number, outer[-1])):
        here, inner = outer[-1][0].segment, rows[len(outer)][0].segment
        is_near = abs(here.baseline - inner.baseline) <= _FLOW * here.size
        if not is_near or abs(here.size - inner.size) > _SAME_SIZE:
            break
        outer.pop()
    return {id(line) for row in outer for line in row if id(line) in repeated}


def _is_page_number(line: TextLine) -> bool:
    return _PAGE_NUMBER.fullmatch(line.segment.text) is not None


def _edge_lines(page: PageLines, large: float) -> Iterator[tuple[_Key, TextLine]]:
    """Yield the lines at the top and the bottom of a page, with keys by which they repeat."""
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
    """Yield how the numbers at a line's ends differ from the page's: in running headers equally."""
    for found in (_FIRST_NUMBER.match(line.segment.text), _LAST_NUMBER.search(line.segment.text)):
        if found is not None and "1" in key[1]:
            yield key[0], "", int(found[1]) - page.page.number, 0


def _key(segment: Segment, large: float, *, is_head: bool) -> _Key:
    text = segment.text.casefold()
    # Numbers change from page to page; but `Chapter 3` in large letters is a heading.
    if segment.size < large:
        text = _NUMBER.sub("1", text)
    return is_head, text, round(segment.baseline / 4), round(2 * segment.size)
