"""Candidates for the value of a field, and those that a list or a postal address splits into."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cinder.extraction.flat_page import PageElement
from cinder.extraction.synonyms import Words, words_of
from cinder.models.extraction import Method

NO_ELEMENT = -1
_MAX_TEXT_CHARS = 2_000

# How far a candidate is trusted by the method that found it.
METHOD_WEIGHTS = {
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
    """A text of a page, its label, and its position."""

    text: str
    label: Words
    method: Method
    path: Words = ()
    """The words of the labels that it is nested in."""
    label_text: str = ""
    """The label as the page has it."""
    at: int = NO_ELEMENT
    """The index of its element; NO_ELEMENT if it is in no visible element."""
    weight: float = 1.0
    is_chrome: bool = False
    """Whether it is in a part that pages share: navigation, footer, side bar."""
    is_record_only: bool = False
    """Whether it describes only the record that it is in."""

    @property
    def trust(self) -> float:
        """How far it is trusted, regardless of the field."""
        return self.weight * METHOD_WEIGHTS[self.method]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateList:
    """Several texts under one label."""

    items: tuple[Candidate, ...]
    label: Words
    path: Words = ()
    at: int = NO_ELEMENT
    is_chrome: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """All candidates for one entity: a page, an item of linked data, a record of a list."""

    candidates: tuple[Candidate, ...] = ()
    lists: tuple[CandidateList, ...] = ()
    groups: tuple["RecordGroup", ...] = ()
    anchor: str = ""
    """A text near which its quotes are searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordGroup:
    """Entities of one kind in one list: rows, cards, items."""

    records: tuple[Entity, ...]
    label: Words = ()
    path: Words = ()
    is_chrome: bool = False


_LABEL_ENDINGS = " :\uff1a-\u2013\u2014"


def labelled_candidate(
    label: str,
    text: str,
    method: Method,
    element: PageElement | None = None,
    *,
    weight: float = 1.0,
    is_record_only: bool = False,
) -> Candidate:
    """Return a candidate with a label from the page, which may end with a colon."""
    label = without_colon(label)
    return Candidate(
        text=text[:_MAX_TEXT_CHARS],
        label=words_of(label),
        label_text=label,
        method=method,
        at=element.index if element else NO_ELEMENT,
        weight=weight,
        is_chrome=element is not None and element.is_chrome,
        is_record_only=is_record_only,
    )


def without_colon(label: str) -> str:
    """Return a label without the colon or dash before its value."""
    return label.strip().rstrip(_LABEL_ENDINGS)


MAX_PARTS = 200
_MAX_PART_CHARS = 80
_MARKS = (
    re.compile(r"\s*;\s*"),
    re.compile(r"\s*[|•·]\s*"),
    re.compile(r",\s+(?:and\s+)?|\s+and\s+"),
)


def split_enumeration(candidate: Candidate) -> Sequence[Candidate]:
    """Return the items that a text enumerates, or the text itself if it is no enumeration."""
    for mark in _MARKS:
        parts = [part.strip() for part in mark.split(candidate.text, MAX_PARTS)]
        parts = [part for part in parts if part]
        if len(parts) > 1:
            # Long parts are clauses of sentences, not items.
            is_list = max(map(len, parts)) <= _MAX_PART_CHARS
            return [replace(candidate, text=part) for part in parts] if is_list else [candidate]
    return [candidate]


_MAX_CHARS = 250
_MAX_PARTS = 8
_ADDRESS = words_of("address")
_TRUST = 0.9
_POSTAL = re.compile(
    r"\b(?:\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|"
    r"\d{4} ?[A-Z]{2}|\d{4})(?!\w)"
)
_REGION = re.compile(r"[A-Z]{2,3}\Z")
_LINES = re.compile(r"\s*[,\n]\s*")


def address_parts(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the parts of postal addresses, each under its own name."""
    for candidate in candidates:
        if candidate.label == _ADDRESS and len(candidate.text) <= _MAX_CHARS:
            for name, text in split_address(candidate.text):
                yield replace(
                    candidate,
                    text=text,
                    label=words_of(name),
                    path=_ADDRESS,
                    weight=candidate.weight * _TRUST,
                )


def split_address(text: str) -> list[tuple[str, str]]:
    """Return the parts of an address by name, those that are certain."""
    parts = [part for part in _LINES.split(text.strip())[:_MAX_PARTS] if part]
    index = next((n for n in range(len(parts) - 1, 0, -1) if _POSTAL.search(parts[n])), None)
    if index is None or not any(character.isdigit() for character in parts[0]):
        return []
    postal = _POSTAL.findall(parts[index])[-1]
    rest = parts[index].replace(postal, "").strip(" -")
    found = [("street", parts[0]), ("postal code", postal)]
    if _REGION.match(rest) or not rest:
        # `Springfield, IL 62701`, or the code on a line of its own.
        found += [("region", rest)] if rest else []
        found += [("city", parts[index - 1])] if index > 1 else []
    else:
        found.append(("city", rest))
    if index + 1 == len(parts) - 1 and not any(map(str.isdigit, parts[-1])):
        found.append(("country", parts[-1]))
    return found
