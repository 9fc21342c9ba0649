"""Finds tables without rules, by cells that stand below one another row after row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cinder.extract.pdf.layout import Segment
from cinder.extract.pdf.tables import Cell, Table, make_table, to_cell

_MIN_ROWS = 3
_MAX_ROWS = 300
_MIN_FILLED = 0.6
# Cells with more words than this are columns of prose.
_MAX_CELL_WORDS = 9
_MAX_PITCH = 3.2
_MARKER = re.compile(r"[^\w\s]{1,2}|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\[\d{1,3}\]|o")

Row = list[Segment]
Column = tuple[float, float]


@dataclass(slots=True)
class _Run:
    """Consecutive rows whose cells fit the same columns."""

    rows: list[Row]
    columns: list[Column]


def take_aligned_tables(rows: Sequence[Row]) -> list[Row | Table]:
    """Return the rows of a region, those that make a table replaced by it."""
    found: list[Row | Table] = []
    index = 0
    while index < len(rows):
        run = _longest_run(rows, index)
        table = _to_table(run) if run else None
        if run is None or table is None:
            found.append(rows[index])
            index += 1
            continue
        found.append(table)
        index += len(run.rows)
    return found


def find_columns(segments: Sequence[Segment]) -> list[Column]:
    """Return the ranges that segments, laid over one another, leave free between them."""
    columns: list[Column] = []
    for segment in sorted(segments, key=lambda segment: segment.left):
        if columns and segment.left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], segment.right))
        else:
            columns.append((segment.left, segment.right))
    return columns


def rows_by_columns(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[Cell]]:
    """Return rows as cells; a row that only goes on with cells above is joined to that."""
    cut: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [() for _ in columns]
        for segment in row:
            column = _column_of(segment, columns)
            cells[column] = (*cells[column], *segment.words)
        if cut and not cells[0] and sum(map(bool, cells)) == 1:
            cut[-1] = [(*above, *below) for above, below in zip(cut[-1], cells, strict=True)]
        else:
            cut.append(cells)
    return [[to_cell(cell) for cell in row] for row in cut]


def _column_of(segment: Segment, columns: Sequence[Column]) -> int:
    def overlap(index: int) -> float:
        left, right = columns[index]
        return min(segment.right, right) - max(segment.left, left)

    return max(range(len(columns)), key=overlap)


def _longest_run(rows: Sequence[Row], start: int) -> _Run | None:
    if len(rows[start]) < 2:
        return None
    run = _Run([rows[start]], find_columns(rows[start]))
    for row in rows[start + 1 : start + _MAX_ROWS]:
        if not _follows(run.rows[-1], row):
            break
        columns = _widened(run.columns, row)
        is_continued = len(row) == 1 and columns is not None and len(columns) == len(run.columns)
        if columns is None or (len(row) == 1 and not is_continued):
            break
        if len(row) == 1 and row[0].left < run.columns[1][0]:
            break
        run.rows.append(row)
        run.columns = columns
    while len(run.rows[-1]) == 1:
        run.rows.pop()
    return run


def _follows(above: Row, row: Row) -> bool:
    pitch = row[0].baseline - above[0].baseline
    return 0 < pitch <= _MAX_PITCH * max(above[0].size, row[0].size)


def _widened(columns: list[Column], row: Row) -> list[Column] | None:
    """Return the columns with another row's cells in them; None where one spans several."""
    for segment in row:
        touched = [c for c in columns if segment.left <= c[1] and segment.right >= c[0]]
        if len(touched) > 1:
            return None
        widened = [c for c in columns if c not in touched]
        left = min([segment.left, *(c[0] for c in touched)])
        right = max([segment.right, *(c[1] for c in touched)])
        columns = sorted([*widened, (left, right)])
    return columns


def _to_table(run: _Run) -> Table | None:
    full = [row for row in run.rows if len(row) > 1]
    filled = sum(map(len, full))
    if len(full) < _MIN_ROWS or filled < _MIN_FILLED * len(full) * len(run.columns):
        return None
    words = median(len(segment.words) for row in full for segment in row)
    firsts = [row[0].text for row in full]
    # Set in a typewriter's font, it is a listing, and its spaces are kept as they are.
    if all(segment.is_monospaced for row in full for segment in row):
        return None
    is_list = len(run.columns) == 2 and all(_MARKER.fullmatch(first) for first in firsts)
    if is_list or words > _MAX_CELL_WORDS:
        return None
    return make_table(rows_by_columns(run.rows, run.columns))
