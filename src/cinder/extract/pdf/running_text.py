"""Leaves out what stands on page after page: running heads, feet and page numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from cinder.extract.pdf.headings import measure_body
from cinder.extract.pdf.layout import Segment
from cinder.extract.pdf.page_lines import Line, PageLines
from cinder.extract.pdf.tables import Table

_MIN_PAGES = 3
# A head or foot stands in the outer eighth of its page, and is no more than so many lines.
_ZONE = 0.12
_MAX_LINES = 3
# No further apart than this, in font sizes, two lines of the same size are of one text.
_FLOW = 1.9
_SAME_SIZE = 0.5
_SAME_ROW = 0.4
# Larger than the body by so much, a line is a heading.
_LARGER = 1.12
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
    page: PageLines, edge: list[tuple[_Key, Line]], counts: Counter[_Key], least: int
) -> PageLines:
    repeated = {
        id(line)
        for key, line in edge
        if counts[key] >= least
        or any(counts[offset] >= _MIN_PAGES for offset in _offsets(page, key, line))
        or _is_page_number(line)
    }
    rows = _rows([item for item in page.items if isinstance(item, Line)])
    dropped = _outside_body(rows, repeated) | _outside_body(rows[::-1], repeated)
    kept = [item for item in page.items if id(item) not in dropped]
    # What stood below the head now begins the page.
    if kept and isinstance(kept[0], Line):
        kept[0] = replace(kept[0], is_first=True)
    return replace(page, items=tuple(kept))


def _rows(lines: list[Line]) -> list[list[Line]]:
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.segment.baseline):
        above = rows[-1][0].segment if rows else None
        if above is None or line.segment.baseline - above.baseline > _SAME_ROW * above.size:
            rows.append([])
        rows[-1].append(line)
    return rows


def _outside_body(rows: list[list[Line]], repeated: set[int]) -> set[int]:
    """Return which of the repeated lines stand between the page's edge and its body.

    Rows come from the edge inwards: the first without any is the body's, and so is what flows on
    into it.
    """
    outer = list(takewhile(lambda row: any(id(line) in repeated for line in row), rows))
    while outer and len(outer) < len(rows) and _flows(outer[-1], rows[len(outer)]):
        outer.pop()
    return {id(line) for row in outer for line in row if id(line) in repeated}


def _flows(row: list[Line], inner: list[Line]) -> bool:
    if any(map(_is_page_number, row)):
        return False
    here, there = row[0].segment, inner[0].segment
    is_near = abs(here.baseline - there.baseline) <= _FLOW * here.size
    return is_near and abs(here.size - there.size) <= _SAME_SIZE


def _is_page_number(line: Line) -> bool:
    return _PAGE_NUMBER.fullmatch(line.segment.text) is not None


def _edge_lines(page: PageLines, large: float) -> Iterator[tuple[_Key, Line]]:
    """Yield the lines at the top and the bottom of a page, each with what it would repeat as."""
    height = page.page.height
    lines = [item for item in page.items if isinstance(item, Line)]
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


def _offsets(page: PageLines, key: _Key, line: Line) -> Iterator[_Key]:
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
