"""Gathers all that a page offers: linked data, declarations, pairs, names, records."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.extract.cleaning import remove_invisible
from cinder.extract.elements import Elements
from cinder.extract.fields.candidates import Candidate, CandidateList, Finds, Group, Span, Thing
from cinder.extract.fields.declared import read_declared_values, read_keywords
from cinder.extract.fields.flat_page import MAX_ELEMENTS, Element, FlatPage
from cinder.extract.fields.linked_items import Item, JsonLdReader, sibling_groups
from cinder.extract.fields.microdata import read_microdata
from cinder.extract.fields.named_elements import (
    read_address,
    read_attributes,
    read_heading,
    read_named,
    read_typed,
)
from cinder.extract.fields.pairs import (
    is_heading,
    read_alternating,
    read_definitions,
    read_headed,
    read_lines,
    read_named_lists,
    read_rows_of_two,
)
from cinder.extract.fields.postal_addresses import address_parts
from cinder.extract.fields.records import find_groups, repeated_candidates
from cinder.extract.fields.tables import read_table
from cinder.extract.html_tree import document_base, parse_html
from cinder.extract.metadata.dates import find_date, has_year
from cinder.extract.metadata.declared_elements import read_declared
from cinder.extract.metadata.page_metadata import read_metadata
from cinder.extract.visibility.completion import complete_body
from cinder.extract.visibility.style_rules import read_hiding_rules
from cinder.model.extracted_data import Method

MAX_CANDIDATES = 60_000
# So many values under one label are those of a list, and say nothing of the page.
_MAX_DISTINCT = 2
_MAX_DATE_CHARS = 100
_DATE_LENGTH = len("2025-01-31")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredPage:
    """What a page offers, apart by where it comes from."""

    items: tuple[Item, ...]
    """The things that linked data describes."""
    shown: Thing
    """What the page shows and declares."""
    groups: tuple[Group, ...]
    """Lists of records, wherever they stand."""
    base: can_ada.URL | None
    warnings: tuple[str, ...] = ()


def gather_page(html: str, url: str) -> GatheredPage:
    """Gather what a page offers; what no visitor sees is left out, but for linked data."""
    tree = parse_html(html)
    base = document_base(tree, url)
    elements = Elements.of_page(tree)
    metadata = read_metadata(elements, base, url)
    meta = read_declared(elements).meta
    objects = [each for each in metadata.json_ld if isinstance(each, dict)]
    items = [*JsonLdReader(objects).read(), *read_microdata(tree)]
    items = [item for item in items if not item.is_part_of_site]
    page = flatten_page(tree)
    finds, table_rows = _find_all(page)
    groups = find_groups(page, finds, table_rows)
    declared = read_declared_values(
        metadata, meta, _headings(page), partial(_as_written, html, page)
    )
    return GatheredPage(
        items=tuple(items),
        shown=Thing(
            candidates=(*declared, *_of_the_page(finds.candidates, groups)),
            lists=(*read_keywords(metadata), *finds.lists),
        ),
        groups=(*sibling_groups(items), *groups),
        base=base,
        warnings=_warnings(page),
    )


def _headings(page: FlatPage) -> set[str]:
    return {page.text_of(element) for element in page.elements if element.tag == "h1"}


def _as_written(html: str, page: FlatPage, value: str) -> str | None:
    """Return how a page writes a value that metadata was made of; None where it is put together."""
    if value in html or escape(value, quote=False) in html or escape(value) in html:
        return value
    day = value[:_DATE_LENGTH]
    if find_date(day) != day:
        return None
    # With a time and a zone that are written otherwise.
    if written := re.search(rf"(?<!\d){day}(?:T[\d:.+Z-]{{0,30}})?(?![\w-])", html):
        return written[0]
    for element in page.elements:
        if not element.holds_blocks and page.length_of(element) <= _MAX_DATE_CHARS:
            text = page.text_of(element)
            if has_year(text) and find_date(text) == day:
                return text
    return None


def flatten_page(tree: LexborHTMLParser) -> FlatPage:
    """Return the elements of a page that visitors see; the rest is taken out of the tree."""
    elements = Elements.of_page(tree)
    body = tree.body or elements.root
    rules = read_hiding_rules(elements)
    complete_body(elements.within(body))
    remove_invisible(Elements(body), rules)
    return FlatPage(body)


def _warnings(page: FlatPage) -> tuple[str, ...]:
    if not page.is_cut:
        return ()
    return (f"Only the first {MAX_ELEMENTS} elements of the page were looked through.",)


def _find_all(page: FlatPage) -> tuple[Finds, list[list[Span]]]:
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    table_rows: list[list[Span]] = []
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
        _read_element(page, element, found, lists)
    found += list(address_parts(found))
    found.sort(key=lambda each: each.at)
    lists.sort(key=lambda each: each.at)
    return Finds(found, lists), table_rows


def _read_element(
    page: FlatPage, element: Element, found: list[Candidate], lists: list[CandidateList]
) -> None:
    found += read_attributes(element)
    if element.stop == element.start:
        return
    found += read_heading(page, element)
    found += read_address(page, element)
    found += read_named(page, element)
    if element.is_block and not element.holds_blocks and element.tag not in ("td", "th", "dt"):
        found += read_lines(page, element)
    if element.is_block and not element.holds_blocks:
        found += read_typed(page, element)
    if element.children:
        found += read_rows_of_two(page, element)
        found += read_alternating(page, element)
        lists += read_named_lists(page, element)
    if is_heading(page, element):
        pairs, listed = read_headed(page, element)
        found += pairs
        lists += listed


def _of_the_page(found: Sequence[Candidate], groups: Sequence[Group]) -> Iterator[Candidate]:
    """Yield what speaks of the page as a whole: nothing that the records of a list say alike."""
    repeated = repeated_candidates(groups)
    kept = [each for each in found if not each.is_record_only and id(each) not in repeated]
    texts: dict[object, set[str]] = defaultdict(set)
    for each in kept:
        if len(said := texts[(each.method, each.label, each.is_chrome)]) <= _MAX_DISTINCT:
            said.add(each.text)
    for each in kept:
        # Which of two prices is meant, their form alone does not tell.
        limit = 1 if each.method is Method.TYPED else _MAX_DISTINCT
        if len(texts[(each.method, each.label, each.is_chrome)]) <= limit:
            yield each
