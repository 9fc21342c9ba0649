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
)
from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.labelled_values import is_label, name_of_record, without_colon
from cinder.extraction.synonyms import words_of
from cinder.models.extraction import Method

# A row of labels, and as many records as are read.
MAX_ROWS = 1_001
MAX_COLUMNS = 30
_PAIR_COLUMNS = 2
_MIN_RECORDS = 1


@dataclass(frozen=True, slots=True)
class RecordCell:
    """A cell: its text, whether it is marked as a label, and its element."""

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
        """Whether every cell is marked as a label."""
        return bool(self.cells) and all(cell.is_header for cell in self.cells)


def read_rows(page: FlatPage, table: PageElement) -> list[RecordRow]:
    """Return the rows of a table that are its own, as far as one looks."""
    rows: list[RecordRow] = []
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


def _read_row(page: FlatPage, row: PageElement) -> RecordRow:
    cells = [each for each in page.children_of(row) if each.tag in ("td", "th")][:MAX_COLUMNS]
    above = page.elements[row.parent].tag if row.parent >= 0 else ""
    return RecordRow(tuple(_read_cell(page, cell) for cell in cells), row, is_head=above == "thead")


def _read_cell(page: FlatPage, cell: PageElement) -> RecordCell:
    text = page.text_of(cell)
    children = page.children_of(cell)
    is_bold = len(children) == 1 and not cell.has_own_text and children[0].tag in ("b", "strong")
    return RecordCell(text, cell.tag == "th" or (is_bold and bool(text)), cell)


def read_table(page: FlatPage, table: PageElement) -> tuple[list[Candidate], list[ElementRange]]:
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
        return found, [ElementRange(row.element.index, row.element.end) for row in body]
    return [each for row in rows for each in _pairs(row)], []


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


def _under_head(head: RecordRow, row: RecordRow) -> Iterator[Candidate]:
    for name, cell in zip(head.cells, row.cells, strict=False):
        if cell.text and name.text:
            yield _candidate(name.text, cell, is_record_only=True)


def _pairs(row: RecordRow) -> Iterator[Candidate]:
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


def _candidate(label: str, cell: RecordCell, *, is_record_only: bool = False) -> Candidate:
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


MAX_GROUPS = 300
MAX_RECORDS = 1_000
# Of all groups together: groups within groups share their elements.
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
    page: FlatPage, finds: CandidateIndex, table_rows: list[list[ElementRange]]
) -> list[RecordGroup]:
    """Return the groups of records of a page, in document order, within bounds."""
    groups: list[RecordGroup] = []
    left = _MAX_ALL_RECORDS
    for spans, first in _all_spans(page, table_rows):
        if len(groups) >= MAX_GROUPS or left <= 0:
            break
        groups.append(_group(page, finds, spans[:left], first))
        left -= len(spans)
    return groups


def repeated_candidates(groups: Iterable[RecordGroup]) -> set[int]:
    """Return the identities of candidates that several records of one group have alike."""
    found: set[int] = set()
    for group in groups:
        counts = Counter(key for record in group.records for key in _labels_of(record))
        found.update(
            id(each)
            for record in group.records
            for each in record.candidates
            if counts[(each.method, each.label)] > 1
        )
    return found


def _labels_of(record: Entity) -> set[object]:
    return {(each.method, each.label) for each in record.candidates}


def _all_spans(
    page: FlatPage, table_rows: list[list[ElementRange]]
) -> Iterator[tuple[list[ElementRange], PageElement]]:
    for spans in table_rows:
        if spans:
            yield spans, _table_of(page, spans[0])
    for holder in page.elements:
        for spans in _alike_spans(page, holder):
            yield spans, page.elements[spans[0].first]


def _table_of(page: FlatPage, row: ElementRange) -> PageElement:
    element = page.elements[row.first]
    while element.tag != "table" and element.parent >= 0:
        element = page.elements[element.parent]
    return element


def _alike_spans(page: FlatPage, holder: PageElement) -> Iterator[list[ElementRange]]:
    children = page.children_of(holder)
    if len(children) < _MIN_ALIKE:
        return
    alike: dict[tuple[str, str], list[PageElement]] = {}
    for child in children:
        if child.tag not in _NEVER_RECORDS and child.stop > child.start:
            alike.setdefault((child.tag, _look(page, child)), []).append(child)
    for (tag, _), members in alike.items():
        if tag in _HEADINGS:
            if len(members) >= _MIN_HEADED:
                yield _headed_spans(members, holder)
        elif len(members) >= _MIN_ALIKE:
            yield [ElementRange(each.index, each.end) for each in members[:MAX_RECORDS]]


def _look(page: FlatPage, element: PageElement) -> str:
    """Return what elements of one list share: the first class, or the tags of what they hold."""
    if element.tag == "li":
        return ""
    names = element.classes.split()
    if names:
        return names[0]
    return " ".join(child.tag for child in page.children_of(element)[:3])


def _headed_spans(headings: list[PageElement], holder: PageElement) -> list[ElementRange]:
    """Return the stretches from each heading up to the next."""
    ends = [*(each.index for each in headings[1:]), holder.end]
    pairs = zip(headings, ends, strict=True)
    return [ElementRange(heading.index, end) for heading, end in pairs][:MAX_RECORDS]


def _group(
    page: FlatPage, finds: CandidateIndex, spans: list[ElementRange], first: PageElement
) -> RecordGroup:
    said = _label_before(page, first)
    return RecordGroup(
        records=tuple(_record(page, finds, span) for span in spans[:MAX_RECORDS]),
        label=words_of(said),
        said=said,
        is_chrome=first.is_chrome,
    )


def _record(page: FlatPage, finds: CandidateIndex, span: ElementRange) -> Entity:
    name = name_of_record(page, span.first, span.end)
    own: list[Candidate] = [name] if name is not None else []
    return Entity(
        candidates=(*own, *finds.within(span)[:_MAX_CANDIDATES]),
        lists=tuple(finds.lists_within(span)[:_MAX_CANDIDATES]),
        anchor=name.text if name is not None else "",
    )


def _label_before(page: FlatPage, element: PageElement) -> str:
    """Return the heading that a list stands under, or its caption."""
    for inner in page.children_of(element)[:1]:
        if inner.tag == "caption":
            return page.text_of(inner, _MAX_LABEL_CHARS)
    for _ in range(_MAX_LOOKS_BACK):
        if element.parent < 0:
            break
        before = page.elements[element.parent].children
        place = before.index(element.index) if len(before) <= MAX_RECORDS else 0
        for index in reversed(before[max(0, place - _MAX_LOOKS_BACK) : place]):
            other = page.elements[index]
            if other.tag in _LABEL_TAGS or _is_bold_line(page, other):
                return page.text_of(other, _MAX_LABEL_CHARS)
        element = page.elements[element.parent]
    return ""


def _is_bold_line(page: FlatPage, element: PageElement) -> bool:
    if element.has_own_text or len(element.children) != 1:
        return False
    return page.elements[element.children[0]].tag in ("b", "strong")
