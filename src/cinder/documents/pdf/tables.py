"""Finds tables on a PDF page, by drawn lines or by aligned cells."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from cinder.documents.pdf.layout import (
    Box,
    DrawnLine,
    PageLayout,
    Segment,
    Word,
    split_rows,
    split_segments,
)

# Longer texts are in boxes, not in tables.
_MAX_CELL_CHARS = 1_500

Cell = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, each with its words, and the table's position on the page."""

    rows: tuple[tuple[Cell, ...], ...]
    left: float
    top: float
    right: float
    bottom: float


def to_cell(words: Sequence[Word]) -> Cell:
    """Return the words of a cell, line by line."""
    return tuple(word for row in split_rows(words) for word in row)


def make_table(rows: Sequence[Sequence[Cell]]) -> Table | None:
    """Return rows of cells as a table without empty rows and columns; None if it is too small."""
    filled = [row for row in rows if any(row)]
    columns = [
        column
        for column in range(max((len(row) for row in filled), default=0))
        if any(row[column] for row in filled)
    ]
    cells = [tuple(row[column] for column in columns) for row in filled]
    if len(cells) < 2 or len(columns) < 2:
        return None
    lengths = [sum(len(word.text) for word in cell) for row in cells for cell in row]
    if sum(map(bool, lengths)) < 3 or max(lengths) > _MAX_CELL_CHARS:
        return None
    boxes = [word.box for row in cells for cell in row for word in cell]
    return Table(
        rows=tuple(cells),
        left=min(box.left for box in boxes),
        top=min(box.top for box in boxes),
        right=max(box.right for box in boxes),
        bottom=max(box.bottom for box in boxes),
    )


_MIN_ROWS = 3
_MAX_ROWS = 300
_MIN_FILLED = 0.6
# Cells with more words than this are columns of prose.
_MAX_CELL_WORDS = 9
_MAX_PITCH = 3.2
_CELL_MARKER = re.compile(r"[^\w\s]{1,2}|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\[\d{1,3}\]|o")

SegmentRow = list[Segment]
Column = tuple[float, float]


def find_aligned_tables(rows: Sequence[SegmentRow]) -> list[SegmentRow | Table]:
    """Return the rows of a region, with tables in the place of rows that make one."""
    found: list[SegmentRow | Table] = []
    index = 0
    while index < len(rows):
        run, columns = _longest_run(rows, index)
        table = _to_table(run, columns)
        found.append(rows[index] if table is None else table)
        index += 1 if table is None else len(run)
    return found


def find_columns(segments: Sequence[Segment]) -> list[Column]:
    """Return the horizontal ranges that segments cover together."""
    columns: list[Column] = []
    for segment in sorted(segments, key=lambda segment: segment.left):
        if columns and segment.left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], segment.right))
        else:
            columns.append((segment.left, segment.right))
    return columns


def rows_by_columns(rows: Sequence[SegmentRow], columns: Sequence[Column]) -> list[list[Cell]]:
    """Return rows as cells; a row that only continues a cell above is joined to it."""
    cut: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [() for _ in columns]
        for segment in row:
            overlaps = [
                min(segment.right, right) - max(segment.left, left) for left, right in columns
            ]
            column = overlaps.index(max(overlaps))
            cells[column] = (*cells[column], *segment.words)
        if cut and not cells[0] and sum(map(bool, cells)) == 1:
            cut[-1] = [(*above, *below) for above, below in zip(cut[-1], cells, strict=True)]
        else:
            cut.append(cells)
    return [[to_cell(cell) for cell in row] for row in cut]


def _longest_run(rows: Sequence[SegmentRow], start: int) -> tuple[list[SegmentRow], list[Column]]:
    """Return the consecutive rows whose cells fit the same columns, and those columns."""
    if len(rows[start]) < 2:
        return [], []
    run, columns = [rows[start]], find_columns(rows[start])
    for row in rows[start + 1 : start + _MAX_ROWS]:
        above = run[-1][0]
        if not 0 < row[0].baseline - above.baseline <= _MAX_PITCH * max(above.size, row[0].size):
            break
        widened = _widened(columns, row)
        if widened is None or (
            len(row) == 1 and (len(widened) != len(columns) or row[0].left < columns[1][0])
        ):
            break
        run.append(row)
        columns = widened
    while len(run[-1]) == 1:
        run.pop()
    return run, columns


def _widened(columns: list[Column], row: SegmentRow) -> list[Column] | None:
    """Return the columns widened by another row's cells; None where one spans several."""
    for segment in row:
        touched = [c for c in columns if segment.left <= c[1] and segment.right >= c[0]]
        if len(touched) > 1:
            return None
        widened = [c for c in columns if c not in touched]
        left = min([segment.left, *(c[0] for c in touched)])
        right = max([segment.right, *(c[1] for c in touched)])
        columns = sorted([*widened, (left, right)])
    return columns


def _to_table(run: list[SegmentRow], columns: list[Column]) -> Table | None:
    full = [row for row in run if len(row) > 1]
    filled = sum(map(len, full))
    if len(full) < _MIN_ROWS or filled < _MIN_FILLED * len(full) * len(columns):
        return None
    words = median(len(segment.words) for row in full for segment in row)
    firsts = [row[0].text for row in full]
    # In a monospaced font it is a listing, whose spaces are kept.
    if all(segment.is_monospaced for row in full for segment in row):
        return None
    is_list = len(columns) == 2 and all(_CELL_MARKER.fullmatch(first) for first in firsts)
    if is_list or words > _MAX_CELL_WORDS:
        return None
    return make_table(rows_by_columns(run, columns))


_SNAP = 2.5
_REACH = 3.0
# A page with more lines than this, once pieces are joined, is a drawing.
_MAX_RULES = 600
# The gap between cells where only horizontal rules are drawn, which is narrower than in prose.
_TIGHT_GAP = 0.6


@dataclass(slots=True)
class _RuledFrame:
    """Rules that touch one another."""

    level: list[DrawnLine]
    upright: list[DrawnLine]


def find_ruled_tables(page: PageLayout) -> tuple[list[Table], list[Word]]:
    """Return a page's ruled tables, and the words outside of them."""
    level, upright = _join_pieces(page.level_rules), _join_pieces(page.upright_rules)
    left = list(page.words)
    if not level or len(level) + len(upright) > _MAX_RULES:
        return [], left
    tables: list[Table] = []
    frames: list[_RuledFrame] = []
    waiting = list(upright)
    free = list(level)
    while waiting:
        frame = _RuledFrame([], [waiting.pop()])
        for rule in frame.upright:
            crossing = [other for other in free if _crosses(other, rule)]
            free = [other for other in free if not _crosses(other, rule)]
            frame.level += crossing
            # The list grows during iteration: the rules that these reach belong here, too.
            reached = [other for other in waiting if any(_crosses(c, other) for c in crossing)]
            waiting = [other for other in waiting if not any(_crosses(c, other) for c in crossing)]
            frame.upright += reached
        if len(frame.level) > 1:
            frames.append(frame)
    level_frames: list[_RuledFrame] = []
    for rule in sorted(free, key=lambda rule: rule.position):
        for frame in level_frames:
            first = frame.level[0]
            if abs(first.start - rule.start) <= _REACH and abs(first.end - rule.end) <= _REACH:
                frame.level.append(rule)
                break
        else:
            level_frames.append(_RuledFrame([rule], []))
    for frame in frames + [frame for frame in level_frames if len(frame.level) > 2]:
        xs = [x for rule in frame.level for x in (rule.start, rule.end)]
        ys = [rule.position for rule in frame.level]
        xs += [rule.position for rule in frame.upright]
        ys += [y for rule in frame.upright for y in (rule.start, rule.end)]
        box = Box(min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1)
        inside = [word for word in left if box.holds(word.box.middle)]
        table = _read_frame(frame, box, inside) if len(inside) > 2 else None
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            left = [word for word in left if id(word) not in taken]
    return tables, left


def _join_pieces(rules: Iterable[DrawnLine]) -> list[DrawnLine]:
    """Join rules that were drawn cell by cell or twice."""
    joined: list[DrawnLine] = []
    lanes: list[tuple[float, list[DrawnLine]]] = []
    for rule in sorted(rules, key=lambda rule: rule.position):
        if not lanes or rule.position - lanes[-1][0] > _SNAP:
            lanes.append((rule.position, []))
        lanes[-1][1].append(rule)
    for position, lane in lanes:
        lane.sort(key=lambda rule: rule.start)
        start, end = lane[0].start, lane[0].end
        for rule in lane[1:]:
            if rule.start > end + _REACH:
                joined.append(DrawnLine(position, start, end))
                start, end = rule.start, rule.end
            end = max(end, rule.end)
        joined.append(DrawnLine(position, start, end))
    return joined


def _crosses(level: DrawnLine, upright: DrawnLine) -> bool:
    return (
        level.start - _REACH <= upright.position <= level.end + _REACH
        and upright.start - _REACH <= level.position <= upright.end + _REACH
    )


def _read_frame(frame: _RuledFrame, box: Box, words: list[Word]) -> Table | None:
    if not any(box.left + 5 < rule.position < box.right - 5 for rule in frame.upright):
        rows = [split_segments(row, _TIGHT_GAP) for row in split_rows(words)]
        columns = find_columns([s for row in rows if len(row) > 1 for s in row])
        if len(columns) < 2 or sum(len(row) > 1 for row in rows) < 2:
            return None
        return make_table(rows_by_columns(rows, columns))
    xs = _cell_edges([rule.position for rule in frame.upright], box.left, box.right)
    ys = _cell_edges([rule.position for rule in frame.level], box.top, box.bottom)
    bands: list[list[Word]] = [[] for _ in pairwise(ys)]
    for word in words:
        x, y = word.box.middle
        row = _band_index(ys, y)
        # A cell spans the rows that no rule is between.
        while row > 0 and not any(
            abs(rule.position - ys[row]) <= _SNAP + 1 and rule.start - 1 <= x <= rule.end + 1
            for rule in frame.level
        ):
            row -= 1
        bands[row].append(word)
    cells: list[list[Cell]] = []
    for (top, bottom), band in zip(pairwise(ys), bands, strict=True):
        middle = (top + bottom) / 2
        # For each column, the first of those that it is one cell with.
        firsts = [0]
        for column in range(1, len(xs) - 1):
            is_divided = any(
                abs(rule.position - xs[column]) <= _SNAP + 1 and rule.start <= middle <= rule.end
                for rule in frame.upright
            )
            firsts.append(column if is_divided else firsts[-1])
        # Where only columns are ruled, a band has several rows.
        lines = [_read_row(line, xs, firsts) for line in split_rows(band)]
        starts = sum(bool(line[0]) and sum(map(bool, line)) > 1 for line in lines)
        is_row_each = len(lines) > 2 and starts >= 0.7 * len(lines)
        cells += lines if is_row_each else [_read_row(band, xs, firsts)]
    return make_table(cells)


def _cell_edges(positions: list[float], first: float, last: float) -> list[float]:
    """Return the edges of cells; a table may be open at its sides."""
    edges = [first]
    for position in sorted(positions):
        if position - edges[-1] > _SNAP + 1:
            edges.append(position)
    return edges if last - edges[-1] <= _SNAP + 1 else [*edges, last]


def _band_index(edges: list[float], position: float) -> int:
    return min(max(bisect_right(edges, position) - 1, 0), len(edges) - 2)


def _read_row(words: Sequence[Word], xs: list[float], firsts: list[int]) -> list[Cell]:
    cells: list[list[Word]] = [[] for _ in firsts]
    for word in words:
        cells[firsts[_band_index(xs, word.box.middle[0])]].append(word)
    return [to_cell(cell) for cell in cells]
