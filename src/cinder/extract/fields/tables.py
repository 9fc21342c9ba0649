"""What tables say: pairs of a label and a value, and records under a row of labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.extract.fields.candidates import Candidate, Span
from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.labels import is_label, without_colon
from cinder.extract.fields.words import words_of
from cinder.model.extracted_data import Method

# A row of labels, and as many records as are read.
MAX_ROWS = 1_001
MAX_COLUMNS = 30
_PAIR_COLUMNS = 2
_MIN_RECORDS = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, whether it is marked as a label, and its element."""

    text: str
    is_header: bool
    element: Element


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    cells: tuple[Cell, ...]
    element: Element
    is_head: bool

    @property
    def is_all_headers(self) -> bool:
        """Whether every cell is marked as a label."""
        return bool(self.cells) and all(cell.is_header for cell in self.cells)


def read_rows(page: FlatPage, table: Element) -> list[Row]:
    """Return the rows of a table that are its own, as far as one looks."""
    rows: list[Row] = []
    index = table.index + 1
    while index < table.end and len(rows) < MAX_ROWS:
        element = page.elements[index]
        if element.tag == "table":
            index = element.end
            continue
        if element.tag == "tr":
            rows.append(_read_row(page, element))
            index = element.end
            continue
        index += 1
    return [row for row in rows if any(cell.text for cell in row.cells)]


def _read_row(page: FlatPage, row: Element) -> Row:
    cells = [each for each in page.children_of(row) if each.tag in ("td", "th")][:MAX_COLUMNS]
    above = page.elements[row.parent].tag if row.parent >= 0 else ""
    return Row(tuple(_read_cell(page, cell) for cell in cells), row, is_head=above == "thead")


def _read_cell(page: FlatPage, cell: Element) -> Cell:
    text = page.text_of(cell)
    children = page.children_of(cell)
    is_bold = len(children) == 1 and not cell.has_own_text and children[0].tag in ("b", "strong")
    return Cell(text, cell.tag == "th" or (is_bold and bool(text)), cell)


def read_table(page: FlatPage, table: Element) -> tuple[list[Candidate], list[Span]]:
    """Return what a table says, and the records that its rows are."""
    rows = read_rows(page, table)
    if not rows:
        return [], []
    head = _head_of(rows)
    if head is not None:
        body = [row for row in rows if row.element.index > head.element.index]
        found = [each for row in body for each in _under_head(head, row)]
        if len(head.cells) == _PAIR_COLUMNS:
            found += [each for row in body for each in _pairs(row)]
        return found, [Span(row.element.index, row.element.end) for row in body]
    return [each for row in rows for each in _pairs(row)], []


def _head_of(rows: Sequence[Row]) -> Row | None:
    """Return the row that names the columns."""
    first = rows[0]
    if len(first.cells) < _PAIR_COLUMNS or len(rows) <= _MIN_RECORDS:
        return None
    if first.is_head or first.is_all_headers:
        return first
    is_wide = len(first.cells) > _PAIR_COLUMNS
    looks_so = all(is_label(cell.text) and not _has_digit(cell.text) for cell in first.cells)
    others = rows[1:6]
    has_figures = any(_has_digit(cell.text) for row in others for cell in row.cells)
    has_row_labels = any(row.cells and row.cells[0].is_header for row in others)
    return first if is_wide and looks_so and has_figures and not has_row_labels else None


def _under_head(head: Row, row: Row) -> Iterator[Candidate]:
    for name, cell in zip(head.cells, row.cells, strict=False):
        if cell.text and name.text:
            yield _candidate(name.text, cell, is_record_only=True)


def _pairs(row: Row) -> Iterator[Candidate]:
    """Yield label and value of a row: two cells, or several pairs of them side by side."""
    cells = row.cells
    is_paired = len(cells) > _PAIR_COLUMNS and len(cells) % _PAIR_COLUMNS == 0
    if is_paired and not all(c.is_header for c in cells[::2]):
        return
    if len(cells) != _PAIR_COLUMNS and not is_paired:
        return
    for label, value in zip(cells[::2], cells[1::2], strict=True):
        if is_label(label.text) and value.text and not value.is_header:
            yield _candidate(label.text, value)


def _candidate(label: str, cell: Cell, *, is_record_only: bool = False) -> Candidate:
    said = without_colon(label)
    return Candidate(
        text=cell.text,
        label=words_of(said),
        said=said,
        method=Method.TABLE,
        at=cell.element.index,
        is_chrome=cell.element.is_chrome,
        is_record_only=is_record_only,
    )


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)
