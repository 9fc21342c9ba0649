"""Finds lists of records on a page: table rows, cards and items that are built alike."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cinder.extraction.candidates import (
    Candidate,
    CandidateIndex,
    ElementRange,
    Entity,
    RecordGroup,
    labelled_candidate,
)
from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.labelled_values import is_label, name_of_record
from cinder.extraction.synonyms import words_of
from cinder.models.extraction import Method

# A row of labels, and the maximum of records.
MAX_ROWS = 1_001
MAX_COLUMNS = 30
_PAIR_COLUMNS = 2
_MIN_RECORDS = 1
_BOLD = ("b", "strong")


@dataclass(frozen=True, slots=True)
class RecordCell:
    """A cell: its text, whether it is a header cell, and its element."""

    text: str
    is_header: bool
    element: PageElement


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A row of a table."""

    cells: tuple[RecordCell, ...]
    element: PageElement
    is_head: bool

    @property
    def is_all_headers(self) -> bool:
        """Whether every cell is a header cell."""
        return bool(self.cells) and all(cell.is_header for cell in self.cells)


def read_rows(page: FlatPage, table: PageElement) -> list[RecordRow]:
    """Return the rows of a table, without those of nested tables."""
    rows: list[RecordRow] = []
    index = table.index + 1
    while index < table.end and len(rows) < MAX_ROWS:
        element = page.elements[index]
        if element.tag == "tr":
            rows.append(_read_row(page, element))
        index = element.end if element.tag in ("table", "tr") else index + 1
    return [row for row in rows if any(cell.text for cell in row.cells)]


def _read_row(page: FlatPage, row: PageElement) -> RecordRow:
    cells = []
    for cell in [each for each in page.children_of(row) if each.tag in ("td", "th")][:MAX_COLUMNS]:
        text, children = page.text_of(cell), page.children_of(cell)
        is_bold = len(children) == 1 and not cell.has_own_text and children[0].tag in _BOLD
        cells.append(RecordCell(text, cell.tag == "th" or (is_bold and bool(text)), cell))
    above = page.elements[row.parent].tag if row.parent >= 0 else ""
    return RecordRow(tuple(cells), row, is_head=above == "thead")


def read_table(page: FlatPage, table: PageElement) -> tuple[list[Candidate], list[ElementRange]]:
    """Return the candidates of a table, and the rows that are records."""
    rows = read_rows(page, table)
    head = _head_of(rows) if rows else None
    if head is None:
        return [each for row in rows for each in _pairs(row)], []
    body = [row for row in rows if row.element.index > head.element.index]
    found = [
        labelled_candidate(name.text, cell.text, Method.TABLE, cell.element, is_record_only=True)
        for row in body
        for name, cell in zip(head.cells, row.cells, strict=False)
        if cell.text and name.text
    ]
    if len(head.cells) == _PAIR_COLUMNS:
        found += [each for row in body for each in _pairs(row)]
    return found, [ElementRange(row.element.index, row.element.end) for row in body]


def _head_of(rows: Sequence[RecordRow]) -> RecordRow | None:
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


def _pairs(row: RecordRow) -> Iterator[Candidate]:
    """Yield the values of a row of label and value, or of several such pairs."""
    cells = row.cells
    is_paired = len(cells) > _PAIR_COLUMNS and len(cells) % _PAIR_COLUMNS == 0
    if is_paired and not all(c.is_header for c in cells[::2]):
        return
    if len(cells) != _PAIR_COLUMNS and not is_paired:
        return
    for label, value in zip(cells[::2], cells[1::2], strict=True):
        if is_label(label.text) and value.text and not value.is_header:
            yield labelled_candidate(label.text, value.text, Method.TABLE, value.element)


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


MAX_GROUPS = 300
MAX_RECORDS = 1_000
# Of all groups together: nested groups share their elements.
_MAX_ALL_RECORDS = 6_000
_MAX_CANDIDATES = 80
_MIN_ALIKE = 2
_MIN_HEADED = 3
_HEADINGS = ("h2", "h3", "h4", "h5")
_LABEL_TAGS = frozenset((*_HEADINGS, "h1", "h6", "caption", "legend", "summary"))
_NEVER_RECORDS = frozenset(
    ("br", "hr", "td", "th", "option", "dt", "dd", "col", "thead", "tbody", "p", "b", "img", "tr")
)
_MAX_LOOKS_BACK = 3
_MAX_LABEL_CHARS = 200


def find_groups(
    page: FlatPage, index: CandidateIndex, table_rows: list[list[ElementRange]]
) -> list[RecordGroup]:
    """Return the groups of records on a page, in document order, within bounds."""
    groups: list[RecordGroup] = []
    left = _MAX_ALL_RECORDS
    for spans, first in _all_spans(page, table_rows):
        if len(groups) >= MAX_GROUPS or left <= 0:
            break
        records = []
        for span in spans[:left][:MAX_RECORDS]:
            name = name_of_record(page, span.first, span.end)
            candidates = index.within(span)[:_MAX_CANDIDATES]
            records.append(
                Entity(
                    candidates=(name, *candidates) if name is not None else tuple(candidates),
                    lists=tuple(index.lists_within(span)[:_MAX_CANDIDATES]),
                    anchor=name.text if name is not None else "",
                )
            )
        label = _label_before(page, first)
        groups.append(
            RecordGroup(
                records=tuple(records),
                label=words_of(label),
                label_text=label,
                is_chrome=first.is_chrome,
            )
        )
        left -= len(spans)
    return groups


def repeated_candidates(groups: Iterable[RecordGroup]) -> set[int]:
    """Return the identities of candidates whose label occurs in several records of one group."""
    found: set[int] = set()
    for group in groups:
        counts = Counter(
            key
            for record in group.records
            for key in {(each.method, each.label) for each in record.candidates}
        )
        found.update(
            id(each)
            for record in group.records
            for each in record.candidates
            if counts[(each.method, each.label)] > 1
        )
    return found


def _all_spans(
    page: FlatPage, table_rows: list[list[ElementRange]]
) -> Iterator[tuple[list[ElementRange], PageElement]]:
    """Yield the ranges of each group's records, and the element that its label is looked for at."""
    for spans in table_rows:
        if spans:
            element = page.elements[spans[0].first]
            while element.tag != "table" and element.parent >= 0:
                element = page.elements[element.parent]
            yield spans, element
    for holder in page.elements:
        for spans in _alike_spans(page, holder):
            yield spans, page.elements[spans[0].first]


def _alike_spans(page: FlatPage, holder: PageElement) -> Iterator[list[ElementRange]]:
    """Yield the ranges of children with the same tag and look, or from one heading to the next."""
    if len(holder.children) < _MIN_ALIKE:
        return
    alike: dict[tuple[str, str], list[PageElement]] = {}
    for child in page.children_of(holder):
        if child.tag not in _NEVER_RECORDS and child.stop > child.start:
            # The items of one list share the first class, or the tags of their children.
            names = child.classes.split()[:1] or [each.tag for each in page.children_of(child)[:3]]
            look = "" if child.tag == "li" else " ".join(names)
            alike.setdefault((child.tag, look), []).append(child)
    for (tag, _), members in alike.items():
        if tag not in _HEADINGS and len(members) >= _MIN_ALIKE:
            yield [ElementRange(each.index, each.end) for each in members[:MAX_RECORDS]]
        elif tag in _HEADINGS and len(members) >= _MIN_HEADED:
            ends = [*(each.index for each in members[1:]), holder.end]
            pairs = zip(members, ends, strict=True)
            yield [ElementRange(heading.index, end) for heading, end in pairs][:MAX_RECORDS]


def _label_before(page: FlatPage, element: PageElement) -> str:
    """Return the heading before a list, or its caption."""
    for inner in page.children_of(element)[:1]:
        if inner.tag == "caption":
            return page.text_of(inner, _MAX_LABEL_CHARS)
    for _ in range(_MAX_LOOKS_BACK):
        if element.parent < 0:
            break
        siblings = page.elements[element.parent].children
        position = siblings.index(element.index) if len(siblings) <= MAX_RECORDS else 0
        for index in reversed(siblings[max(0, position - _MAX_LOOKS_BACK) : position]):
            other = page.elements[index]
            children = page.children_of(other)
            is_bold = len(children) == 1 and not other.has_own_text and children[0].tag in _BOLD
            if other.tag in _LABEL_TAGS or is_bold:
                return page.text_of(other, _MAX_LABEL_CHARS)
        element = page.elements[element.parent]
    return ""
