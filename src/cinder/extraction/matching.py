"""Matches candidates with fields, by their labels and whether their texts can be parsed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Generic, TypeVar

import can_ada

from cinder.extraction.candidates import NO_ELEMENT, Candidate, CandidateList
from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.synonyms import Words, agreement, described, is_light, words_of, words_of_any
from cinder.extraction.values import ParsedValue, parse_value
from cinder.models.extraction import Method

MIN_FIT = 0.6
_NAME = words_of("name")[0]
_DATE = words_of("date")
_MONEY = (*words_of("price"), *words_of("salary"))
# Properties of every kind of entity: under another entity's name they belong to that one.
_UNIVERSAL = words_of_any("name", "url", "image", "description", "id", "type")
_GENERIC = _UNIVERSAL | words_of_any("value", "email", "phone")
_CONTACT = words_of_any(
    *("email", "phone", "fax", "address", "street", "city", "postal code", "country"),
    "opening hours",
)
_OUT_OF_CONTEXT = 0.4
_NAMED_BY_CONTEXT = 0.85
_BARE_DATE = 0.65
_IN_AMOUNT = 0.7
_FIRST_FIELD = 0.66
_IN_CHROME = 0.65
_MAX_BY_LABEL = 25
# Real pages have some tens of labels that share a word with a field.
_MAX_LABELS = 200
_MAX_MATCHES = 300
_CLOSE = 0.85
_MAX_OTHERS = 3


@dataclass(frozen=True, slots=True)
class FieldSlot:
    """A scalar field to fill, and how strictly labels are compared with it."""

    field: FieldSpec
    needs_context: bool = False
    """Whether a label must also name the field's parent, if the field's own name is generic."""
    may_be_heading: bool = False
    """Whether the entity's name may fill it, whatever the field is called."""


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """A candidate parsed as the value of a field."""

    slot: FieldSlot
    candidate: Candidate
    parsed: ParsedValue
    score: float

    @property
    def takes(self) -> tuple[object, ...]:
        """The keys that no other field may use after this match: a text at its position."""
        # An amount also gives its currency.
        return () if self.slot.field.holds_currency else (self.place, self._day)

    @property
    def needs(self) -> tuple[object, ...]:
        """The keys that no other field may have taken before."""
        if self.candidate.method is Method.META and self.slot.field.holds_date:
            # A date with a label of its own is not the page's date.
            return (self.place, self._day)
        return () if self.slot.field.holds_currency else (self.place,)

    @property
    def _day(self) -> object:
        return ("day", self.parsed.value) if self.slot.field.holds_date else self.place

    @property
    def place(self) -> object:
        """The position of its text."""
        at, label_text = self.candidate.at, self.candidate.label_text
        return (label_text if at == NO_ELEMENT else at, self.parsed.quote)


@dataclass(frozen=True, slots=True)
class ChosenMatch:
    """The match that fills a field, those that agree with it, and those that do not."""

    best: FieldMatch
    agreeing: tuple[FieldMatch, ...] = ()
    contrary: tuple[FieldMatch, ...] = ()


def name_slots(fields: Sequence[FieldSpec], *, needs_context: bool) -> list[FieldSlot]:
    """Return the slots of an object's scalar fields; if none is its name, the first may be."""
    scalars = [field for field in fields if field.is_scalar]
    has_name = needs_context or any(_NAME in field.words for field in scalars)
    plain = (
        field
        for field in scalars
        if field.kind is FieldKind.STRING and not field.format and not field.choices
    )
    first = next(plain, None)
    return [
        FieldSlot(field, needs_context, may_be_heading=not has_name and field is first)
        for field in scalars
    ]


LabelledT = TypeVar("LabelledT", bound=Candidate | CandidateList)


class LabelIndex(Generic[LabelledT]):
    """An index of candidates, or of lists of them, by the words of their labels."""

    def __init__(self, labelled: Iterable[LabelledT]) -> None:
        self._by_label: dict[tuple[Words, Words], list[LabelledT]] = {}
        self._by_word: dict[str, dict[tuple[Words, Words], None]] = {}
        for each in labelled:
            key = (each.label, each.path)
            alike = self._by_label.setdefault(key, [])
            if not alike:
                for word in (*each.label, *each.path):
                    self._by_word.setdefault(word, {})[key] = None
            if len(alike) < _MAX_BY_LABEL:
                alike.append(each)

    def fitting(self, slot: FieldSlot) -> Iterator[tuple[LabelledT, float]]:
        """Yield the candidates whose labels fit a field, and how well."""
        field = slot.field
        extra = (_NAME,) if slot.may_be_heading else _MONEY if field.holds_currency else ()
        words = (*field.words, *field.context, *field.description, *extra)
        keys = {key: None for word in words for key in self._by_word.get(word, ())}
        for label, path in islice(keys, _MAX_LABELS):
            fit = fit_of(slot, label, path)
            if fit >= MIN_FIT:
                for each in self._by_label[(label, path)]:
                    yield each, fit


def fit_of(slot: FieldSlot, label: Words, path: Words) -> float:
    """Return from 0 to 1 how well a label fits a field."""
    field = slot.field
    fit = max(
        agreement(field.words, field.context, label, path), described(field.description, label)
    )
    # A generic name needs a label that names the field's parent.
    needs_context = slot.needs_context and all(
        word in _GENERIC or is_light(word) for word in field.words
    )
    if _NAME in field.words and label and set(label) <= set(field.context):
        fit = max(fit, _NAMED_BY_CONTEXT)
    elif (needs_context and set(field.context).isdisjoint((*label, *path))) or _is_of_another(
        field, label, path
    ):
        fit *= _OUT_OF_CONTEXT
    if field.holds_date and label == _DATE and not path:
        fit = max(fit, _BARE_DATE)
    if field.holds_currency and not set(_MONEY).isdisjoint(label):
        fit = max(fit, _IN_AMOUNT)
    if slot.may_be_heading and label == (_NAME,) and not path:
        fit = max(fit, _FIRST_FIELD)
    return fit


def _is_of_another(field: FieldSpec, label: Words, path: Words) -> bool:
    """Whether a name, URL or the like belongs to another entity than the field's."""
    if not all(word in _UNIVERSAL for word in field.words):
        return False
    foreign = set(path) - set(field.words) - set(field.context) - set(label)
    return any(not is_light(word) for word in foreign)


def fill_slots(
    slots: Sequence[FieldSlot], labels: LabelIndex[Candidate], base: can_ada.URL | None
) -> dict[str, ChosenMatch]:
    """Return the match for each slot, by the path of its field; each text fills one field only."""
    by_path: dict[str, list[FieldMatch]] = {}
    for slot in slots:
        matches = by_path[slot.field.path] = []
        for candidate, fit in islice(labels.fitting(slot), _MAX_MATCHES):
            score = fit * candidate.trust
            if candidate.is_chrome:
                if _CONTACT.isdisjoint(slot.field.words):
                    continue
                score *= _IN_CHROME
            parsed = parse_value(slot.field, candidate.text, base)
            if parsed is not None:
                matches.append(FieldMatch(slot, candidate, parsed, score))
    ranked = [match for found in by_path.values() for match in found]
    ranked.sort(key=attrgetter("score"), reverse=True)
    best: dict[str, FieldMatch] = {}
    taken: set[object] = set()
    for match in ranked:
        path = match.slot.field.path
        if path not in best and taken.isdisjoint(match.needs):
            best[path] = match
            taken.update(match.takes)
    return {path: _with_others(match, by_path[path]) for path, match in best.items()}


def _with_others(best: FieldMatch, matches: Sequence[FieldMatch]) -> ChosenMatch:
    close = [
        each
        for each in sorted(matches, key=attrgetter("score"), reverse=True)
        if each is not best and each.score >= _CLOSE * best.score and each.place != best.place
    ]
    agreeing = [each for each in close if each.parsed.value == best.parsed.value]
    contrary = {str(each.parsed.value): each for each in reversed(close) if each not in agreeing}
    return ChosenMatch(
        best,
        tuple(agreeing[:_MAX_OTHERS]),
        tuple(reversed(contrary.values()))[:_MAX_OTHERS],
    )
