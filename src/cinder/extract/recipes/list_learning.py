"""Learns where the records of an array stand, and within each of them its fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from cinder.extract.fields.flat_page import Element
from cinder.extract.fields.wanted import FieldKind, Wanted
from cinder.extract.recipes.applying import RecipeReader, wanted_at
from cinder.extract.recipes.element_text import label_before
from cinder.extract.recipes.field_learning import FieldLearner
from cinder.extract.recipes.judging import is_same
from cinder.extract.recipes.locating import PlaceFinder
from cinder.extract.recipes.naming import (
    labelled_record_selectors,
    placed_record_selectors,
    record_selectors,
)
from cinder.extract.recipes.selectors import parse_selector
from cinder.model.document import Json
from cinder.model.extracted_data import FieldValue, Path
from cinder.model.recipe import FieldRule, ListRule

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
class _Told:
    """The records that were found."""

    records: list[Record]

    @property
    def names(self) -> list[Names]:
        return list(dict.fromkeys(name for record in self.records for name in record))

    @property
    def values(self) -> dict[Path, Json]:
        return {
            (place, *name): value.value
            for place, record in enumerate(self.records)
            for name, value in record.items()
        }


class ListLearner:
    """Learns rules for the arrays of a page, each whole or not at all."""

    def __init__(self, reader: RecipeReader, finder: PlaceFinder, fields: FieldLearner) -> None:
        self._reader = reader
        self._index = reader.index
        self._finder = finder
        self._fields = fields

    def learn(self, path: Names, wanted: Wanted, records: Mapping[int, Record]) -> ListRule | None:
        """Return a rule that gives all records of an array again, or None."""
        is_learnable = _LEAST_RECORDS <= len(records) <= _MAX_RECORDS
        if wanted.kind is not FieldKind.ARRAY or not is_learnable:
            return None
        told = _Told([records[place] for place in sorted(records)])
        if len(told.names) > _MAX_FIELDS:
            return None
        for elements in self._record_elements(told):
            fields = self._learn_fields(wanted, told, elements)
            if fields is not None:
                return self._learn_selector(path, elements, fields, told)
        return None

    def _record_elements(self, told: _Told) -> Iterator[list[Element]]:
        """Yield what may be the elements of the records, by some fields that all of them have."""
        shared = [name for name in told.names if all(name in each for each in told.records)]
        # Where each has another value, the page says which record is meant.
        shared.sort(key=lambda name: -len({str(each[name].value) for each in told.records}))
        for name in shared[:_MAX_TELLING]:
            places = [self._finder.places_of(each[name])[:1] for each in told.records]
            firsts = [place.element for found in places for place in found]
            if len(firsts) == len(told.records) and (found := self._branches(firsts)):
                yield found

    def _branches(self, elements: list[Element]) -> list[Element]:
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

    def _line_to(self, element: Element) -> list[int]:
        line = [element.index]
        while (above := self._index.page.elements[line[-1]].parent) >= 0:
            line.append(above)
        return line[::-1]

    def _learn_fields(
        self, wanted: Wanted, told: _Told, elements: list[Element]
    ) -> tuple[FieldRule, ...] | None:
        rules = []
        for name in told.names:
            field = wanted_at(wanted.item, name)
            rule = self._learn_field(field, name, told, elements) if field is not None else None
            if rule is None:
                return None
            rules.append(rule)
        return tuple(rules)

    def _learn_field(
        self, field: Wanted, name: Names, told: _Told, elements: list[Element]
    ) -> FieldRule | None:
        """Return a rule that gives a field in every record that has it, and in no other."""
        sample = next(place for place, record in enumerate(told.records) if name in record)
        record, value = elements[sample], told.records[sample][name]
        places = [
            each
            for each in self._finder.places_of(value)
            if record.index <= each.element.index < record.end
        ]
        for rule in islice(self._fields.rules_for(name, field, value, places, record), _MAX_RULES):
            pairs = zip(told.records, elements, strict=True)
            if all(self._fits(rule, field, *each) for each in pairs):
                return rule
        return None

    def _fits(self, rule: FieldRule, field: Wanted, record: Record, element: Element) -> bool:
        reading = self._reader.read_field(rule, field, element)
        value = record.get(rule.path)
        if reading is None or value is None:
            return reading is None and value is None
        return is_same(reading.value, value.value)

    def _learn_selector(
        self, path: Names, elements: list[Element], fields: tuple[FieldRule, ...], told: _Told
    ) -> ListRule | None:
        wanted = told.values
        for rule in islice(self._rules(path, elements, fields), _MAX_SELECTORS):
            found = {each.path[len(path) :]: each.value for each in self._reader.read(rule)}
            if found.keys() == wanted.keys() and all(
                is_same(found[key], said) for key, said in wanted.items()
            ):
                return rule
        return None

    def _rules(
        self, path: Names, elements: list[Element], fields: tuple[FieldRule, ...]
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
