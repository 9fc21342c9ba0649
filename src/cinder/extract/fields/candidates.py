"""Candidates: texts of a page that may be the value of a field, each with what it is called."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cinder.extract.fields.words import Words
from cinder.model.extracted_data import Method

NOWHERE = -1
MAX_TEXT_CHARS = 2_000

# How far a way of saying something is trusted, all else being equal.
WEIGHTS = {
    Method.JSON_LD: 1.0,
    Method.MICRODATA: 1.0,
    Method.TABLE: 0.98,
    Method.DEFINITION_LIST: 0.98,
    Method.LABEL: 0.96,
    Method.META: 0.9,
    Method.HEADING: 0.92,
    Method.NAMED_ELEMENT: 0.88,
    Method.TYPED: 0.7,
    Method.RECIPE: 1.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A text, what it is called, and where it stands."""

    text: str
    label: Words
    method: Method
    path: Words = ()
    """The words of what it belongs to."""
    said: str = ""
    """The label as the page has it."""
    at: int = NOWHERE
    """The number of its element; NOWHERE for what stands in no element that is shown."""
    weight: float = 1.0
    is_chrome: bool = False
    """Whether it stands in a part that pages share: navigation, footer, side bar."""
    is_record_only: bool = False
    """Whether it says something only of the record that it stands in."""

    @property
    def trust(self) -> float:
        """How far it is to be trusted, all else being equal."""
        return self.weight * WEIGHTS[self.method]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateList:
    """Several texts under one label."""

    items: tuple[Candidate, ...]
    label: Words
    path: Words = ()
    said: str = ""
    at: int = NOWHERE
    is_chrome: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """The elements of a record: from one number up to another."""

    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """What is known of one thing: a page, an item of linked data, a record of a list."""

    candidates: tuple[Candidate, ...] = ()
    lists: tuple[CandidateList, ...] = ()
    groups: tuple["Group", ...] = ()
    anchor: str = ""
    """A text near which its quotes are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Things of one kind that stand together: rows, cards, items of a list."""

    records: tuple[Thing, ...]
    label: Words = ()
    path: Words = ()
    said: str = ""
    is_chrome: bool = False


@dataclass(frozen=True)
class Finds:
    """All candidates of a page's elements, in document order."""

    candidates: Sequence[Candidate]
    lists: Sequence[CandidateList] = field(default=())

    def within(self, span: Span) -> list[Candidate]:
        """Return the candidates of the elements of a span."""
        return list(self.candidates[_range(self._places, span)])

    def lists_within(self, span: Span) -> list[CandidateList]:
        """Return the lists that begin in a span."""
        return list(self.lists[_range(self._list_places, span)])

    @cached_property
    def _places(self) -> list[int]:
        return [each.at for each in self.candidates]

    @cached_property
    def _list_places(self) -> list[int]:
        return [each.at for each in self.lists]


def _range(places: list[int], span: Span) -> slice:
    return slice(bisect_left(places, span.first), bisect_left(places, span.end))
