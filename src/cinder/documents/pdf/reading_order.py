"""The lines and tables of a PDF page in reading order, column by column."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from statistics import median

from cinder.documents.pdf.layout import (
    PageLayout,
    Segment,
    join_segments,
    split_rows,
    split_segments,
)
from cinder.documents.pdf.tables import SegmentRow, Table, find_aligned_tables, find_ruled_tables

Placed = Segment | Table

_MAX_DEPTH = 3
_MIN_SEGMENTS = 4
_BIN = 2.0
_MAX_BINS = 4_000
_MIN_GUTTER_BINS = 4
_MIN_GAP = 6.0
# A gutter is well within the page, and most of the lines around it do not cross it.
_MARGIN = 0.2
_MAX_CROSSING = 0.5
# The lines of columns of prose fill them, and are aligned.
_MIN_FILL = 0.28
_MIN_WORDS = 3
_MIN_ALIGNED = 0.3


def split_columns(placed: Sequence[Placed], depth: int = 0) -> list[list[Placed]]:
    """Return the parts of a page in reading order, each from top to bottom."""
    ordered = sorted(placed, key=lambda item: (item.top, item.left))
    bands = _find_bands(ordered) if depth < _MAX_DEPTH else None
    if bands is None:
        return [ordered] if ordered else []
    regions: list[list[Placed]] = []
    for band in bands:
        if band.right:
            sides = (band.left, band.right, band.below)
            regions += [part for side in sides for part in split_columns(side, depth + 1)]
        else:
            regions.append(band.left)
    return regions


@dataclass(frozen=True, slots=True)
class _Band:
    """A part of a page between lines that cross the gutter; without a right side it is whole."""

    left: list[Placed]
    right: list[Placed] = field(default_factory=list)
    below: list[Placed] = field(default_factory=list)
    """The items below the end of both columns."""


def _find_bands(ordered: Sequence[Placed]) -> list[_Band] | None:
    """Return a page as bands, at least one of which has columns; None where none has."""
    if sum(isinstance(item, Segment) for item in ordered) < 2 * _MIN_SEGMENTS:
        return None
    for middle, crossing in _free_strips(ordered):
        if crossing > _MAX_CROSSING * len(ordered):
            continue
        is_across = [item.left < middle < item.right for item in ordered]
        groups = groupby(range(len(ordered)), is_across.__getitem__)
        bands = [_divide([ordered[index] for index in group], middle) for _, group in groups]
        if any(band.right for band in bands):
            return bands
    return None


def _divide(items: list[Placed], middle: float) -> _Band:
    left = [item for item in items if item.right <= middle]
    right = [item for item in items if item.left >= middle]
    if not left or not right or len(left) + len(right) < len(items):
        return _Band(items)
    top = max(min(item.top for item in side) for side in (left, right))
    bottom = min(max(item.bottom for item in side) for side in (left, right))
    for side in (left, right):
        level = [s for s in side if isinstance(s, Segment) and s.bottom > top and s.top < bottom]
        if not _is_column(level):
            return _Band(items)
    # A gap across the page, below the end of one column, ends both.
    below: list[Placed] = []
    lowest = 0.0
    for index, item in enumerate(items):
        if item.top >= bottom - 1 and item.top - lowest >= _MIN_GAP:
            below = items[index:]
            break
        lowest = max(lowest, item.bottom)
    held = set(map(id, below))
    return _Band(
        [item for item in left if id(item) not in held],
        [item for item in right if id(item) not in held],
        below,
    )


def _free_strips(placed: Sequence[Placed]) -> list[tuple[float, int]]:
    """Return the middles of strips that few lines cross, and how many do, the fewest first."""
    start, end = min(item.left for item in placed), max(item.right for item in placed)
    bins = min(int((end - start) / _BIN) + 1, _MAX_BINS)
    steps = [0] * (bins + 2)
    for item in placed:
        steps[min(int((item.left - start) / _BIN), bins)] += 1
        steps[min(int((item.right - start) / _BIN), bins) + 1] -= 1
    covered = list(accumulate(steps))
    first, last = int(bins * _MARGIN), int(bins * (1 - _MARGIN))
    strips: list[tuple[float, int]] = []
    for level in sorted(set(covered[first:last]))[:3]:
        is_free = [count <= level for count in covered]
        groups = groupby(range(first, last + 1), is_free.__getitem__)
        runs = [list(group) for key, group in groups if key]
        wide = [(run[0], run[-1] + 1) for run in runs if len(run) >= _MIN_GUTTER_BINS]
        wide.sort(key=lambda run: run[0] - run[1])
        strips += [(start + (begin + end) / 2 * _BIN, level) for begin, end in wide]
    return strips


def _is_column(segments: list[Segment]) -> bool:
    """Whether lines are a column of prose rather than the cells of a table."""
    if len(segments) < _MIN_SEGMENTS:
        return False
    width = max(s.right for s in segments) - min(s.left for s in segments)
    is_filled = median(s.right - s.left for s in segments) >= _MIN_FILL * width
    starts = Counter(round(s.left / 3) for s in segments)
    commonest, count = starts.most_common(1)[0]
    is_aligned = count + starts[commonest + 1] >= _MIN_ALIGNED * len(segments)
    return is_filled and is_aligned and median(len(s.text) for s in segments) >= 6 * _MIN_WORDS


_SAME_ROW = 0.4


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text, and the right edge of the lines around it."""

    segment: Segment
    right: float
    is_first: bool = False
    """Whether it is the first of its column or of the page."""


@dataclass(frozen=True, slots=True)
class PageLines:
    """A page's lines and tables in reading order."""

    page: PageLayout
    items: tuple[TextLine | Table, ...]


def read_lines(page: PageLayout) -> PageLines:
    """Return a page's lines and tables in reading order."""
    tables, words = find_ruled_tables(page)
    segments = [segment for row in split_rows(words) for segment in split_segments(row)]
    placed: list[Placed] = [*segments, *tables]
    items: list[TextLine | Table] = []
    for region in split_columns(placed):
        inside = [item for item in region if isinstance(item, Segment)]
        read: list[TextLine | Table] = [item for item in region if isinstance(item, Table)]
        right = max((segment.right for segment in inside), default=0.0)
        rows: list[SegmentRow] = []
        for segment in sorted(inside, key=lambda s: (s.baseline, s.left)):
            above = rows[-1][0] if rows else None
            size = max(segment.size, above.size) if above else 0.0
            if above is None or segment.baseline - above.baseline > _SAME_ROW * size:
                rows.append([])
            rows[-1].append(segment)
        for found in find_aligned_tables([sorted(row, key=lambda s: s.left) for row in rows]):
            if isinstance(found, Table):
                read.append(found)
            else:
                read.append(TextLine(join_segments(found), right))
        read.sort(key=lambda item: item.top if isinstance(item, Table) else item.segment.top)
        if read and isinstance(read[0], TextLine):
            read[0] = replace(read[0], is_first=True)
        items += read
    return PageLines(page, tuple(items))
