"""A page as a reader goes through it: its lines and tables, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from cinder.extract.pdf.aligned_tables import Row, take_aligned_tables
from cinder.extract.pdf.columns import Placed, split_columns
from cinder.extract.pdf.layout import PageLayout, Segment
from cinder.extract.pdf.lines import join_segments, split_rows, split_segments
from cinder.extract.pdf.ruled_tables import find_ruled_tables
from cinder.extract.pdf.tables import Table

_SAME_ROW = 0.4


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and from where to where the lines around it reach."""

    segment: Segment
    left: float
    right: float
    is_first: bool = False
    """Whether it is the first of its column or of the page."""


@dataclass(frozen=True, slots=True)
class PageLines:
    """A page's lines and tables in reading order."""

    page: PageLayout
    items: tuple[Line | Table, ...]


def read_lines(page: PageLayout) -> PageLines:
    """Return a page's lines and tables in the order they are read."""
    tables, words = find_ruled_tables(page)
    segments = [segment for row in split_rows(words) for segment in split_segments(row)]
    placed: list[Placed] = [*segments, *tables]
    items: list[Line | Table] = []
    for region in split_columns(placed):
        items += _read_region(region)
    return PageLines(page, tuple(items))


def _read_region(region: Sequence[Placed]) -> list[Line | Table]:
    segments = [item for item in region if isinstance(item, Segment)]
    items: list[Line | Table] = [item for item in region if isinstance(item, Table)]
    if segments:
        left, right = min(s.left for s in segments), max(s.right for s in segments)
        for found in take_aligned_tables(_rows(segments)):
            if isinstance(found, Table):
                items.append(found)
            else:
                items.append(Line(join_segments(found), left, right))
    items.sort(key=_top)
    if items and isinstance(items[0], Line):
        first = items[0]
        items[0] = Line(first.segment, first.left, first.right, is_first=True)
    return items


def _top(item: Line | Table) -> float:
    return item.top if isinstance(item, Table) else item.segment.top


def _rows(segments: Sequence[Segment]) -> list[Row]:
    rows: list[Row] = []
    for segment in sorted(segments, key=lambda s: (s.baseline, s.left)):
        above = rows[-1][0] if rows else None
        size = max(segment.size, above.size) if above else 0.0
        if above is None or segment.baseline - above.baseline > _SAME_ROW * size:
            rows.append([])
        rows[-1].append(segment)
    return [sorted(row, key=lambda s: s.left) for row in rows]
