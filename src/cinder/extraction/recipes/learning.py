"""Learns a recipe from a page and the values that were proved on it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.filling import extract_fields
from cinder.extraction.flat_page import PageElement
from cinder.extraction.labelled_values import is_label, split_label
from cinder.extraction.recipes.applying import (
    SURE_SCORE,
    AppliedRecipe,
    RecipeReader,
    field_spec_at,
    is_contradicted,
    is_same_value,
    with_format,
)
from cinder.extraction.recipes.element_selectors import (
    RecipeSelector,
    bare_selectors,
    labelled_record_selectors,
    labelled_selectors,
    named_selectors,
    parse_selector,
    placed_record_selectors,
    placed_selectors,
    record_selectors,
)
from cinder.extraction.recipes.element_text import (
    NodeFinder,
    NodeRef,
    cuts_around,
    label_before,
    read_element,
)
from cinder.extraction.values import parse_value
from cinder.html.bombs import find_bomb
from cinder.html.tree import collapse
from cinder.models.document import Json
from cinder.models.extraction import ExtractedData, FieldPath, FieldValue, Method
from cinder.models.recipe import FieldRule, ListRule, Locator, Recipe

# As what a text is read where the schema wants any.
_FORMATS = ("", "date", "date-time", "uri")
_MAX_TRIED = 60
_MAX_GAP = 20
_AFTER_LABELS = ("td", "dd")


class FieldLearner:
    """Learns rules for single values of a page."""

    def __init__(self, reader: RecipeReader) -> None:
        self._reader = reader
        self._index = reader.index

    def rules_for(
        self,
        path: tuple[str, ...],
        wanted: FieldSpec,
        value: FieldValue,
        places: Sequence[NodeRef],
        within: PageElement | None = None,
    ) -> Iterator[FieldRule]:
        """Yield rules that give a value, those first that are likely to hold on other pages."""
        parts = [(place, self._part(place, wanted, value)) for place in places]
        readable = [(place, part) for place, part in parts if part is not None]
        for ways in (self._sure_ways, self._weak_ways):
            for place, (part, format_) in readable:
                for locators in ways(place, part, within):
                    rule = FieldRule(path=path, locators=locators, format=format_)
                    if self._gives(rule, wanted, value.value, within):
                        yield rule

    def _sure_ways(
        self, place: NodeRef, part: Locator, within: PageElement | None
    ) -> Iterator[tuple[Locator, ...]]:
        """Yield locators by names and labels; both together where both are there."""
        element = place.element
        named = self._locators(place, part, named_selectors(self._index, element, within))
        label = "" if part.before else label_before(self._index.page, element)
        is_told_apart = bool(label or is_label_cut(part)) and not place.attribute
        selectors = labelled_selectors(element) if is_told_apart else ()
        labelled = list(self._locators(place, part, selectors, label=label))
        is_certain = label and (element.tag in _AFTER_LABELS or self._follows_colon(element))
        for locator in islice(named, _MAX_TRIED):
            if is_certain:
                yield locator, labelled[-1]
            yield (locator,)
        yield from ((each,) for each in labelled)

    def _follows_colon(self, element: PageElement) -> bool:
        before = self._index.page.text[max(0, element.start - _MAX_GAP) : element.start]
        return before.rstrip().endswith((":", "\uff1a"))

    def _weak_ways(
        self, place: NodeRef, part: Locator, within: PageElement | None
    ) -> Iterator[tuple[Locator, ...]]:
        element = place.element
        if within is element:
            yield (part,)
        elif not part.before and split_label(self._index.page.text_of(element)):
            # By its place alone, another labelled value would be taken for it.
            return
        for selectors in (
            bare_selectors(self._index, element, within),
            placed_selectors(self._index, element, within),
        ):
            for locator in islice(self._locators(place, part, selectors), _MAX_TRIED):
                yield (locator,)

    def _locators(
        self, place: NodeRef, part: Locator, selectors: Iterable[RecipeSelector], label: str = ""
    ) -> Iterator[Locator]:
        for selector in selectors:
            said = str(selector)
            # What of a page's names the language of selectors has no words for is left out.
            if parse_selector(said) == selector:
                yield Locator(
                    selector=said,
                    attribute=place.attribute,
                    label=label,
                    before=part.before,
                    after=part.after,
                )

    def _part(
        self, place: NodeRef, wanted: FieldSpec, value: FieldValue
    ) -> tuple[Locator, str] | None:
        """Return which part of an element's text is the value, and as what it is read."""
        for part in self._parts(place, value):
            text = read_element(self._index.page, place.element, part)
            for format_ in _FORMATS if _is_open(wanted) else ("",):
                reading = text and parse_value(
                    with_format(wanted, format_), text, self._reader.base
                )
                if reading and is_same_value(reading.value, value.value):
                    return part, format_
        return None

    def _parts(self, place: NodeRef, value: FieldValue) -> Iterator[Locator]:
        """Yield what of an element may be meant: after a label in it, all of it, or a part."""
        whole = Locator(selector="", attribute=place.attribute)
        text = read_element(self._index.page, place.element, whole) or ""
        quotes = [collapse(each.quote) for each in value.evidence]
        cuts = [
            Locator(selector="", before=cut[0], after=cut[1])
            for quote in (*quotes, collapse(str(value.value)))
            if quote and not place.attribute
            for cut in cuts_around(text, quote)
        ]
        labelled = [each for each in cuts if is_label_cut(each)]
        yield from labelled
        yield whole
        yield from (each for each in cuts if each not in labelled)

    def _gives(
        self, rule: FieldRule, wanted: FieldSpec, value: Json, within: PageElement | None
    ) -> bool:
        reading = self._reader.read_field(rule, wanted, within)
        return reading is not None and is_same_value(reading.value, value)


def is_label_cut(part: Locator) -> bool:
    """Whether the value stands after a label in its element's text."""
    return part.before.endswith((":", "\uff1a")) and is_label(part.before)


def _is_open(wanted: FieldSpec) -> bool:
    return wanted.kind is FieldKind.STRING and not wanted.format and not wanted.choices


_LEAST_RECORDS = 2
_MAX_RECORDS = 200
_MAX_FIELDS = 30
_MAX_SKIPPED = 1
_MAX_SELECTORS = 40
_MAX_RULES = 40
_MAX_TELLING = 3

Names = tuple[str, ...]
Record = Mapping[Names, FieldValue]


@dataclass(frozen=True, slots=True)
class _KnownRecords:
    """The records that were found."""

    records: list[Record]

    @property
    def names(self) -> list[Names]:
        return list(dict.fromkeys(name for record in self.records for name in record))

    @property
    def values(self) -> dict[FieldPath, Json]:
        return {
            (place, *name): value.value
            for place, record in enumerate(self.records)
            for name, value in record.items()
        }


class ListLearner:
    """Learns rules for the arrays of a page, each whole or not at all."""

    def __init__(self, reader: RecipeReader, finder: NodeFinder, fields: FieldLearner) -> None:
        self._reader = reader
        self._index = reader.index
        self._finder = finder
        self._fields = fields

    def learn(
        self, path: Names, wanted: FieldSpec, records: Mapping[int, Record]
    ) -> ListRule | None:
        """Return a rule that gives all records of an array again, or None."""
        is_learnable = _LEAST_RECORDS <= len(records) <= _MAX_RECORDS
        if wanted.kind is not FieldKind.ARRAY or not is_learnable:
            return None
        told = _KnownRecords([records[place] for place in sorted(records)])
        if len(told.names) > _MAX_FIELDS:
            return None
        for elements in self._record_elements(told):
            fields = self._learn_fields(wanted, told, elements)
            if fields is not None:
                return self._learn_selector(path, elements, fields, told)
        return None

    def _record_elements(self, told: _KnownRecords) -> Iterator[list[PageElement]]:
        """Yield what may be the elements of the records, by some fields that all of them have."""
        shared = [name for name in told.names if all(name in each for each in told.records)]
        # Where each has another value, the page says which record is meant.
        shared.sort(key=lambda name: -len({str(each[name].value) for each in told.records}))
        for name in shared[:_MAX_TELLING]:
            places = [self._finder.nodes_of(each[name])[:1] for each in told.records]
            firsts = [place.element for found in places for place in found]
            if len(firsts) == len(told.records) and (found := self._branches(firsts)):
                yield found

    def _branches(self, elements: list[PageElement]) -> list[PageElement]:
        """Return the children of the element around all, one around each; nothing if they mix."""
        lines = [self._line_to(element) for element in elements]
        depth = 0
        while all(len(line) > depth for line in lines) and (
            len({line[depth] for line in lines}) == 1
        ):
            depth += 1
        if any(len(line) <= depth for line in lines):
            return []
        found = [self._index.page.elements[line[depth]] for line in lines]
        is_apart = len({each.index for each in found}) == len(found)
        return found if is_apart and len({each.tag for each in found}) == 1 else []

    def _line_to(self, element: PageElement) -> list[int]:
        line = [element.index]
        while (above := self._index.page.elements[line[-1]].parent) >= 0:
            line.append(above)
        return line[::-1]

    def _learn_fields(
        self, wanted: FieldSpec, told: _KnownRecords, elements: list[PageElement]
    ) -> tuple[FieldRule, ...] | None:
        rules = []
        for name in told.names:
            field = field_spec_at(wanted.item, name)
            rule = self._learn_field(field, name, told, elements) if field is not None else None
            if rule is None:
                return None
            rules.append(rule)
        return tuple(rules)

    def _learn_field(
        self, field: FieldSpec, name: Names, told: _KnownRecords, elements: list[PageElement]
    ) -> FieldRule | None:
        """Return a rule that gives a field in every record that has it, and in no other."""
        sample = next(place for place, record in enumerate(told.records) if name in record)
        record, value = elements[sample], told.records[sample][name]
        places = [
            each
            for each in self._finder.nodes_of(value)
            if record.index <= each.element.index < record.end
        ]
        for rule in islice(self._fields.rules_for(name, field, value, places, record), _MAX_RULES):
            pairs = zip(told.records, elements, strict=True)
            if all(self._fits(rule, field, *each) for each in pairs):
                return rule
        return None

    def _fits(
        self, rule: FieldRule, field: FieldSpec, record: Record, element: PageElement
    ) -> bool:
        reading = self._reader.read_field(rule, field, element)
        value = record.get(rule.path)
        if reading is None or value is None:
            return reading is None and value is None
        return is_same_value(reading.value, value.value)

    def _learn_selector(
        self,
        path: Names,
        elements: list[PageElement],
        fields: tuple[FieldRule, ...],
        told: _KnownRecords,
    ) -> ListRule | None:
        wanted = told.values
        for rule in islice(self._rules(path, elements, fields), _MAX_SELECTORS):
            found = {each.path[len(path) :]: each.value for each in self._reader.read(rule)}
            if found.keys() == wanted.keys() and all(
                is_same_value(found[key], said) for key, said in wanted.items()
            ):
                return rule
        return None

    def _rules(
        self, path: Names, elements: list[PageElement], fields: tuple[FieldRule, ...]
    ) -> Iterator[ListRule]:
        """Yield rules for records by names, then by the label of their list, then by its place."""
        label = label_before(self._index.page, self._index.page.elements[elements[0].parent])
        ways = (
            *((each, "") for each in record_selectors(self._index, elements)),
            *((each, label) for each in labelled_record_selectors(self._index, elements) if label),
            *((each, "") for each in placed_record_selectors(self._index, elements)),
        )
        for selector, label_ in ways:
            if parse_selector(str(selector)) == selector:
                yield from (
                    ListRule(
                        path=path,
                        selector=str(selector),
                        fields=fields,
                        label=label_,
                        skipped=skipped,
                    )
                    for skipped in range(_MAX_SKIPPED + 1)
                )


MAX_FIELDS = 100
MAX_LISTS = 10
_FOUND_ONCE = frozenset((Method.MODEL, Method.CALLER, Method.RECIPE))
# Found again wherever they stand, without a recipe.
_DECLARED = frozenset((Method.JSON_LD, Method.MICRODATA, Method.META))


def learn_recipe(
    html: str,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    values: Sequence[FieldValue],
) -> Recipe:
    """Return the rules by which the page gives these values again; none for what it does not.

    Args:
        html: the page as it came, decoded.
        markdown: what cinder saves of it.
        url: where the page came from.
        schema: a valid JSON Schema.
        values: what was found for the schema; only what the page proves is learned from.
    """
    if find_bomb(html):
        return Recipe()
    reader = RecipeReader(html, markdown, url=url, schema=schema)
    learner = _Learner(reader, NodeFinder(reader.index.page, markdown))
    recipe = Recipe(
        fields=tuple(learner.learn_fields(values)), lists=tuple(learner.learn_lists(values))
    )
    return _undisputed(
        recipe, reader.apply(recipe), extract_fields(html, markdown, url=url, schema=schema)
    )


class _Learner:
    def __init__(self, reader: RecipeReader, finder: NodeFinder) -> None:
        self._root = reader.root
        self._finder = finder
        self._fields = FieldLearner(reader)
        self._lists = ListLearner(reader, finder, self._fields)

    def learn_fields(self, values: Sequence[FieldValue]) -> Iterator[FieldRule]:
        for path, value in _single_values(values)[:MAX_FIELDS]:
            wanted = field_spec_at(self._root, path)
            if wanted is not None and wanted.is_scalar:
                places = self._finder.nodes_of(value)
                yield from islice(self._fields.rules_for(path, wanted, value, places), 1)

    def learn_lists(self, values: Sequence[FieldValue]) -> Iterator[ListRule]:
        for path, records in islice(_records(values).items(), MAX_LISTS):
            wanted = field_spec_at(self._root, path)
            rule = self._lists.learn(path, wanted, records) if wanted and records else None
            if rule is not None:
                yield rule


def _undisputed(recipe: Recipe, applied: AppliedRecipe, found: ExtractedData) -> Recipe:
    """Return a recipe without what would be dropped on the very page that it was learned from."""
    return Recipe(
        fields=tuple(each for each in recipe.fields if not is_contradicted(each, applied, found)),
        lists=tuple(each for each in recipe.lists if not is_contradicted(each, applied, found)),
    )


def _single_values(values: Sequence[FieldValue]) -> list[tuple[tuple[str, ...], FieldValue]]:
    found = []
    for value in values:
        names = tuple(part for part in value.path if isinstance(part, str))
        if len(names) == len(value.path) and is_worth_learning(value):
            found.append((names, value))
    return found


Records = dict[int, dict[tuple[str, ...], FieldValue]]


def _records(values: Sequence[FieldValue]) -> dict[tuple[str, ...], Records | None]:
    """Return the values of arrays by where those stand; None where one cannot be learned whole."""
    found: dict[tuple[str, ...], Records | None] = {}
    for value in values:
        split = _split_at_place(value.path)
        if split is None:
            continue
        names, place, below = split
        records = found.setdefault(names, {})
        if below is None or not is_worth_learning(value):
            found[names] = None
        elif records is not None:
            records.setdefault(place, {})[below] = value
    return found


def _split_at_place(
    path: FieldPath,
) -> tuple[tuple[str, ...], int, tuple[str, ...] | None] | None:
    """Return what leads to an array, the place in it, and what follows if that are names only."""
    names: list[str] = []
    for position, part in enumerate(path):
        if isinstance(part, int):
            below = tuple(each for each in path[position + 1 :] if isinstance(each, str))
            is_plain = len(below) == len(path) - position - 1
            return tuple(names), part, below if is_plain else None
        names.append(part)
    return None


def is_worth_learning(value: FieldValue) -> bool:
    """Whether a value is proved by its page, sure, and not found as easily without a recipe."""
    if not value.is_grounded or value.value is None:
        return False
    methods = {each.method for each in value.evidence}
    if not methods.isdisjoint(_FOUND_ONCE):
        return True
    return value.score >= SURE_SCORE and methods.isdisjoint(_DECLARED)
