"""All candidates of a page: single values, and the records of its lists."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import islice

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.extraction.candidates import (
    Candidate,
    CandidateList,
    Entity,
    RecordGroup,
    address_parts,
    labelled_candidate,
)
from cinder.extraction.flat_page import MAX_ELEMENTS, FlatPage, PageElement
from cinder.extraction.labelled_values import (
    is_bold,
    is_heading,
    is_label,
    labelled_parts,
    name_of_record,
    read_address,
    read_alternating,
    read_attributes,
    read_definitions,
    read_headed,
    read_heading,
    read_lines,
    read_named,
    read_named_lists,
    read_rows_of_two,
    read_typed,
)
from cinder.extraction.structured_data import (
    JsonLdReader,
    LinkedDataItem,
    read_declared_values,
    read_keywords,
    read_microdata,
    sibling_groups,
)
from cinder.extraction.synonyms import words_of
from cinder.html.cleaning import remove_invisible
from cinder.html.deferred_content import place_deferred_content
from cinder.html.metadata.dates import DATE_LENGTH, find_date, has_year
from cinder.html.metadata.declared import read_declared
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, document_base, parse_html, parse_http_url
from cinder.html.visibility.hiding_rules import read_hiding_rules
from cinder.models.extraction import Method
from cinder.text.sentences import plain_text

# A row of labels, and the maximum of records.
MAX_ROWS = 1_001
MAX_COLUMNS = 30
_PAIR = 2
_MIN_RECORDS = 1


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


def read_rows(page: FlatPage, table: PageElement) -> list[RecordRow]:
    """Return the rows of a table, without those of nested tables."""
    rows: list[RecordRow] = []
    index = table.index + 1
    while index < table.end and len(rows) < MAX_ROWS:
        element = page.elements[index]
        if element.tag == "tr":
            cells = []
            inner = [each for each in page.children_of(element) if each.tag in ("td", "th")]
            for cell in inner[:MAX_COLUMNS]:
                text = page.text_of(cell)
                is_header = cell.tag == "th" or (is_bold(page, cell) and bool(text))
                cells.append(RecordCell(text, is_header, cell))
            above = page.elements[element.parent].tag if element.parent >= 0 else ""
            rows.append(RecordRow(tuple(cells), element, is_head=above == "thead"))
        index = element.end if element.tag in ("table", "tr") else index + 1
    return [row for row in rows if any(cell.text for cell in row.cells)]


def read_table(page: FlatPage, table: PageElement) -> tuple[list[Candidate], list[range]]:
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
    if len(head.cells) == _PAIR:
        found += [each for row in body for each in _pairs(row)]
    return found, [range(row.element.index, row.element.end) for row in body]


def _head_of(rows: Sequence[RecordRow]) -> RecordRow | None:
    """Return the row that names the columns."""
    first = rows[0]
    if len(first.cells) < _PAIR or len(rows) <= _MIN_RECORDS:
        return None
    if first.is_head or all(cell.is_header for cell in first.cells):
        return first
    is_wide = len(first.cells) > _PAIR
    looks_so = all(
        is_label(cell.text) and not any(map(str.isdigit, cell.text)) for cell in first.cells
    )
    others = rows[1:6]
    has_figures = any(any(map(str.isdigit, cell.text)) for row in others for cell in row.cells)
    has_row_labels = any(row.cells and row.cells[0].is_header for row in others)
    return first if is_wide and looks_so and has_figures and not has_row_labels else None


def _pairs(row: RecordRow) -> Iterator[Candidate]:
    """Yield the values of a row of label and value, or of several such pairs."""
    cells = row.cells
    is_paired = len(cells) > _PAIR and len(cells) % _PAIR == 0
    if is_paired and not all(c.is_header for c in cells[::2]):
        return
    if len(cells) != _PAIR and not is_paired:
        return
    for label, value in zip(cells[::2], cells[1::2], strict=True):
        if is_label(label.text) and value.text and not value.is_header:
            yield labelled_candidate(label.text, value.text, Method.TABLE, value.element)


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
    page: FlatPage,
    candidates: Sequence[Candidate],
    lists: Sequence[CandidateList],
    table_rows: list[list[range]],
) -> list[RecordGroup]:
    """Return the groups of records on a page, in document order, within bounds.

    Candidates and lists are sorted by their elements.
    """
    positions, list_positions = [each.at for each in candidates], [each.at for each in lists]
    groups: list[RecordGroup] = []
    left = _MAX_ALL_RECORDS
    for spans, first in _all_spans(page, table_rows):
        if len(groups) >= MAX_GROUPS or left <= 0:
            break
        records = []
        for span in spans[:left][:MAX_RECORDS]:
            name = name_of_record(page, span.start, span.stop)
            inside = candidates[_slice(positions, span)][:_MAX_CANDIDATES]
            records.append(
                Entity(
                    candidates=(name, *inside) if name is not None else tuple(inside),
                    lists=tuple(lists[_slice(list_positions, span)][:_MAX_CANDIDATES]),
                    anchor=name.text if name is not None else "",
                )
            )
        groups.append(
            RecordGroup(
                records=tuple(records),
                label=words_of(_label_before(page, first)),
                is_chrome=first.is_chrome,
            )
        )
        left -= len(spans)
    return groups


def _slice(positions: list[int], span: range) -> slice:
    return slice(bisect_left(positions, span.start), bisect_left(positions, span.stop))


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
    page: FlatPage, table_rows: list[list[range]]
) -> Iterator[tuple[list[range], PageElement]]:
    """Yield the ranges of each group's records, and the element that its label is looked for at."""
    for spans in table_rows:
        if spans:
            element = page.elements[spans[0].start]
            while element.tag != "table" and element.parent >= 0:
                element = page.elements[element.parent]
            yield spans, element
    for holder in page.elements:
        for spans in _alike_spans(page, holder):
            yield spans, page.elements[spans[0].start]


def _alike_spans(page: FlatPage, holder: PageElement) -> Iterator[list[range]]:
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
            yield [range(each.index, each.end) for each in members[:MAX_RECORDS]]
        elif tag in _HEADINGS and len(members) >= _MIN_HEADED:
            ends = [*(each.index for each in members[1:]), holder.end]
            pairs = zip(members, ends, strict=True)
            yield [range(heading.index, end) for heading, end in pairs][:MAX_RECORDS]


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
            if other.tag in _LABEL_TAGS or is_bold(page, other):
                return page.text_of(other, _MAX_LABEL_CHARS)
        element = page.elements[element.parent]
    return ""


MAX_CANDIDATES = 60_000
# More distinct values under one label belong to a list, not to the page.
_MAX_DISTINCT = 2
_MAX_DATE_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCandidates:
    """The candidates of a page, by their source."""

    items: tuple[LinkedDataItem, ...]
    """The items of linked data."""
    shown: Entity
    """The candidates that the page shows and declares."""
    groups: tuple[RecordGroup, ...]
    """All lists of records."""
    base: can_ada.URL | None
    warnings: tuple[str, ...] = ()


def collect_from_html(html: str, url: str) -> PageCandidates:
    """Collect the candidates of a page; of invisible parts, only linked data."""
    tree = parse_html(html)
    base = document_base(tree, url)
    elements = Elements.of_page(tree)
    metadata = read_metadata(elements, base, url)
    meta = read_declared(elements).meta
    objects = [each for each in metadata.json_ld if isinstance(each, dict)]
    items = [*JsonLdReader(objects).read(), *read_microdata(tree)]
    items = [item for item in items if not item.is_part_of_site]
    page = flatten_page(tree)
    found, lists, table_rows = _collect_all(page)
    groups = find_groups(page, found, lists, table_rows)
    headings = {page.text_of(element) for element in page.elements if element.tag == "h1"}
    declared = read_declared_values(metadata, meta, headings, partial(_as_written, html, page))
    cut = f"Only the first {MAX_ELEMENTS} elements of the page were looked through."
    return PageCandidates(
        items=tuple(items),
        shown=Entity(
            candidates=(*declared, *_of_the_page(found, groups)),
            lists=(*read_keywords(metadata), *lists),
        ),
        groups=(*sibling_groups(items), *groups),
        base=base,
        warnings=(cut,) if page.is_cut else (),
    )


def _as_written(html: str, page: FlatPage, value: str) -> str | None:
    """Return how a page writes a value of its metadata; None if it was composed."""
    if value in html or escape(value, quote=False) in html or escape(value) in html:
        return value
    day = value[:DATE_LENGTH]
    if find_date(day) != day:
        return None
    # With a time and a time zone that are written in another way.
    if written := re.search(rf"(?<!\d){day}(?:T[\d:.+Z-]{{0,30}})?(?![\w-])", html):
        return written[0]
    for element in page.elements:
        if not element.holds_blocks and page.length_of(element) <= _MAX_DATE_CHARS:
            text = page.text_of(element)
            if has_year(text) and find_date(text) == day:
                return text
    return None


def flatten_page(tree: LexborHTMLParser) -> FlatPage:
    """Return the visible elements of a page; the others are removed from the tree."""
    elements = Elements.of_page(tree)
    body = tree.body or elements.root
    rules = read_hiding_rules(elements)
    place_deferred_content(elements.within(body))
    remove_invisible(Elements(body), rules)
    return FlatPage(body)


def _collect_all(
    page: FlatPage,
) -> tuple[list[Candidate], list[CandidateList], list[list[range]]]:
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    table_rows: list[list[range]] = []
    for element in page.elements:
        if len(found) >= MAX_CANDIDATES:
            break
        if element.tag == "table":
            cells, rows = read_table(page, element)
            found += cells
            table_rows.append(rows)
        elif element.tag == "dt":
            pairs, listed = read_definitions(page, element)
            found += pairs
            lists += listed
        found += read_attributes(element)
        if element.stop == element.start:
            continue
        found += read_heading(page, element)
        found += read_address(page, element)
        found += read_named(page, element)
        if element.is_block and not element.holds_blocks:
            if element.tag not in ("td", "th", "dt"):
                found += read_lines(page, element)
            found += read_typed(page, element)
        if element.children:
            found += read_rows_of_two(page, element)
            found += read_alternating(page, element)
            lists += read_named_lists(page, element)
        if is_heading(page, element):
            pairs, listed = read_headed(page, element)
            found += pairs
            lists += listed
    found += list(address_parts(found))
    found.sort(key=lambda each: each.at)
    lists.sort(key=lambda each: each.at)
    return found, lists, table_rows


def _of_the_page(found: Sequence[Candidate], groups: Sequence[RecordGroup]) -> Iterator[Candidate]:
    """Yield the candidates about the page as a whole: none that the records of a list share."""
    repeated = repeated_candidates(groups)
    kept = [each for each in found if not each.is_record_only and id(each) not in repeated]
    by_label: dict[object, set[str]] = defaultdict(set)
    for each in kept:
        texts = by_label[(each.method, each.label, each.is_chrome)]
        if len(texts) <= _MAX_DISTINCT:
            texts.add(each.text)
    for each in kept:
        # The form of a text alone does not decide between two prices.
        limit = 1 if each.method is Method.TYPED else _MAX_DISTINCT
        if len(by_label[(each.method, each.label, each.is_chrome)]) <= limit:
            yield each


MAX_LINES = 50_000
_MAX_LINE_CHARS = 2_000
_MAX_ROWS = 1_000
_RULE = re.compile(r"\|?\s{0,9}:?-{2,99}:?\s{0,9}(?:\|[\s:|-]{0,999})?\Z")
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_ITEM = re.compile(r"\s{0,20}(?:[-*+]|\d{1,4}[.)])\s+(\S.*)")
_CELL = re.compile(r"(?<!\\)\|")


def collect_from_markdown(markdown: str, url: str) -> PageCandidates:
    """Collect the candidates in the lines of a markdown text."""
    lines = [line[:_MAX_LINE_CHARS] for line in markdown.split("\n")[:MAX_LINES]]
    titles = (match for line in lines if (match := _HEADING.match(line)) and match[1] == "#")
    found = [
        labelled_candidate("name", plain_text(title[2]), Method.HEADING)
        for title in islice(titles, 1)
    ]
    lists: list[CandidateList] = []
    groups: list[RecordGroup] = []
    for heading, block in _blocks(lines):
        if len(block) > 1 and "|" in block[0] and _RULE.match(block[1].strip()):
            cells, records = _read_table(block)
            found += cells
            if records:
                groups.append(RecordGroup(records=records, label=words_of(heading)))
            continue
        items: list[Candidate] = []
        for line in block:
            item = _ITEM.match(line)
            text = plain_text(item[1] if item else line)
            for label_text, value in labelled_parts(text):
                found.append(labelled_candidate(label_text, value, Method.LABEL))
            if item and text:
                items.append(labelled_candidate(heading, text, Method.HEADING))
        if items and is_label(heading):
            lists.append(CandidateList(items=tuple(items), label=words_of(heading)))
    return PageCandidates(
        items=(),
        shown=Entity(candidates=tuple(found), lists=tuple(lists)),
        groups=tuple(groups),
        base=parse_http_url(url),
    )


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the runs of lines without a blank line, each with the heading above it."""
    heading, block = "", list[str]()
    for line in (*lines, ""):
        title = _HEADING.match(line)
        if line.strip() and not title:
            block.append(line)
            continue
        if block:
            yield heading, block
            block = []
        if title:
            heading = plain_text(title[2])


def _read_table(block: Sequence[str]) -> tuple[list[Candidate], tuple[Entity, ...]]:
    head = _cells(block[0])
    rows = [_cells(line) for line in block[2 : _MAX_ROWS + 2]]
    # In a table without labels, the header row is the first row of data.
    is_row = len(head) == _PAIR and any(map(str.isdigit, head[1]))
    pairs = [
        labelled_candidate(row[0], row[1], Method.TABLE)
        for row in ([head, *rows] if is_row else rows)
        if len(row) == _PAIR and row[1] and is_label(row[0])
    ]
    records = tuple(
        Entity(
            candidates=tuple(
                labelled_candidate(name, text, Method.TABLE)
                for name, text in zip(head, row, strict=False)
                if name and text
            ),
            anchor=row[0] if row else "",
        )
        for row in rows
    )
    return pairs, records


def _cells(line: str) -> list[str]:
    return [plain_text(cell) for cell in _CELL.split(line.strip().strip("|"))]
