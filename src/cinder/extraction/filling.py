"""Fills a schema from a page: the best match for each field, with its evidence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Union

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
    Matcher,
    fit_of,
    name_slots,
)
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
# Of all fields together: each is a try at filling some records.
_MAX_RATINGS = 3_000
_NAME = words_of("name")[0]


@dataclass(frozen=True, slots=True)
class FilledField:
    """What fills one place of the data, and a text near which its quote is looked for."""

    path: FieldPath
    chosen: ChosenMatch
    anchor: str = ""


@dataclass(slots=True)
class FillResult:
    """What was found for a schema, and what was not."""

    filled: list[FilledField] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class SchemaFiller:
    """Fills a wanted tree from one page."""

    def __init__(self, page: PageCandidates) -> None:
        self._page = page
        self._matcher = Matcher(page.base)
        self._result = FillResult()
        self._ratings_left = _MAX_RATINGS
        self._sole_list: FieldSpec | None = None
        self._labels: dict[int, tuple[Entity, LabelIndex[Candidate]]] = {}
        self._list_labels: dict[int, tuple[Entity, LabelIndex[CandidateList]]] = {}

    def fill(self, root: FieldSpec) -> FillResult:
        """Return what the page holds for a schema's fields."""
        self._sole_list = _sole_list(root)
        if root.kind is FieldKind.ARRAY:
            self._fill_array(root, self._thing_for(()), ())
        elif root.kind is FieldKind.OBJECT:
            slots = list(_slots(root, needs_context=False))
            self._fill_object(root, self._thing_for(slots), ())
        else:
            slots = [FieldSlot(root)]
            self._fill_slots(slots, self._thing_for(slots), ())
        if self._ratings_left < 0:
            told = "The schema wants more lists than could be compared with all those of the page."
            self._result.warnings.append(told)
        return self._result

    def _thing_for(self, slots: Sequence[FieldSlot]) -> Entity:
        """Join what the page shows with the linked data that says most of what is wanted."""
        shown = self._page.shown
        things = [(item.method, describe_item(item)) for item in self._page.items]
        best: dict[object, tuple[float, Entity]] = {}
        for method, thing in things:
            told = sum(each.best.score for each in self._fill_from(slots, thing).values())
            if method not in best or told > best[method][0]:
                best[method] = (told, thing)
        chosen = [thing for _, thing in best.values()]
        grouped = chosen if slots else [thing for _, thing in things]
        return Entity(
            candidates=(*(c for thing in chosen for c in thing.candidates), *shown.candidates),
            lists=(*(each for thing in chosen for each in thing.lists), *shown.lists),
            groups=(*(g for thing in grouped for g in thing.groups), *self._page.groups),
        )

    def _fill_from(self, slots: Sequence[FieldSlot], thing: Entity) -> dict[str, ChosenMatch]:
        return self._matcher.fill(slots, self._labels_of(thing))

    def _labels_of(self, thing: Entity) -> LabelIndex[Candidate]:
        # Many fields ask of the same thing, which lives as long as the page does.
        if id(thing) not in self._labels:
            self._labels[id(thing)] = (thing, LabelIndex(thing.candidates))
        return self._labels[id(thing)][1]

    def _fill_object(self, wanted: FieldSpec, thing: Entity, path: FieldPath) -> int:
        """Fill an object's fields, those of objects within it too; return how many were filled."""
        count = self._fill_slots(list(_slots(wanted, needs_context=False)), thing, path)
        for array, place in _arrays(wanted, path):
            count += self._fill_array(array, thing, place)
        return count

    def _fill_slots(self, slots: Sequence[FieldSlot], thing: Entity, path: FieldPath) -> int:
        chosen = self._fill_from(slots, thing)
        for slot in slots:
            place = slot.field.path
            if place in chosen:
                below = _below(slot.field, path)
                self._result.filled.append(FilledField(below, chosen[place], thing.anchor))
            else:
                self._result.missing.append(place)
        return len(chosen)

    def _fill_array(self, wanted: FieldSpec, thing: Entity, path: FieldPath) -> int:
        if wanted.item.kind is FieldKind.OBJECT:
            count = self._fill_records(wanted, thing, path)
        elif wanted.item.is_scalar:
            count = self._fill_list(wanted, thing, path)
        else:
            count = 0
        if not count:
            self._result.missing.append(wanted.path)
        return count

    def _fill_list(self, wanted: FieldSpec, thing: Entity, path: FieldPath) -> int:
        best: list[FieldMatch] = []
        for found in self._lists_for(wanted, thing):
            if found and (not best or found[0].score > best[0].score):
                best = found
        seen: dict[str, FieldMatch] = {}
        for match in best[:MAX_RECORDS]:
            seen.setdefault(str(match.reading.value), match)
        for place, match in enumerate(seen.values()):
            self._result.filled.append(
                FilledField((*path, place), ChosenMatch(match), thing.anchor)
            )
        return len(seen)

    def _lists_for(self, wanted: FieldSpec, thing: Entity) -> Iterator[list[FieldMatch]]:
        slot = FieldSlot(wanted)
        if id(thing) not in self._list_labels:
            self._list_labels[id(thing)] = (thing, LabelIndex(thing.lists))
        for each, fit in islice(self._list_labels[id(thing)][1].fitting(slot), _MAX_LISTS):
            if not each.is_chrome:
                yield self._read_items(wanted, _items_of(each), fit)
        for single, fit in islice(self._labels_of(thing).fitting(slot), _MAX_LISTS):
            if not single.is_chrome:
                yield self._read_items(wanted, split_enumeration(single), fit * _SPLIT)

    def _read_items(
        self, wanted: FieldSpec, items: Sequence[Candidate], fit: float
    ) -> list[FieldMatch]:
        found = []
        for item in items:
            reading = parse_value(wanted.item, item.text, self._page.base)
            if reading is not None:
                found.append(FieldMatch(FieldSlot(wanted.item), item, reading, fit * item.trust))
        return found

    def _fill_records(self, wanted: FieldSpec, thing: Entity, path: FieldPath) -> int:
        group = self._choose_group(wanted, thing.groups)
        if group is None and wanted is self._sole_list:
            group = self._page_as_group(wanted)
        if group is None:
            return 0
        slots = list(_slots(wanted.item, needs_context=False))
        seen: set[str] = set()
        for record in group.records[:MAX_RECORDS]:
            chosen = self._fill_from(slots, record)
            key = str(sorted((place, str(c.best.reading.value)) for place, c in chosen.items()))
            if not chosen or key in seen or _is_poor(chosen, slots):
                continue
            self._add_record(wanted, record, chosen, (*path, len(seen)))
            seen.add(key)
        if len(group.records) >= MAX_RECORDS:
            told = f"Only the first {MAX_RECORDS} records for '{wanted.path}' were read."
            self._result.warnings.append(told)
        found = {schema_path(each.path) for each in self._result.filled}
        self._result.missing += [
            slot.field.path for slot in slots if seen and slot.field.path not in found
        ]
        return len(seen)

    def _page_as_group(self, wanted: FieldSpec) -> RecordGroup | None:
        """Return the page as the one record of a list: some sites have a page for each."""
        slots = list(_slots(wanted.item, needs_context=False))
        page = self._thing_for(slots)
        found = self._fill_from(slots, page)
        told = sum(each.best.score for each in found.values())
        is_such = _has_more_than_name(found) and told >= _LEAST_FILLED * len(slots)
        return RecordGroup(records=(page,)) if is_such else None

    def _add_record(
        self, wanted: FieldSpec, record: Entity, chosen: dict[str, ChosenMatch], path: FieldPath
    ) -> None:
        for place, each in chosen.items():
            below = tuple(place.removeprefix(f"{wanted.item.path}.").split("."))
            self._result.filled.append(FilledField((*path, *below), each, record.anchor))
        for array, beneath in _arrays(wanted.item, path):
            if array.item.is_scalar:
                self._fill_list(array, record, beneath)

    def _choose_group(self, wanted: FieldSpec, groups: Sequence[RecordGroup]) -> RecordGroup | None:
        slots = list(_slots(wanted.item, needs_context=False))
        best: tuple[float, int] = (0.0, 0)
        chosen = None
        for group in groups if slots else ():
            self._ratings_left -= 1
            if self._ratings_left < 0:
                break
            score = 0.0 if group.is_chrome else self._rate_group(wanted, slots, group)
            if (score, len(group.records)) > best:
                best, chosen = (score, len(group.records)), group
        return chosen if best[0] else None

    def _rate_group(
        self, wanted: FieldSpec, slots: Sequence[FieldSlot], group: RecordGroup
    ) -> float:
        """Return how well a group's records fill the fields; 0 for those of something else."""
        sample = group.records[:_SAMPLE]
        filled = [self._fill_from(slots, record) for record in sample]
        told = sum(each.best.score for found in filled for each in found.values())
        mean = told / (len(slots) * len(sample)) if sample else 0.0
        label_fit = fit_of(FieldSlot(wanted), group.label, group.path)
        is_labelled = label_fit >= MIN_FIT
        has_more = sum(_has_more_than_name(found) for found in filled) * 2 >= len(filled)
        if is_labelled and mean >= _LEAST_UNDER_LABEL and (has_more or len(slots) == 1):
            return mean + _LABEL_BONUS * label_fit
        return mean if has_more and len(group.records) > 1 and mean >= _LEAST_FILLED else 0.0


def _sole_list(root: FieldSpec) -> FieldSpec | None:
    """Return the list that is all a schema wants; None where it wants something else as well."""
    while root.kind is FieldKind.OBJECT and len(root.children) == 1:
        root = root.children[0]
    return root if root.kind is FieldKind.ARRAY else None


def _items_of(each: CandidateList) -> Sequence[Candidate]:
    return split_enumeration(each.items[0]) if len(each.items) == 1 else each.items


def _has_more_than_name(found: dict[str, ChosenMatch]) -> bool:
    return any(_NAME not in each.best.slot.field.words for each in found.values())


def _is_poor(chosen: dict[str, ChosenMatch], slots: Sequence[FieldSlot]) -> bool:
    """Whether a record has hardly anything of what its kind has: a heading or an advertisement."""
    return len(slots) >= _POOR_PART and len(chosen) * _POOR_PART < len(slots)


def _slots(wanted: FieldSpec, *, needs_context: bool) -> Iterator[FieldSlot]:
    yield from name_slots(wanted.children, needs_context=needs_context)
    for child in wanted.children:
        if child.kind is FieldKind.OBJECT:
            yield from _slots(child, needs_context=True)


def _arrays(wanted: FieldSpec, path: FieldPath) -> Iterator[tuple[FieldSpec, FieldPath]]:
    for child in wanted.children:
        if child.kind is FieldKind.ARRAY:
            yield child, (*path, child.name)
        elif child.kind is FieldKind.OBJECT:
            yield from _arrays(child, (*path, child.name))


def _below(field_: FieldSpec, path: FieldPath) -> FieldPath:
    return (*path, *field_.path.split(".")) if field_.path else path


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Json


Branch = dict[str | int, Union[_Leaf, "Branch"]]
_NOTHING: Mapping[FieldKind, Json] = {FieldKind.OBJECT: {}, FieldKind.ARRAY: []}


def extract_fields(
    html: str | None, markdown: str | None, *, url: str, schema: Mapping[str, Json]
) -> ExtractedData:
    """Fill a schema from a page.

    Args:
        html: the page as it came, decoded; None for what is no HTML, such as a PDF.
        markdown: what cinder saves of it; quotes are looked up here first.
        url: where the page came from.
        schema: a valid JSON Schema.
    """
    root, cuts = read_schema(schema)
    bomb = find_bomb(html) if html else None
    is_read = html is not None and bomb is None
    page = (
        collect_from_html(html or "", url)
        if is_read
        else collect_from_markdown(markdown or "", url)
    )
    filling = SchemaFiller(page).fill(root)
    grounder = Grounder(markdown, html, url)
    values = tuple(_value(each, grounder) for each in filling.filled)
    refused = (f"The page's markup was not read, only its text: {bomb}.",) if bomb else ()
    return ExtractedData(
        data=build_data(values, _NOTHING.get(root.kind)),
        values=values,
        missing=tuple(dict.fromkeys(filling.missing)),
        conflicts=tuple(_conflicts(filling.filled, grounder)),
        warnings=(*cuts, *refused, *page.warnings, *filling.warnings),
    )


def _value(filled: FilledField, grounder: Grounder) -> FieldValue:
    best, agreeing = filled.chosen.best, filled.chosen.agreeing
    return FieldValue(
        path=filled.path,
        value=best.reading.value,
        evidence=tuple(grounder.prove(each, filled.anchor) for each in (best, *agreeing)),
        score=_shown(best.score),
    )


def _conflicts(filled: Iterable[FilledField], grounder: Grounder) -> Iterable[Conflict]:
    for each in filled:
        for other in each.chosen.contrary:
            yield Conflict(
                path=each.path,
                kept=each.chosen.best.reading.value,
                other=FieldValue(
                    path=each.path,
                    value=other.reading.value,
                    evidence=(grounder.prove(other, each.anchor),),
                    score=_shown(other.score),
                ),
            )


def _shown(score: float) -> float:
    # What was made out of several places counts for more than one of them.
    return round(min(score, 1.0), 3)


def build_data(values: Iterable[FieldValue], nothing: Json = None) -> Json:
    """Return the data that values make up; `nothing` where there are none."""
    tree: Branch = {}
    for each in values:
        if not each.path:
            return each.value
        inner = tree
        for part in each.path[:-1]:
            following = inner.setdefault(part, {})
            if isinstance(following, _Leaf):
                raise TypeError(f"{each.path} leads through a value")
            inner = following
        inner[each.path[-1]] = _Leaf(each.value)
    return _plain(tree) if tree else nothing


def _plain(branch: "Branch | _Leaf") -> Json:
    """Return a branch as data: one whose keys are places is an array."""
    if isinstance(branch, _Leaf):
        return branch.value
    if all(isinstance(key, int) for key in branch):
        return [_plain(inner) for _, inner in sorted(branch.items(), key=lambda each: int(each[0]))]
    return {str(key): _plain(inner) for key, inner in branch.items()}
