"""Applies a recipe to a page: values by its selectors, each read and proved as any other is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.extract.fields.candidates import Candidate
from cinder.extract.fields.flat_page import Element
from cinder.extract.fields.gathering import flatten_page
from cinder.extract.fields.grounding import Grounder
from cinder.extract.fields.matching import Match, Slot
from cinder.extract.fields.values import Reading, read_value
from cinder.extract.fields.wanted import FieldKind, Wanted, read_schema
from cinder.extract.html_tree import document_base, parse_html
from cinder.extract.recipes.element_text import label_before, read_element
from cinder.extract.recipes.selectors import ElementIndex, parse_selector
from cinder.model.document import Json
from cinder.model.extracted_data import FieldValue, Method, Path
from cinder.model.recipe import FieldRule, ListRule, Locator, Recipe

MAX_RECORDS = 1_000
# Of more elements that one selector means, none is the one.
_MAX_SAYING_THE_SAME = 20
_MAX_LABEL_CHARS = 100


@dataclass(frozen=True, slots=True)
class Applied:
    """What a recipe found on a page, and for which of its rules nothing."""

    values: tuple[FieldValue, ...]
    missed: tuple[FieldRule | ListRule, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    field: Wanted
    reading: Reading
    label: str
    anchor: str = ""


class RecipeReader:
    """Reads one page by recipes for one schema."""

    def __init__(
        self, html: str, markdown: str | None, *, url: str, schema: Mapping[str, Json]
    ) -> None:
        """Parse a page; the arguments are those of `extract_fields`."""
        tree = parse_html(html)
        self.base = document_base(tree, url)
        self.index = ElementIndex(flatten_page(tree))
        self.root, _ = read_schema(schema)
        self._grounder = Grounder(markdown, html, url)

    def apply(self, recipe: Recipe) -> Applied:
        """Return the values that the page holds where a recipe says; none that it does not hold."""
        values: list[FieldValue] = []
        missed: list[FieldRule | ListRule] = []
        for rule in recipe.rules:
            found = self.read(rule)
            values += found
            if not found:
                missed.append(rule)
        return Applied(tuple(values), tuple(missed))

    def read(self, rule: FieldRule | ListRule) -> list[FieldValue]:
        """Return the values that a rule gives on the page, those that the page proves."""
        wanted = wanted_at(self.root, rule.path)
        if wanted is None:
            return []
        if isinstance(rule, ListRule):
            found = list(self._read_list(rule, wanted))
        else:
            reading = self.read_field(rule, wanted)
            found = [] if reading is None else [_found(rule, rule.path, wanted, reading)]
        return [value for each in found if (value := self._prove(each)).is_grounded]

    def read_field(
        self, rule: FieldRule, wanted: Wanted, within: Element | None = None
    ) -> Reading | None:
        """Return what a rule gives on the page or in a record; None where its locators differ."""
        if not wanted.is_scalar:
            return None
        field = read_as(wanted, rule.format)
        readings = [self._read_by(locator, field, within) for locator in rule.locators]
        told = [reading for reading in readings if reading is not None]
        if not told or any(reading.value != told[0].value for reading in told):
            return None
        return told[0]

    def _read_list(self, rule: ListRule, wanted: Wanted) -> Iterator[_Found]:
        selector = parse_selector(rule.selector)
        if selector is None or wanted.kind is not FieldKind.ARRAY:
            return
        records = self.index.select(selector, limit=MAX_RECORDS)
        if rule.label:
            records = self._under_label(records, rule.label)
        seen: set[str] = set()
        for record in records[rule.skipped :]:
            found = list(self._read_record(rule, wanted.item, record))
            key = str([(each.path, each.reading.value) for each in found])
            if not found or key in seen:
                continue
            for each in found:
                path = (*rule.path, len(seen), *each.path)
                anchor = found[0].reading.quote
                yield _Found(path, each.field, each.reading, each.label, anchor)
            seen.add(key)

    def _under_label(self, records: Sequence[Element], label: str) -> list[Element]:
        holders = {each.parent for each in records if each.parent >= 0}
        page = self.index.page
        labelled = {each for each in holders if label_before(page, page.elements[each]) == label}
        return [each for each in records if each.parent in labelled]

    def _read_record(self, rule: ListRule, item: Wanted, record: Element) -> Iterator[_Found]:
        for field in rule.fields:
            wanted = wanted_at(item, field.path)
            reading = self.read_field(field, wanted, record) if wanted else None
            if wanted is not None and reading is not None:
                yield _found(field, field.path, wanted, reading)

    def _read_by(self, locator: Locator, wanted: Wanted, within: Element | None) -> Reading | None:
        """Return what the elements say that a locator means, if they all say the same."""
        texts = [
            text
            for element in self._elements(locator, within)
            if (text := read_element(self.index.page, element, locator)) is not None
        ]
        readings = [read_value(wanted, text, self.base) for text in dict.fromkeys(texts)]
        told = [reading for reading in readings if reading is not None]
        if not told or len(told) < len(readings):
            return None
        return told[0] if all(each.value == told[0].value for each in told) else None

    def _elements(self, locator: Locator, within: Element | None) -> Sequence[Element]:
        if not locator.selector:
            return [] if within is None else [within]
        selector = parse_selector(locator.selector)
        if selector is None:
            return []
        # The words around it tell apart what the selector does not.
        is_told_apart = bool(locator.label or locator.before)
        limit = MAX_RECORDS if is_told_apart else _MAX_SAYING_THE_SAME + 1
        found = self.index.select(selector, within, limit)
        return found if is_told_apart or len(found) <= _MAX_SAYING_THE_SAME else []

    def _prove(self, found: _Found) -> FieldValue:
        candidate = Candidate(
            text=found.reading.quote, label=(), method=Method.RECIPE, said=found.label
        )
        match = Match(Slot(found.field), candidate, found.reading, 1.0)
        evidence = self._grounder.prove(match, found.anchor)
        return FieldValue(path=found.path, value=found.reading.value, evidence=(evidence,))


def read_as(wanted: Wanted, format_: str) -> Wanted:
    """Return a field as one of another format, in which its values were given."""
    return replace(wanted, format=format_) if format_ else wanted


def wanted_at(root: Wanted, path: Sequence[str]) -> Wanted | None:
    """Return the field that names lead to, or None where the schema has none there."""
    for name in path:
        found = next((child for child in root.children if child.name == name), None)
        if found is None or root.kind is not FieldKind.OBJECT:
            return None
        root = found
    return root


def _found(rule: FieldRule, path: Path, wanted: Wanted, reading: Reading) -> _Found:
    first = rule.locators[0]
    label = (first.label or first.selector or "record")[:_MAX_LABEL_CHARS]
    return _Found(path, wanted, reading, label)
