"""Finds tables whose cells are ruled: by lines that cross, or by level lines alone."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cinder.extract.pdf.aligned_tables import find_columns, rows_by_columns
from cinder.extract.pdf.layout import Box, PageLayout, Rule, Word
from cinder.extract.pdf.lines import split_rows, split_segments
from cinder.extract.pdf.tables import Cell, Table, make_table, to_cell

_SNAP = 2.5
_REACH = 3.0
# A page with more lines than this, once pieces are joined, is a drawing.
_MAX_RULES = 600
# Level rules that begin and end together, and nothing upright: cells stand closer than in prose.
_TIGHT_GAP = 0.6


@dataclass(slots=True)
class _Frame:
    """Rules that touch one another."""

    level: list[Rule]
    upright: list[Rule]


def find_ruled_tables(page: PageLayout) -> tuple[list[Table], list[Word]]:
    """Return a page's ruled tables, and the words that stand in none of them."""
    level, upright = _join_pieces(page.level_rules), _join_pieces(page.upright_rules)
    left = list(page.words)
    if not level or len(level) + len(upright) > _MAX_RULES:
        return [], left
    tables: list[Table] = []
    for frame in _frames(level, upright):
        box = _frame_box(frame)
        inside = [word for word in left if box.holds(word.box.middle)]
        table = _read_frame(frame, box, inside) if len(inside) > 2 else None
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            left = [word for word in left if id(word) not in taken]
    return tables, left


def _join_pieces(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules whole that were drawn cell by cell or twice."""
    joined: list[Rule] = []
    lanes: list[tuple[float, list[Rule]]] = []
    for rule in sorted(rules, key=lambda rule: rule.position):
        if not lanes or rule.position - lanes[-1][0] > _SNAP:
            lanes.append((rule.position, []))
        lanes[-1][1].append(rule)
    for position, lane in lanes:
        lane.sort(key=lambda rule: rule.start)
        start, end = lane[0].start, lane[0].end
        for rule in lane[1:]:
            if rule.start > end + _REACH:
                joined.append(Rule(position, start, end))
                start, end = rule.start, rule.end
            end = max(end, rule.end)
        joined.append(Rule(position, start, end))
    return joined


def _frames(level: list[Rule], upright: list[Rule]) -> list[_Frame]:
    """Return the rules by what they touch; level ones that touch nothing by their extent."""
    frames: list[_Frame] = []
    waiting = list(upright)
    free = list(level)
    while waiting:
        frame = _Frame([], [waiting.pop()])
        for rule in frame.upright:
            crossing = [other for other in free if _crosses(other, rule)]
            free = [other for other in free if not _crosses(other, rule)]
            frame.level += crossing
            # The list grows while it is walked: whatever these reach belongs here, too.
            reached = [other for other in waiting if any(_crosses(c, other) for c in crossing)]
            waiting = [other for other in waiting if not any(_crosses(c, other) for c in crossing)]
            frame.upright += reached
        if len(frame.level) > 1:
            frames.append(frame)
    return frames + _level_frames(free)


def _crosses(level: Rule, upright: Rule) -> bool:
    return (
        level.start - _REACH <= upright.position <= level.end + _REACH
        and upright.start - _REACH <= level.position <= upright.end + _REACH
    )


def _level_frames(level: list[Rule]) -> list[_Frame]:
    frames: list[_Frame] = []
    for rule in sorted(level, key=lambda rule: rule.position):
        for frame in frames:
            first = frame.level[0]
            if abs(first.start - rule.start) <= _REACH and abs(first.end - rule.end) <= _REACH:
                frame.level.append(rule)
                break
        else:
            frames.append(_Frame([rule], []))
    return [frame for frame in frames if len(frame.level) > 2]


def _frame_box(frame: _Frame) -> Box:
    xs = [x for rule in frame.level for x in (rule.start, rule.end)]
    ys = [rule.position for rule in frame.level]
    xs += [rule.position for rule in frame.upright]
    ys += [y for rule in frame.upright for y in (rule.start, rule.end)]
    return Box(min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1)


def _read_frame(frame: _Frame, box: Box, words: list[Word]) -> Table | None:
    inner = [r for r in frame.upright if box.left + 5 < r.position < box.right - 5]
    if not inner:
        return _read_by_alignment(words)
    xs = _edges([rule.position for rule in frame.upright], box.left, box.right)
    ys = _edges([rule.position for rule in frame.level], box.top, box.bottom)
    return _read_grid(frame, xs, ys, words)


def _edges(positions: list[float], first: float, last: float) -> list[float]:
    """Return where cells begin and end; a table may be open at its sides."""
    edges = [first]
    for position in sorted(positions):
        if position - edges[-1] > _SNAP + 1:
            edges.append(position)
    return edges if last - edges[-1] <= _SNAP + 1 else [*edges, last]


def _read_by_alignment(words: list[Word]) -> Table | None:
    rows = [split_segments(row, _TIGHT_GAP) for row in split_rows(words)]
    columns = find_columns([s for row in rows if len(row) > 1 for s in row])
    if len(columns) < 2 or sum(len(row) > 1 for row in rows) < 2:
        return None
    return make_table(rows_by_columns(rows, columns))


def _read_grid(frame: _Frame, xs: list[float], ys: list[float], words: list[Word]) -> Table | None:
    bands: list[list[Word]] = [[] for _ in pairwise(ys)]
    for word in words:
        x, y = word.box.middle
        bands[_first_row(frame, ys, _index(ys, y), x)].append(word)
    rows: list[list[Cell]] = []
    for (top, bottom), band in zip(pairwise(ys), bands, strict=True):
        firsts = _first_columns(frame, xs, (top + bottom) / 2)
        rows += _read_band(band, xs, firsts)
    return make_table(rows)


def _index(edges: list[float], position: float) -> int:
    return min(max(bisect_right(edges, position) - 1, 0), len(edges) - 2)


def _first_row(frame: _Frame, ys: list[float], row: int, x: float) -> int:
    """Return the first of the rows that a cell reaches over: no rule parts it from those above."""
    while row > 0 and not any(
        abs(rule.position - ys[row]) <= _SNAP + 1 and rule.start - 1 <= x <= rule.end + 1
        for rule in frame.level
    ):
        row -= 1
    return row


def _first_columns(frame: _Frame, xs: list[float], middle: float) -> list[int]:
    """Return, for each column of a row, the first of those that it is one cell with."""
    firsts = [0]
    for column in range(1, len(xs) - 1):
        is_divided = any(
            abs(rule.position - xs[column]) <= _SNAP + 1 and rule.start <= middle <= rule.end
            for rule in frame.upright
        )
        firsts.append(column if is_divided else firsts[-1])
    return firsts


def _read_band(words: list[Word], xs: list[float], firsts: list[int]) -> list[list[Cell]]:
    """Return the row between two level rules, or the rows, where only columns are ruled."""
    lines = split_rows(words)
    cut = [_read_row(line, xs, firsts) for line in lines]
    starts = sum(bool(row[0]) and sum(map(bool, row)) > 1 for row in cut)
    if len(cut) > 2 and starts >= 0.7 * len(cut):
        return cut
    return [_read_row(words, xs, firsts)]


def _read_row(words: Sequence[Word], xs: list[float], firsts: list[int]) -> list[Cell]:
    cells: list[list[Word]] = [[] for _ in firsts]
    for word in words:
        cells[firsts[_index(xs, word.box.middle[0])]].append(word)
    return [to_cell(cell) for cell in cells]
