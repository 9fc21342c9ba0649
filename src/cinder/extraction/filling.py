"""Fills a schema from a page: the best match for each field, with its evidence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cinder.extraction.candidates import (
    Candidate,
    CandidateList,
    Entity,
    RecordGroup,
    split_enumeration,
)
from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.extraction.grounding import Grounder
from cinder.extraction.matching import (
    MIN_FIT,
    ChosenMatch,
    FieldMatch,
    FieldSlot,
    LabelIndex,
    fill_slots,
    fit_of,
    name_slots,
)
from cinder.extraction.merging import build_data
from cinder.extraction.page_candidates import (
    PageCandidates,
    collect_from_html,
    collect_from_markdown,
)
from cinder.extraction.structured_data import describe_item
from cinder.extraction.synonyms import words_of
from cinder.extraction.values import parse_value
from cinder.html.bombs import find_bomb
from cinder.models.document import Json
from cinder.models.extraction import Conflict, ExtractedData, FieldPath, FieldValue

MAX_RECORDS = 1_000
_SAMPLE = 4
_LEAST_FILLED = 0.45
_LEAST_UNDER_LABEL = 0.2
_LABEL_BONUS = 0.5
_SPLIT = 0.95
_POOR_PART = 3
_MAX_LISTS = 100
# Of all fields together; each rating fills a sample of records.
_MAX_RATINGS = 3_000
_NAME = words_of("name")[0]


@dataclass(frozen=True, slots=True)
class FilledField:
    """The match for one path of the data, and a text near which its quote is searched for."""

    path: FieldPath
    chosen: ChosenMatch
    anchor: str = ""


class SchemaFiller:
    """Fills the fields of a schema from one page."""

    def __init__(self, page: PageCandidates) -> None:
        self._page = page
        self.filled: list[FilledField] = []
        self.missing: list[str] = []
        self.warnings: list[str] = []
        self._ratings_left = _MAX_RATINGS
        self._sole_list: FieldSpec | None = None
        self._labels: dict[int, tuple[Entity, LabelIndex[Candidate]]] = {}
        self._list_labels: dict[int, tuple[Entity, LabelIndex[CandidateList]]] = {}

    def fill(self, root: FieldSpec) -> None:
        """Find the values that the page has for a schema's fields."""
        self._sole_list = _sole_list(root)
        if root.kind is FieldKind.ARRAY:
            self._fill_array(root, self._entity_for(()), ())
        elif root.kind is FieldKind.OBJECT:
            slots = list(_slots(root))
            entity = self._entity_for(slots)
            self._fill_slots(slots, entity)
            for array, path in _arrays(root, ()):
                self._fill_array(array, entity, path)
        else:
            slots = [FieldSlot(root)]
            self._fill_slots(slots, self._entity_for(slots))
        if self._ratings_left < 0:
            self.warnings.append(
                "The schema wants more lists than could be compared with all those of the page."
            )

    def _entity_for(self, slots: Sequence[FieldSlot]) -> Entity:
        """Join what the page shows with the linked data that fills the slots best."""
        shown = self._page.shown
        described = [(item.method, describe_item(item)) for item in self._page.items]
        best: dict[object, tuple[float, Entity]] = {}
        for method, entity in described:
            score = sum(match.best.score for match in self._fill_from(slots, entity).values())
            if method not in best or score > best[method][0]:
                best[method] = (score, entity)
        chosen = [entity for _, entity in best.values()]
        grouped = chosen if slots else [entity for _, entity in described]
        return Entity(
            candidates=(*(c for entity in chosen for c in entity.candidates), *shown.candidates),
            lists=(*(found for entity in chosen for found in entity.lists), *shown.lists),
            groups=(*(g for entity in grouped for g in entity.groups), *self._page.groups),
        )

    def _fill_from(self, slots: Sequence[FieldSlot], entity: Entity) -> dict[str, ChosenMatch]:
        return fill_slots(slots, self._labels_of(entity), self._page.base)

    def _labels_of(self, entity: Entity) -> LabelIndex[Candidate]:
        # Many fields use the same entity; keeping it keeps its id unique.
        if id(entity) not in self._labels:
            self._labels[id(entity)] = (entity, LabelIndex(entity.candidates))
        return self._labels[id(entity)][1]

    def _fill_slots(self, slots: Sequence[FieldSlot], entity: Entity) -> None:
        chosen = self._fill_from(slots, entity)
        for slot in slots:
            path = slot.field.path
            if path in chosen:
                parts = tuple(path.split(".")) if path else ()
                self.filled.append(FilledField(parts, chosen[path], entity.anchor))
            else:
                self.missing.append(path)

    def _fill_array(self, spec: FieldSpec, entity: Entity, path: FieldPath) -> None:
        count = 0
        if spec.item.kind is FieldKind.OBJECT:
            count = self._fill_records(spec, entity, path)
        elif spec.item.is_scalar:
            count = self._fill_list(spec, entity, path)
        if not count:
            self.missing.append(spec.path)

    def _fill_list(self, spec: FieldSpec, entity: Entity, path: FieldPath) -> int:
        slot = FieldSlot(spec)
        if id(entity) not in self._list_labels:
            self._list_labels[id(entity)] = (entity, LabelIndex(entity.lists))
        options: list[tuple[Sequence[Candidate], float]] = []
        for found, fit in islice(self._list_labels[id(entity)][1].fitting(slot), _MAX_LISTS):
            if not found.is_chrome:
                is_single = len(found.items) == 1
                items = split_enumeration(found.items[0]) if is_single else found.items
                options.append((items, fit))
        for single, fit in islice(self._labels_of(entity).fitting(slot), _MAX_LISTS):
            if not single.is_chrome:
                options.append((split_enumeration(single), fit * _SPLIT))
        best: list[FieldMatch] = []
        for items, fit in options:
            matches = [
                FieldMatch(FieldSlot(spec.item), item, parsed, fit * item.trust)
                for item in items
                if (parsed := parse_value(spec.item, item.text, self._page.base)) is not None
            ]
            if matches and (not best or matches[0].score > best[0].score):
                best = matches
        seen: dict[str, FieldMatch] = {}
        for match in best[:MAX_RECORDS]:
            seen.setdefault(str(match.parsed.value), match)
        for index, match in enumerate(seen.values()):
            self.filled.append(FilledField((*path, index), ChosenMatch(match), entity.anchor))
        return len(seen)

    def _fill_records(self, spec: FieldSpec, entity: Entity, path: FieldPath) -> int:
        slots = list(_slots(spec.item))
        group = self._choose_group(spec, slots, entity.groups)
        if group is None:
            return 0
        seen: set[str] = set()
        for record in group.records[:MAX_RECORDS]:
            chosen = self._fill_from(slots, record)
            key = str(sorted((name, str(c.best.parsed.value)) for name, c in chosen.items()))
            # A record with hardly any of the fields is a heading or an advertisement.
            is_poor = len(slots) >= _POOR_PART and len(chosen) * _POOR_PART < len(slots)
            if not chosen or key in seen or is_poor:
                continue
            item_path = (*path, len(seen))
            for name, match in chosen.items():
                below = name.removeprefix(f"{spec.item.path}.").split(".")
                self.filled.append(FilledField((*item_path, *below), match, record.anchor))
            for array, array_path in _arrays(spec.item, item_path):
                if array.item.is_scalar:
                    self._fill_list(array, record, array_path)
            seen.add(key)
        if len(group.records) >= MAX_RECORDS:
            self.warnings.append(
                f"Only the first {MAX_RECORDS} records for '{spec.path}' were read."
            )
        found = {schema_path(filled.path) for filled in self.filled}
        self.missing += [slot.field.path for slot in slots if seen and slot.field.path not in found]
        return len(seen)

    def _choose_group(
        self, spec: FieldSpec, slots: Sequence[FieldSlot], groups: Sequence[RecordGroup]
    ) -> RecordGroup | None:
        """Return the best group of records; else the page itself, if it is one record."""
        best: tuple[float, int] = (0.0, 0)
        chosen = None
        for group in groups if slots else ():
            self._ratings_left -= 1
            if self._ratings_left < 0:
                break
            score = 0.0 if group.is_chrome else self._rate_group(spec, slots, group)
            if (score, len(group.records)) > best:
                best, chosen = (score, len(group.records)), group
        if best[0] or spec is not self._sole_list:
            return chosen if best[0] else None
        # Some sites have a page for each record of a list.
        page = self._entity_for(slots)
        found = self._fill_from(slots, page)
        score = sum(match.best.score for match in found.values())
        is_record = _has_more_than_name(found) and score >= _LEAST_FILLED * len(slots)
        return RecordGroup(records=(page,)) if is_record else None

    def _rate_group(self, spec: FieldSpec, slots: Sequence[FieldSlot], group: RecordGroup) -> float:
        """Return how well a group's records fill the fields; 0 if they are something else."""
        sample = group.records[:_SAMPLE]
        filled = [self._fill_from(slots, record) for record in sample]
        score = sum(match.best.score for found in filled for match in found.values())
        mean = score / (len(slots) * len(sample)) if sample else 0.0
        label_fit = fit_of(FieldSlot(spec), group.label, group.path)
        has_more = sum(_has_more_than_name(found) for found in filled) * 2 >= len(filled)
        is_enough = mean >= _LEAST_UNDER_LABEL and (has_more or len(slots) == 1)
        if label_fit >= MIN_FIT and is_enough:
            return mean + _LABEL_BONUS * label_fit
        return mean if has_more and len(group.records) > 1 and mean >= _LEAST_FILLED else 0.0


def _sole_list(root: FieldSpec) -> FieldSpec | None:
    """Return the only list of a schema; None if the schema has other fields as well."""
    while root.kind is FieldKind.OBJECT and len(root.children) == 1:
        root = root.children[0]
    return root if root.kind is FieldKind.ARRAY else None


def _has_more_than_name(found: dict[str, ChosenMatch]) -> bool:
    return any(_NAME not in each.best.slot.field.words for each in found.values())


def _slots(spec: FieldSpec, *, needs_context: bool = False) -> Iterator[FieldSlot]:
    yield from name_slots(spec.children, needs_context=needs_context)
    for child in spec.children:
        if child.kind is FieldKind.OBJECT:
            yield from _slots(child, needs_context=True)


def _arrays(spec: FieldSpec, path: FieldPath) -> Iterator[tuple[FieldSpec, FieldPath]]:
    for child in spec.children:
        if child.kind is FieldKind.ARRAY:
            yield child, (*path, child.name)
        elif child.kind is FieldKind.OBJECT:
            yield from _arrays(child, (*path, child.name))


_EMPTY: Mapping[FieldKind, Json] = {FieldKind.OBJECT: {}, FieldKind.ARRAY: []}


def extract_fields(
    html: str | None, markdown: str | None, *, url: str, schema: Mapping[str, Json]
) -> ExtractedData:
    """Fill a schema from a page.

    Args:
        html: the page as received, decoded; None if it is no HTML, such as a PDF.
        markdown: the markdown of the page; quotes are looked up here first.
        url: the URL of the page.
        schema: a valid JSON Schema.
    """
    root, cuts = read_schema(schema)
    bomb = find_bomb(html) if html else None
    if html is None or bomb is not None:
        page = collect_from_markdown(markdown or "", url)
    else:
        page = collect_from_html(html, url)
    filler = SchemaFiller(page)
    filler.fill(root)
    grounder = Grounder(markdown, html, url)
    values = tuple(
        _value(filled, grounder, filled.chosen.best, *filled.chosen.agreeing)
        for filled in filler.filled
    )
    conflicts = tuple(
        Conflict(
            path=filled.path,
            kept=filled.chosen.best.parsed.value,
            other=_value(filled, grounder, other),
        )
        for filled in filler.filled
        for other in filled.chosen.contrary
    )
    refused = (f"The page's markup was not read, only its text: {bomb}.",) if bomb else ()
    return ExtractedData(
        data=build_data(values, _EMPTY.get(root.kind)),
        values=values,
        missing=tuple(dict.fromkeys(filler.missing)),
        conflicts=conflicts,
        warnings=(*cuts, *refused, *page.warnings, *filler.warnings),
    )


def _value(
    filled: FilledField, grounder: Grounder, best: FieldMatch, *agreeing: FieldMatch
) -> FieldValue:
    return FieldValue(
        path=filled.path,
        value=best.parsed.value,
        evidence=tuple(grounder.prove(match, filled.anchor) for match in (best, *agreeing)),
        # Weights above 1 let a score exceed 1.
        score=round(min(best.score, 1.0), 3),
    )
