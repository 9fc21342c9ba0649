"""Tables of a page: a grid of cells, and what every way of finding one has in common."""

from collections.abc import Sequence
from dataclasses import dataclass

from cinder.extract.pdf.layout import Word
from cinder.extract.pdf.lines import split_rows

# Longer texts stand in boxes, not in tables.
_MAX_CELL_CHARS = 1_500

Cell = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, each as many words as stand in it, and where on the page it is."""

    rows: tuple[tuple[Cell, ...], ...]
    left: float
    top: float
    right: float
    bottom: float


def to_cell(words: Sequence[Word]) -> Cell:
    """Return the words of a cell, line by line."""
    return tuple(word for row in split_rows(words) for word in row)


def make_table(rows: Sequence[Sequence[Cell]]) -> Table | None:
    """Return the table that rows of cells make, without what is empty; None if it is none."""
    filled = [row for row in rows if any(row)]
    columns = [
        column
        for column in range(max((len(row) for row in filled), default=0))
        if any(row[column] for row in filled)
    ]
    cells = [tuple(row[column] for column in columns) for row in filled]
    if len(cells) < 2 or len(columns) < 2 or not _is_of_table_size(cells):
        return None
    boxes = [word.box for row in cells for cell in row for word in cell]
    return Table(
        rows=tuple(cells),
        left=min(box.left for box in boxes),
        top=min(box.top for box in boxes),
        right=max(box.right for box in boxes),
        bottom=max(box.bottom for box in boxes),
    )


def _is_of_table_size(rows: Sequence[Sequence[Cell]]) -> bool:
    lengths = [sum(len(word.text) for word in cell) for row in rows for cell in row]
    return sum(map(bool, lengths)) >= 3 and max(lengths) <= _MAX_CELL_CHARS
