"""Fills the wanted tree from what a page offers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from cinder.extract.fields.candidates import Candidate, CandidateList, Group, Thing
from cinder.extract.fields.gathering import GatheredPage
from cinder.extract.fields.linked_items import describe_item
from cinder.extract.fields.matching import (
    LEAST_FIT,
    Chosen,
    Labels,
    Match,
    Matcher,
    Slot,
    fit_of,
    name_slots,
)
from cinder.extract.fields.splitting import split_items
from cinder.extract.fields.values import read_value
from cinder.extract.fields.wanted import FieldKind, Wanted, schema_path
from cinder.extract.fields.words import words_of
from cinder.model.extracted_data import Path

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
class Filled:
    """What fills one place of the data, and a text near which its quote is looked for."""

    path: Path
    chosen: Chosen
    anchor: str = ""


@dataclass(slots=True)
class Filling:
    """What was found for a schema, and what was not."""

    filled: list[Filled] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Filler:
    """Fills a wanted tree from one page."""

    def __init__(self, page: GatheredPage) -> None:
        self._page = page
        self._matcher = Matcher(page.base)
        self._result = Filling()
        self._ratings_left = _MAX_RATINGS
        self._sole_list: Wanted | None = None
        self._labels: dict[int, tuple[Thing, Labels[Candidate]]] = {}
        self._list_labels: dict[int, tuple[Thing, Labels[CandidateList]]] = {}

    def fill(self, root: Wanted) -> Filling:
        """Return what the page holds for a schema's fields."""
        self._sole_list = _sole_list(root)
        if root.kind is FieldKind.ARRAY:
            self._fill_array(root, self._thing_for(()), ())
        elif root.kind is FieldKind.OBJECT:
            slots = list(_slots(root, needs_context=False))
            self._fill_object(root, self._thing_for(slots), ())
        else:
            slots = [Slot(root)]
            self._fill_slots(slots, self._thing_for(slots), ())
        if self._ratings_left < 0:
            told = "The schema wants more lists than could be compared with all those of the page."
            self._result.warnings.append(told)
        return self._result

    def _thing_for(self, slots: Sequence[Slot]) -> Thing:
        """Join what the page shows with the linked data that says most of what is wanted."""
        shown = self._page.shown
        things = [(item.method, describe_item(item)) for item in self._page.items]
        best: dict[object, tuple[float, Thing]] = {}
        for method, thing in things:
            told = sum(each.best.score for each in self._fill_from(slots, thing).values())
            if method not in best or told > best[method][0]:
                best[method] = (told, thing)
        chosen = [thing for _, thing in best.values()]
        grouped = chosen if slots else [thing for _, thing in things]
        return Thing(
            candidates=(*(c for thing in chosen for c in thing.candidates), *shown.candidates),
            lists=(*(each for thing in chosen for each in thing.lists), *shown.lists),
            groups=(*(g for thing in grouped for g in thing.groups), *self._page.groups),
        )

    def _fill_from(self, slots: Sequence[Slot], thing: Thing) -> dict[str, Chosen]:
        return self._matcher.fill(slots, self._labels_of(thing))

    def _labels_of(self, thing: Thing) -> Labels[Candidate]:
        # Many fields ask of the same thing, which lives as long as the page does.
        if id(thing) not in self._labels:
            self._labels[id(thing)] = (thing, Labels(thing.candidates))
        return self._labels[id(thing)][1]

    def _fill_object(self, wanted: Wanted, thing: Thing, path: Path) -> int:
        """Fill an object's fields, those of objects within it too; return how many were filled."""
        count = self._fill_slots(list(_slots(wanted, needs_context=False)), thing, path)
        for array, place in _arrays(wanted, path):
            count += self._fill_array(array, thing, place)
        return count

    def _fill_slots(self, slots: Sequence[Slot], thing: Thing, path: Path) -> int:
        chosen = self._fill_from(slots, thing)
        for slot in slots:
            place = slot.field.path
            if place in chosen:
                below = _below(slot.field, path)
                self._result.filled.append(Filled(below, chosen[place], thing.anchor))
            else:
                self._result.missing.append(place)
        return len(chosen)

    def _fill_array(self, wanted: Wanted, thing: Thing, path: Path) -> int:
        if wanted.item.kind is FieldKind.OBJECT:
            count = self._fill_records(wanted, thing, path)
        elif wanted.item.is_scalar:
            count = self._fill_list(wanted, thing, path)
        else:
            count = 0
        if not count:
            self._result.missing.append(wanted.path)
        return count

    def _fill_list(self, wanted: Wanted, thing: Thing, path: Path) -> int:
        best: list[Match] = []
        for found in self._lists_for(wanted, thing):
            if found and (not best or found[0].score > best[0].score):
                best = found
        seen: dict[str, Match] = {}
        for match in best[:MAX_RECORDS]:
            seen.setdefault(str(match.reading.value), match)
        for place, match in enumerate(seen.values()):
            self._result.filled.append(Filled((*path, place), Chosen(match), thing.anchor))
        return len(seen)

    def _lists_for(self, wanted: Wanted, thing: Thing) -> Iterator[list[Match]]:
        slot = Slot(wanted)
        if id(thing) not in self._list_labels:
            self._list_labels[id(thing)] = (thing, Labels(thing.lists))
        for each, fit in islice(self._list_labels[id(thing)][1].fitting(slot), _MAX_LISTS):
            if not each.is_chrome:
                yield self._read_items(wanted, _items_of(each), fit)
        for single, fit in islice(self._labels_of(thing).fitting(slot), _MAX_LISTS):
            if not single.is_chrome:
                yield self._read_items(wanted, split_items(single), fit * _SPLIT)

    def _read_items(self, wanted: Wanted, items: Sequence[Candidate], fit: float) -> list[Match]:
        found = []
        for item in items:
            reading = read_value(wanted.item, item.text, self._page.base)
            if reading is not None:
                found.append(Match(Slot(wanted.item), item, reading, fit * item.trust))
        return found

    def _fill_records(self, wanted: Wanted, thing: Thing, path: Path) -> int:
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

    def _page_as_group(self, wanted: Wanted) -> Group | None:
        """Return the page as the one record of a list: some sites have a page for each."""
        slots = list(_slots(wanted.item, needs_context=False))
        page = self._thing_for(slots)
        found = self._fill_from(slots, page)
        told = sum(each.best.score for each in found.values())
        is_such = _has_more_than_name(found) and told >= _LEAST_FILLED * len(slots)
        return Group(records=(page,)) if is_such else None

    def _add_record(
        self, wanted: Wanted, record: Thing, chosen: dict[str, Chosen], path: Path
    ) -> None:
        for place, each in chosen.items():
            below = tuple(place.removeprefix(f"{wanted.item.path}.").split("."))
            self._result.filled.append(Filled((*path, *below), each, record.anchor))
        for array, beneath in _arrays(wanted.item, path):
            if array.item.is_scalar:
                self._fill_list(array, record, beneath)

    def _choose_group(self, wanted: Wanted, groups: Sequence[Group]) -> Group | None:
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

    def _rate_group(self, wanted: Wanted, slots: Sequence[Slot], group: Group) -> float:
        """Return how well a group's records fill the fields; 0 for those of something else."""
        sample = group.records[:_SAMPLE]
        filled = [self._fill_from(slots, record) for record in sample]
        told = sum(each.best.score for found in filled for each in found.values())
        mean = told / (len(slots) * len(sample)) if sample else 0.0
        label_fit = fit_of(Slot(wanted), group.label, group.path)
        is_labelled = label_fit >= LEAST_FIT
        has_more = sum(_has_more_than_name(found) for found in filled) * 2 >= len(filled)
        if is_labelled and mean >= _LEAST_UNDER_LABEL and (has_more or len(slots) == 1):
            return mean + _LABEL_BONUS * label_fit
        return mean if has_more and len(group.records) > 1 and mean >= _LEAST_FILLED else 0.0


def _sole_list(root: Wanted) -> Wanted | None:
    """Return the list that is all a schema wants; None where it wants something else as well."""
    while root.kind is FieldKind.OBJECT and len(root.children) == 1:
        root = root.children[0]
    return root if root.kind is FieldKind.ARRAY else None


def _items_of(each: CandidateList) -> Sequence[Candidate]:
    return split_items(each.items[0]) if len(each.items) == 1 else each.items


def _has_more_than_name(found: dict[str, Chosen]) -> bool:
    return any(_NAME not in each.best.slot.field.words for each in found.values())


def _is_poor(chosen: dict[str, Chosen], slots: Sequence[Slot]) -> bool:
    """Whether a record has hardly anything of what its kind has: a heading or an advertisement."""
    return len(slots) >= _POOR_PART and len(chosen) * _POOR_PART < len(slots)


def _slots(wanted: Wanted, *, needs_context: bool) -> Iterator[Slot]:
    yield from name_slots(wanted.children, needs_context=needs_context)
    for child in wanted.children:
        if child.kind is FieldKind.OBJECT:
            yield from _slots(child, needs_context=True)


def _arrays(wanted: Wanted, path: Path) -> Iterator[tuple[Wanted, Path]]:
    for child in wanted.children:
        if child.kind is FieldKind.ARRAY:
            yield child, (*path, child.name)
        elif child.kind is FieldKind.OBJECT:
            yield from _arrays(child, (*path, child.name))


def _below(field_: Wanted, path: Path) -> Path:
    return (*path, *field_.path.split(".")) if field_.path else path
