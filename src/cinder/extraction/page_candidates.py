"""Collects all candidates that a page offers, from its HTML or from its markdown."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import islice

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.extraction.candidates import (
    Candidate,
    CandidateIndex,
    CandidateList,
    ElementRange,
    Entity,
    RecordGroup,
    address_parts,
    labelled_candidate,
)
from cinder.extraction.flat_page import MAX_ELEMENTS, FlatPage
from cinder.extraction.labelled_values import (
    is_heading,
    is_label,
    labelled_parts,
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
from cinder.extraction.record_lists import find_groups, read_table, repeated_candidates
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
from cinder.html.metadata.dates import find_date, has_year
from cinder.html.metadata.declared import read_declared
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, document_base, parse_html, parse_http_url
from cinder.html.visibility.hiding_rules import read_hiding_rules
from cinder.models.extraction import Method
from cinder.text.sentences import plain_text

MAX_CANDIDATES = 60_000
# More distinct values under one label belong to a list, not to the page.
_MAX_DISTINCT = 2
_MAX_DATE_CHARS = 100
_DATE_LENGTH = len("2025-01-31")


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
    index, table_rows = _collect_all(page)
    groups = find_groups(page, index, table_rows)
    headings = {page.text_of(element) for element in page.elements if element.tag == "h1"}
    declared = read_declared_values(metadata, meta, headings, partial(_as_written, html, page))
    cut = f"Only the first {MAX_ELEMENTS} elements of the page were looked through."
    return PageCandidates(
        items=tuple(items),
        shown=Entity(
            candidates=(*declared, *_of_the_page(index.candidates, groups)),
            lists=(*read_keywords(metadata), *index.lists),
        ),
        groups=(*sibling_groups(items), *groups),
        base=base,
        warnings=(cut,) if page.is_cut else (),
    )


def _as_written(html: str, page: FlatPage, value: str) -> str | None:
    """Return how a page writes a value of its metadata; None if it was composed."""
    if value in html or escape(value, quote=False) in html or escape(value) in html:
        return value
    day = value[:_DATE_LENGTH]
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


def _collect_all(page: FlatPage) -> tuple[CandidateIndex, list[list[ElementRange]]]:
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    table_rows: list[list[ElementRange]] = []
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
    return CandidateIndex(found, lists), table_rows


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
_PAIR = 2
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
                label = words_of(heading)
                groups.append(RecordGroup(records=records, label=label, label_text=heading))
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
            label = words_of(heading)
            lists.append(CandidateList(items=tuple(items), label=label, label_text=heading))
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
    is_row = len(head) == _PAIR and any(character.isdigit() for character in head[1])
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
