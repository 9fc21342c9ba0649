"""Applies recipes to a page, and checks their values against what the rules find."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.extraction.candidates import Candidate
from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.extraction.filling import extract_fields
from cinder.extraction.flat_page import PageElement
from cinder.extraction.grounding import Grounder
from cinder.extraction.matching import FieldMatch, FieldSlot
from cinder.extraction.merging import MAX_EVIDENCE, build_data
from cinder.extraction.page_candidates import flatten_page
from cinder.extraction.recipes.element_selectors import ElementIndex, parse_selector
from cinder.extraction.recipes.element_text import label_before, read_element
from cinder.extraction.values import ParsedValue, parse_value
from cinder.html.bombs import find_bomb
from cinder.html.tree import collapse, document_base, parse_html
from cinder.models.document import Json
from cinder.models.extraction import Conflict, ExtractedData, FieldPath, FieldValue, Method
from cinder.models.recipe import (
    MAX_RECIPES,
    FieldRule,
    ListRule,
    Locator,
    Recipe,
    RecipeTrials,
    Trial,
)

MAX_RECORDS = 1_000
# Of more elements that one selector means, none is the one.
_MAX_SAYING_THE_SAME = 20
_MAX_LABEL_CHARS = 100


@dataclass(frozen=True, slots=True)
class AppliedRecipe:
    """What a recipe found on a page, and for which of its rules nothing."""

    values: tuple[FieldValue, ...]
    missed: tuple[FieldRule | ListRule, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    path: FieldPath
    field: FieldSpec
    parsed: ParsedValue
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

    def apply(self, recipe: Recipe) -> AppliedRecipe:
        """Return the values that the page holds where a recipe says; none that it does not hold."""
        values: list[FieldValue] = []
        missed: list[FieldRule | ListRule] = []
        for rule in recipe.rules:
            found = self.read(rule)
            values += found
            if not found:
                missed.append(rule)
        return AppliedRecipe(tuple(values), tuple(missed))

    def read(self, rule: FieldRule | ListRule) -> list[FieldValue]:
        """Return the values that a rule gives on the page, those that the page proves."""
        wanted = field_spec_at(self.root, rule.path)
        if wanted is None:
            return []
        if isinstance(rule, ListRule):
            found = list(self._read_list(rule, wanted))
        else:
            reading = self.read_field(rule, wanted)
            found = [] if reading is None else [_found(rule, rule.path, wanted, reading)]
        return [value for each in found if (value := self._prove(each)).is_grounded]

    def read_field(
        self, rule: FieldRule, wanted: FieldSpec, within: PageElement | None = None
    ) -> ParsedValue | None:
        """Return what a rule gives on the page or in a record; None where its locators differ."""
        if not wanted.is_scalar:
            return None
        field = with_format(wanted, rule.format)
        readings = [self._read_by(locator, field, within) for locator in rule.locators]
        told = [reading for reading in readings if reading is not None]
        if not told or any(reading.value != told[0].value for reading in told):
            return None
        return told[0]

    def _read_list(self, rule: ListRule, wanted: FieldSpec) -> Iterator[_Found]:
        selector = parse_selector(rule.selector)
        if selector is None or wanted.kind is not FieldKind.ARRAY:
            return
        records = self.index.select(selector, limit=MAX_RECORDS)
        if rule.label:
            records = self._under_label(records, rule.label)
        seen: set[str] = set()
        for record in records[rule.skipped :]:
            found = list(self._read_record(rule, wanted.item, record))
            key = str([(each.path, each.parsed.value) for each in found])
            if not found or key in seen:
                continue
            for each in found:
                path = (*rule.path, len(seen), *each.path)
                anchor = found[0].parsed.quote
                yield _Found(path, each.field, each.parsed, each.label, anchor)
            seen.add(key)

    def _under_label(self, records: Sequence[PageElement], label: str) -> list[PageElement]:
        holders = {each.parent for each in records if each.parent >= 0}
        page = self.index.page
        labelled = {each for each in holders if label_before(page, page.elements[each]) == label}
        return [each for each in records if each.parent in labelled]

    def _read_record(
        self, rule: ListRule, item: FieldSpec, record: PageElement
    ) -> Iterator[_Found]:
        for field in rule.fields:
            wanted = field_spec_at(item, field.path)
            reading = self.read_field(field, wanted, record) if wanted else None
            if wanted is not None and reading is not None:
                yield _found(field, field.path, wanted, reading)

    def _read_by(
        self, locator: Locator, wanted: FieldSpec, within: PageElement | None
    ) -> ParsedValue | None:
        """Return what the elements say that a locator means, if they all say the same."""
        texts = [
            text
            for element in self._elements(locator, within)
            if (text := read_element(self.index.page, element, locator)) is not None
        ]
        readings = [parse_value(wanted, text, self.base) for text in dict.fromkeys(texts)]
        told = [reading for reading in readings if reading is not None]
        if not told or len(told) < len(readings):
            return None
        return told[0] if all(each.value == told[0].value for each in told) else None

    def _elements(self, locator: Locator, within: PageElement | None) -> Sequence[PageElement]:
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
            text=found.parsed.quote, label=(), method=Method.RECIPE, label_text=found.label
        )
        match = FieldMatch(FieldSlot(found.field), candidate, found.parsed, 1.0)
        evidence = self._grounder.prove(match, found.anchor)
        return FieldValue(path=found.path, value=found.parsed.value, evidence=(evidence,))


def with_format(wanted: FieldSpec, format_: str) -> FieldSpec:
    """Return a field as one of another format, in which its values were given."""
    return replace(wanted, format=format_) if format_ else wanted


def field_spec_at(root: FieldSpec, path: Sequence[str]) -> FieldSpec | None:
    """Return the field that names lead to, or None where the schema has none there."""
    for name in path:
        found = next((child for child in root.children if child.name == name), None)
        if found is None or root.kind is not FieldKind.OBJECT:
            return None
        root = found
    return root


def _found(rule: FieldRule, path: FieldPath, wanted: FieldSpec, reading: ParsedValue) -> _Found:
    first = rule.locators[0]
    label = (first.label or first.selector or "record")[:_MAX_LABEL_CHARS]
    return _Found(path, wanted, reading, label)


# What the page's own rules found counts as beyond doubt from here on.
SURE_SCORE = 0.85


def judge_trial(recipe: Recipe, applied: AppliedRecipe, found: ExtractedData) -> Trial:
    """Return what a recipe's values show about it: most of them must be there, and none wrong."""
    if any(is_contradicted(rule, applied, found) for rule in recipe.rules):
        return Trial.DISAGREED
    hits = len(recipe.rules) - len(applied.missed)
    return Trial.HELD if hits and hits * 2 >= len(recipe.rules) else Trial.MISSED


def is_contradicted(
    rule: FieldRule | ListRule, applied: AppliedRecipe, found: ExtractedData
) -> bool:
    """Whether the page's own rules are sure of something else than a rule gives.

    Of records, most must be among those that the rule gives, wherever they stand.
    """
    told = list(values_under(applied.values, rule.path))
    sure = [each for each in values_under(found.values, rule.path) if is_sure(each)]
    if isinstance(rule, ListRule):
        names = {field.path for field in rule.fields}
        compared = [each for each in sure if each.path[len(rule.path) + 1 :] in names]
        given = {_key(each.value) for each in told}
        known = sum(_key(each.value) in given for each in compared)
        return bool(told) and known * 2 < len(compared)
    return any(not is_same_value(one.value, other.value) for one in told for other in sure)


def values_under(values: Sequence[FieldValue], path: FieldPath) -> Iterator[FieldValue]:
    """Yield the values at a path and beneath it."""
    return (each for each in values if each.path[: len(path)] == path)


def is_same_value(one: Json, other: Json) -> bool:
    """Whether two values are equal; white space of texts does not count."""
    return _key(one) == _key(other)


def _key(value: Json) -> tuple[bool, Json]:
    return isinstance(value, bool), collapse(value) if isinstance(value, str) else value


def is_sure(value: FieldValue) -> bool:
    """Whether the page proves a value, and what it is called fits beyond doubt."""
    return value.is_grounded and value.score >= SURE_SCORE


def extract_with_recipes(
    html: str | None,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    recipes: Sequence[Recipe],
) -> RecipeTrials:
    """Fill a schema from a page: by the first recipe that holds, and by rules for the rest.

    The arguments are those of `extract_fields`; a page that is no HTML is none for a recipe.
    """
    found = extract_fields(html, markdown, url=url, schema=schema)
    if html is None or find_bomb(html):
        return RecipeTrials(found, ())
    reader = RecipeReader(html, markdown, url=url, schema=schema)
    trials = []
    for recipe in recipes[:MAX_RECIPES]:
        applied = reader.apply(recipe)
        trials.append(judge_trial(recipe, applied, found))
        if trials[-1] is Trial.HELD:
            return RecipeTrials(_joined(reader.root, recipe, applied, found), tuple(trials))
    return RecipeTrials(found, tuple(trials))


def _joined(
    root: FieldSpec, recipe: Recipe, applied: AppliedRecipe, found: ExtractedData
) -> ExtractedData:
    """Return what a recipe found, with what only the page's own rules did."""
    by_path = {each.path: each for each in found.values}
    filled = [rule for rule in recipe.rules if rule not in applied.missed]
    replaced = [rule.path for rule in filled]

    def is_replaced(path: FieldPath) -> bool:
        return any(path[: len(rule)] == rule for rule in replaced)

    own = [_with_agreeing(each, by_path.get(each.path)) for each in applied.values]
    rest = [each for each in found.values if not is_replaced(each.path)]
    added = [each for rule in recipe.lists for each in _further(rule, applied, found)]
    values = sorted((*own, *rest, *added), key=_order_in(root))
    conflicts = [each for each in found.conflicts if not is_replaced(each.path)]
    conflicts += [
        Conflict(path=each.path, kept=each.value, other=other)
        for each in applied.values
        if (other := by_path.get(each.path)) and not is_same_value(other.value, each.value)
    ]
    return replace(
        found,
        data=build_data(values, found.data if found.data in ({}, []) else None),
        values=tuple(values),
        missing=tuple(_missing(root, filled, found, values)),
        conflicts=tuple(conflicts),
    )


def _further(rule: ListRule, applied: AppliedRecipe, found: ExtractedData) -> Iterator[FieldValue]:
    """Yield what else the page's own rules know of the records that a recipe found."""
    depth = len(rule.path) + 1
    own, others = _by_record(applied.values, rule.path), _by_record(found.values, rule.path)
    for record, fields in own.items():
        other = others.get(record, {})
        shared = [path for path in fields if path in other]
        if shared and all(is_same_value(fields[path].value, other[path].value) for path in shared):
            yield from (each for path, each in other.items() if path not in fields and path[depth:])


def _by_record(
    values: Sequence[FieldValue], path: FieldPath
) -> dict[FieldPath, dict[FieldPath, FieldValue]]:
    found: dict[FieldPath, dict[FieldPath, FieldValue]] = {}
    for each in values_under(values, path):
        found.setdefault(each.path[: len(path) + 1], {})[each.path] = each
    return found


def _with_agreeing(value: FieldValue, other: FieldValue | None) -> FieldValue:
    """Return a value with the evidence of both; what rules are sure of needs no recipe."""
    if other is None or not is_same_value(value.value, other.value):
        return value
    both = (other, value) if is_sure(other) else (value, other)
    evidence = [each for found in both for each in found.evidence]
    return replace(value, evidence=tuple(evidence[:MAX_EVIDENCE]))


def _missing(
    root: FieldSpec,
    filled: Sequence[FieldRule | ListRule],
    found: ExtractedData,
    values: Sequence[FieldValue],
) -> Iterator[str]:
    """Yield the fields without a value, those of the records that a recipe found among them."""
    told = {schema_path(each.path) for each in values}
    named = dict.fromkeys((*found.missing, *(schema_path(each.path) for each in found.values)))
    for rule in filled:
        wanted = field_spec_at(root, rule.path)
        if isinstance(rule, ListRule) and wanted is not None:
            named |= dict.fromkeys(each.path for each in wanted.item.children if each.is_scalar)
    for path in named:
        if not any(each == path or each.startswith((f"{path}.", f"{path}[]")) for each in told):
            yield path


def _order_in(root: FieldSpec) -> Callable[[FieldValue], tuple[int, ...]]:
    """Return what sorts values as the schema has their fields."""

    def place(value: FieldValue) -> tuple[int, ...]:
        wanted, places = root, []
        for part in value.path:
            if isinstance(part, int):
                places.append(part)
                wanted = wanted.item if wanted.children else wanted
            else:
                names = [child.name for child in wanted.children]
                places.append(names.index(part) if part in names else len(names))
                wanted = wanted.children[places[-1]] if part in names else wanted
        return tuple(places)

    return place
