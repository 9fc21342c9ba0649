"""What a generated page tells: facts with the ways in which templates may write them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cinder.models.document import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that is true, and its two wordings: for the tuned and the held-out templates."""

    name: str
    """Its path in the schema, with dots."""
    value: Json
    labels: tuple[str, str]
    texts: tuple[str, str]
    prop: str
    """Its path in schema.org, with dots."""
    machine: str | int | float | None = None
    """How JSON-LD says it; the value itself where absent."""
    css: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList:
    """Several things that are true: texts, or records that share the names of their facts."""

    name: str
    labels: tuple[str, str]
    prop: str
    texts: tuple[str, ...] = ()
    records: tuple[tuple[Fact, ...], ...] = ()
    item_type: str = "Thing"
    is_ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All that a page tells of one thing."""

    kind: str
    schema_type: str
    heading: Fact
    facts: tuple[Fact, ...]
    lists: tuple[FactList, ...] = ()
    prose: tuple[str, ...] = ()

    @property
    def truth(self) -> dict[str, Json]:
        """What an extractor should return."""
        known: dict[str, Json] = {}
        for fact in (self.heading, *self.facts):
            _put(known, fact.name.split("."), fact.value)
        for each in self.lists:
            known[each.name] = [*each.texts, *map(_record_truth, each.records)]
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A generated page, the schema to extract by, and what is true."""

    kind: str
    template: str
    is_held_out: bool
    url: str
    html: str
    schema: Mapping[str, Json]
    truth: Mapping[str, Json]


def _record_truth(record: Sequence[Fact]) -> Json:
    return {fact.name: fact.value for fact in record}


def _put(known: dict[str, Json], path: Sequence[str], value: Json) -> None:
    if len(path) == 1:
        known[path[0]] = value
        return
    inner = known.setdefault(path[0], {})
    assert isinstance(inner, dict)
    _put(inner, path[1:], value)
