"""Applies recipes to a page, and checks their values against those of rule-based extraction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.extraction.candidates import Candidate
from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.extraction.filling import extract_fields
from cinder.extraction.flat_page import PageElement
from cinder.extraction.grounding import Grounder
from cinder.extraction.matching import FieldMatch, FieldSlot
from cinder.extraction.merging import MAX_EVIDENCE, build_data
from cinder.extraction.page_candidates import MAX_RECORDS, flatten_page
from cinder.extraction.recipes.element_selectors import ElementIndex, parse_selector
from cinder.extraction.recipes.element_text import label_before, read_element
from cinder.extraction.values import ParsedValue, parse_value
from cinder.html.bombs import find_bomb
from cinder.html.tree import collapse, document_base, parse_html
from cinder.models.document import Json
from cinder.models.extraction import Conflict, ExtractedData, FieldPath, FieldValue, Method
from cinder.models.recipe import (
    MAX_RECIPES,
    SURE_SCORE,
    FieldRule,
    ListRule,
    Locator,
    Recipe,
    RecipeTrials,
    Trial,
)

# A selector that matches more elements identifies none of them.
_MAX_SAME_VALUE = 20
_MAX_LABEL_CHARS = 100


@dataclass(frozen=True, slots=True)
class AppliedRecipe:
    """The values that a recipe found on a page, and its rules that found none."""

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
    """Applies recipes for one schema to one page."""

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
        """Return the grounded values that a recipe finds on the page."""
        values: list[FieldValue] = []
        missed: list[FieldRule | ListRule] = []
        for rule in recipe.rules:
            found = self.read(rule)
            values += found
            if not found:
                missed.append(rule)
        return AppliedRecipe(tuple(values), tuple(missed))

    def read(self, rule: FieldRule | ListRule) -> list[FieldValue]:
        """Return the grounded values that a rule finds on the page."""
        spec = field_spec_at(self.root, rule.path)
        if spec is None:
            return []
        if isinstance(rule, ListRule):
            found = list(self._read_list(rule, spec))
        else:
            parsed = self.read_field(rule, spec)
            found = [] if parsed is None else [_found(rule, spec, parsed)]
        values = []
        for each in found:
            candidate = Candidate(
                text=each.parsed.quote, label=(), method=Method.RECIPE, label_text=each.label
            )
            match = FieldMatch(FieldSlot(each.field), candidate, each.parsed, 1.0)
            evidence = self._grounder.prove(match, each.anchor)
            values.append(FieldValue(path=each.path, value=each.parsed.value, evidence=(evidence,)))
        return [value for value in values if value.is_grounded]

    def read_field(
        self, rule: FieldRule, spec: FieldSpec, within: PageElement | None = None
    ) -> ParsedValue | None:
        """Return the value of a rule on the page or in a record; None if its locators differ."""
        if not spec.is_scalar:
            return None
        field = with_format(spec, rule.format)
        return _agreed([self._read_by(locator, field, within) for locator in rule.locators])

    def _read_list(self, rule: ListRule, spec: FieldSpec) -> Iterator[_Found]:
        selector = parse_selector(rule.selector)
        if selector is None or spec.kind is not FieldKind.ARRAY:
            return
        records = self.index.select(selector, limit=MAX_RECORDS)
        if rule.label:
            page = self.index.page
            holders = {record.parent for record in records if record.parent >= 0}
            labelled = {n for n in holders if label_before(page, page.elements[n]) == rule.label}
            records = [record for record in records if record.parent in labelled]
        seen: set[str] = set()
        for record in records[rule.skipped :]:
            found = [
                _found(field, field_spec, parsed)
                for field in rule.fields
                if (field_spec := field_spec_at(spec.item, field.path))
                and (parsed := self.read_field(field, field_spec, record))
            ]
            key = str([(each.path, each.parsed.value) for each in found])
            if not found or key in seen:
                continue
            for each in found:
                path = (*rule.path, len(seen), *each.path)
                yield replace(each, path=path, anchor=found[0].parsed.quote)
            seen.add(key)

    def _read_by(
        self, locator: Locator, spec: FieldSpec, within: PageElement | None
    ) -> ParsedValue | None:
        """Return the value of the elements that a locator matches, if they all have the same."""
        elements = [] if within is None else [within]
        if locator.selector:
            selector = parse_selector(locator.selector)
            # A label or the words before a value distinguish elements that the selector does not.
            is_distinguished = bool(locator.label or locator.before)
            limit = MAX_RECORDS if is_distinguished else _MAX_SAME_VALUE + 1
            elements = self.index.select(selector, within, limit) if selector else []
            if not is_distinguished and len(elements) > _MAX_SAME_VALUE:
                return None
        texts = [
            text
            for element in elements
            if (text := read_element(self.index.page, element, locator)) is not None
        ]
        parsed = [parse_value(spec, text, self.base) for text in dict.fromkeys(texts)]
        return None if None in parsed else _agreed(parsed)


def _agreed(parsed: Sequence[ParsedValue | None]) -> ParsedValue | None:
    found = [each for each in parsed if each is not None]
    return found[0] if found and all(each.value == found[0].value for each in found) else None


def with_format(spec: FieldSpec, format_: str) -> FieldSpec:
    """Return a field with the format that its values were learned in."""
    return replace(spec, format=format_) if format_ else spec


def field_spec_at(root: FieldSpec, path: Sequence[str]) -> FieldSpec | None:
    """Return the field at a path of names, or None if the schema has none there."""
    for name in path:
        found = next((child for child in root.children if child.name == name), None)
        if found is None or root.kind is not FieldKind.OBJECT:
            return None
        root = found
    return root


def _found(rule: FieldRule, spec: FieldSpec, parsed: ParsedValue) -> _Found:
    first = rule.locators[0]
    label = (first.label or first.selector or "record")[:_MAX_LABEL_CHARS]
    return _Found(rule.path, spec, parsed, label)


def judge_trial(recipe: Recipe, applied: AppliedRecipe, found: ExtractedData) -> Trial:
    """Return whether a recipe held: most rules must find a value, and none a wrong one."""
    if any(is_contradicted(rule, applied, found) for rule in recipe.rules):
        return Trial.DISAGREED
    hits = len(recipe.rules) - len(applied.missed)
    return Trial.HELD if hits and hits * 2 >= len(recipe.rules) else Trial.MISSED


def is_contradicted(
    rule: FieldRule | ListRule, applied: AppliedRecipe, found: ExtractedData
) -> bool:
    """Whether rule-based extraction is sure of another value than a recipe's rule gives.

    Of a list, most sure values must be among those of the rule, in any order.
    """
    given = list(values_under(applied.values, rule.path))
    sure = [each for each in values_under(found.values, rule.path) if is_sure(each)]
    if isinstance(rule, ListRule):
        names = {field.path for field in rule.fields}
        compared = [each for each in sure if each.path[len(rule.path) + 1 :] in names]
        keys = {_key(each.value) for each in given}
        known = sum(_key(each.value) in keys for each in compared)
        return bool(given) and known * 2 < len(compared)
    return any(not is_same_value(one.value, other.value) for one in given for other in sure)


def values_under(values: Sequence[FieldValue], path: FieldPath) -> Iterator[FieldValue]:
    """Yield the values at a path and below it."""
    return (each for each in values if each.path[: len(path)] == path)


def is_same_value(one: Json, other: Json) -> bool:
    """Whether two values are equal, ignoring white space in texts."""
    return _key(one) == _key(other)


def _key(value: Json) -> tuple[bool, Json]:
    return isinstance(value, bool), collapse(value) if isinstance(value, str) else value


def is_sure(value: FieldValue) -> bool:
    """Whether a value is grounded and its label fits with a high score."""
    return value.is_grounded and value.score >= SURE_SCORE


def extract_with_recipes(
    html: str | None,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    recipes: Sequence[Recipe],
) -> RecipeTrials:
    """Fill a schema from a page: with the first recipe that holds, and with rules for the rest.

    The arguments are those of `extract_fields`; recipes apply to HTML only.
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
    """Return the values of a recipe, and of rule-based extraction for the other fields."""
    by_path = {each.path: each for each in found.values}
    filled = [rule for rule in recipe.rules if rule not in applied.missed]
    replaced = [rule.path for rule in filled]

    def is_replaced(path: FieldPath) -> bool:
        return any(path[: len(rule)] == rule for rule in replaced)

    own = [_with_evidence_of(each, by_path.get(each.path)) for each in applied.values]
    rest = [each for each in found.values if not is_replaced(each.path)]
    added = [each for rule in recipe.lists for each in _further(rule, applied, found)]
    values = sorted((*own, *rest, *added), key=lambda each: _position(root, each.path))
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
    """Yield further fields that rule-based extraction has for the records of a recipe."""
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


def _with_evidence_of(value: FieldValue, other: FieldValue | None) -> FieldValue:
    """Return a value with the evidence of an equal one, which comes first if it is sure."""
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
    """Yield the fields without a value, including those of a recipe's records."""
    with_value = {schema_path(each.path) for each in values}
    named = dict.fromkeys((*found.missing, *(schema_path(each.path) for each in found.values)))
    for rule in filled:
        spec = field_spec_at(root, rule.path)
        if isinstance(rule, ListRule) and spec is not None:
            named |= dict.fromkeys(child.path for child in spec.item.children if child.is_scalar)
    for path in named:
        below = (f"{path}.", f"{path}[]")
        if not any(each == path or each.startswith(below) for each in with_value):
            yield path


def _position(spec: FieldSpec, path: FieldPath) -> tuple[int, ...]:
    """Return a sort key for the values of a field, in the order of the schema's fields."""
    positions: list[int] = []
    for part in path:
        if isinstance(part, int):
            positions.append(part)
            spec = spec.item if spec.children else spec
        else:
            names = [child.name for child in spec.children]
            positions.append(names.index(part) if part in names else len(names))
            spec = spec.children[positions[-1]] if part in names else spec
    return tuple(positions)
