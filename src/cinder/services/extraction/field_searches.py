"""What a model is asked for each field of a schema, and what has been found of it so far."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema
from cinder.extraction.grounding import ClaimProver, TextSpan, normalise_claim
from cinder.models.document import Json
from cinder.models.extraction import FieldPath, FieldValue

MAX_ITEMS = 500

_MAX_TOLD_CHARS = 300
_GROUNDED, _UNPROVED = 0.9, 0.3
_QUOTE: dict[str, Json] = {"type": "string"}
# What models write where they mean null.
_NOTHING = frozenset(
    ("", "null", "none", "n/a", "na", "unknown", "not found", "not available", "not specified", "-")
)
_NOT_A_NAME = re.compile(r"[^\w]+")
_MAX_NAME_CHARS = 60
_FREE_KINDS = {bool: FieldKind.BOOLEAN, int: FieldKind.INTEGER, float: FieldKind.NUMBER}


@dataclass(frozen=True, slots=True)
class ProofContext:
    """What was read: by whom quotes are looked up, and which parts of the page the model saw."""

    prover: ClaimProver
    spans: Sequence[TextSpan]

    def prove(
        self, wanted: FieldSpec, path: FieldPath, value: Json, quote: Json
    ) -> FieldValue | None:
        """Return a value with its proof; None where none was given."""
        if _is_nothing(value) or (value := normalise_claim(wanted, value)) is None:
            return None
        said = quote if isinstance(quote, str) else ""
        shown = self.prover.prove(wanted, value, said, self.spans)
        proved = FieldValue(path=path, value=value, evidence=(shown,), score=_GROUNDED)
        if proved.is_grounded:
            return proved
        return FieldValue(path=path, value=value, evidence=(shown,), score=_UNPROVED)


class FieldSearch(Protocol):
    """A field that is being looked for."""

    is_open: bool
    """Whether more is to be looked for."""

    @property
    def key(self) -> str:
        """Its name in the model's answer."""
        ...

    @property
    def name(self) -> str:
        """Its place in the schema."""
        ...

    @property
    def wanted(self) -> FieldSpec | None:
        """What the schema says of it; None where there is no schema."""
        ...

    @property
    def line(self) -> str:
        """How the model is told of it."""
        ...

    @property
    def wire(self) -> dict[str, Json]:
        """What the answer has to be like."""
        ...

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """What was found."""
        ...

    def take(self, said: Json, reading: ProofContext) -> bool:
        """Look up what the model said; return whether something was found that is new."""
        ...


@dataclass(slots=True, kw_only=True)
class ScalarSearch:
    """Looks for one value: the first that the page holds; else the first that was said."""

    key: str
    name: str
    wanted: FieldSpec
    path: FieldPath
    is_open: bool = True
    found: FieldValue | None = None

    @property
    def line(self) -> str:
        """How the model is told of it."""
        return f"- {self.key}{_hint(self.wanted)}"

    @property
    def wire(self) -> dict[str, Json]:
        """A value and its quote."""
        return _object({"value": _scalar(self.wanted), "quote": _QUOTE})

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """The value, if any."""
        return (self.found,) if self.found is not None else ()

    def take(self, said: Json, reading: ProofContext) -> bool:
        """Keep a value that is the first, or the first with proof."""
        told = said if isinstance(said, Mapping) else {}
        value = reading.prove(self.wanted, self.path, told.get("value"), told.get("quote"))
        if value is None or (self.found is not None and not value.is_grounded):
            return False
        self.found = value
        self.is_open = not value.is_grounded
        return value.is_grounded


@dataclass(slots=True, kw_only=True)
class ListSearch:
    """Looks for the items of an array, until a part of the page has no further ones."""

    key: str
    name: str
    wanted: FieldSpec
    path: FieldPath
    columns: Mapping[str, tuple[FieldSpec, FieldPath]]
    """The values of an item by their names in the answer; the only one is `value` if unnamed."""
    is_open: bool = True
    items: dict[str, tuple[FieldValue, ...]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """How the model is told of it."""
        names = ", ".join(f"{key}{_hint(column)}" for key, (column, _) in self.columns.items())
        return f"- {self.key}{_hint(self.wanted)}: all of them, each with {names}"

    @property
    def wire(self) -> dict[str, Json]:
        """Items, each with one quote."""
        columns = {key: _scalar(column) for key, (column, _) in self.columns.items()}
        return {"type": "array", "items": _object({**columns, "quote": _QUOTE})}

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """The values of all items."""
        return tuple(value for item in self.items.values() for value in item)

    def take(self, said: Json, reading: ProofContext) -> bool:
        """Add the items that are not there yet."""
        before = len(self.items)
        for each in said if isinstance(said, list) else ():
            if isinstance(each, Mapping) and len(self.items) < MAX_ITEMS:
                self._add(each, reading)
        has_more = len(self.items) > before
        self.is_open = has_more or not self.items
        return has_more

    def _add(self, item: Mapping[str, Json], reading: ProofContext) -> None:
        given = {key: item.get(key) for key in self.columns if not _is_nothing(item.get(key))}
        identity = json.dumps(given, sort_keys=True).casefold()
        if not given or identity in self.items:
            return
        place = (*self.path, len(self.items))
        values = (
            reading.prove(column, (*place, *below), item.get(key), item.get("quote"))
            for key, (column, below) in self.columns.items()
        )
        if kept := tuple(value for value in values if value is not None):
            self.items[identity] = kept


@dataclass(slots=True, kw_only=True)
class FreeSearch:
    """Looks for whatever a prompt wants, where no schema says which fields that are."""

    key: str = "found"
    name: str = ""
    wanted: FieldSpec | None = None
    is_open: bool = True
    found: dict[tuple[str, str], FieldValue] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """How the model is told of it."""
        return (
            f"- {self.key}: what is wanted, as a list of values; the name of each says in one to "
            "three words what it is. Several values of one kind have the same name"
        )

    @property
    def wire(self) -> dict[str, Json]:
        """Names, values and quotes."""
        value: dict[str, Json] = {"type": ["string", "number", "boolean"]}
        item = _object({"name": {"type": "string"}, "value": value, "quote": _QUOTE})
        return {"type": "array", "items": item}

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """The values; those of one name are an array."""
        counts = Counter(name for name, _ in self.found)
        places: Counter[str] = Counter()
        values = []
        for (name, _), value in self.found.items():
            path: FieldPath = (name,) if counts[name] == 1 else (name, places[name])
            places[name] += 1
            values.append(
                FieldValue(path=path, value=value.value, evidence=value.evidence, score=value.score)
            )
        return tuple(values)

    def take(self, said: Json, reading: ProofContext) -> bool:
        """Add the values that are not there yet."""
        before = len(self.found)
        for each in said if isinstance(said, list) else ():
            if isinstance(each, Mapping) and len(self.found) < MAX_ITEMS:
                self._add(each, reading)
        has_more = len(self.found) > before
        self.is_open = has_more or not self.found
        return has_more

    def _add(self, item: Mapping[str, Json], reading: ProofContext) -> None:
        name, value = _free_name(item.get("name")), item.get("value")
        identity = (name, json.dumps(value).casefold())
        if not name or identity in self.found:
            return
        kind = _FREE_KINDS.get(type(value), FieldKind.STRING)
        wanted = FieldSpec(name=name, kind=kind, path=name, words=())
        proved = reading.prove(wanted, (name,), value, item.get("quote"))
        if proved is not None:
            self.found[identity] = proved


def _free_name(said: Json) -> str:
    """Return what the model calls a value as a name of data: `startDate`."""
    words = _NOT_A_NAME.sub(" ", said if isinstance(said, str) else "")[:_MAX_NAME_CHARS].split()
    if len(words) == 1:
        return words[0]
    lower = [word.casefold() for word in words]
    return "".join((*lower[:1], *(word.capitalize() for word in lower[1:])))


def _is_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() in _NOTHING
    return value is None or isinstance(value, list | dict)


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def _scalar(wanted: FieldSpec) -> dict[str, Json]:
    if wanted.choices:
        return {"enum": list(wanted.choices)}
    return {"type": wanted.kind.value}


def _hint(wanted: FieldSpec) -> str:
    kind = wanted.kind.value if wanted.is_scalar else ""
    shape = {"date": "date as YYYY-MM-DD", "date-time": "date and time in ISO 8601"}
    parts = (shape.get(wanted.format, kind), wanted.description_text[:_MAX_TOLD_CHARS])
    said = "; ".join(filter(None, parts))
    return f" ({said})" if said else ""


# The narrowest that servers take: letters, figures and underscores, at most 64.
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_]+")
_MAX_KEY_CHARS = 56
_VALUE = "value"


def plan_searches(
    schema: Mapping[str, Json], names: Sequence[str]
) -> tuple[list[FieldSearch], tuple[str, ...]]:
    """Return a search for each named field of a schema, and the names that cannot be asked for.

    A name is a place in the schema: `price`, `address.city`, `offers` or `offers[]`. Of an array
    all items are asked for, even if the name is that of something in them.
    """
    root, _ = read_schema(schema)
    keys = _Keys()
    searches: list[FieldSearch] = []
    known: set[str] = set()
    for wanted, path in _leaves(root, ()):
        asked = [name for name in names if _is_meant(wanted, name)]
        if asked and (search := _search(wanted, path, keys)):
            known.update(asked)
            searches.append(search)
    return searches, tuple(name for name in dict.fromkeys(names) if name not in known)


def _leaves(wanted: FieldSpec, path: FieldPath) -> Iterator[tuple[FieldSpec, FieldPath]]:
    """Yield what is no object of fields, with its place."""
    if wanted.kind is not FieldKind.OBJECT:
        yield wanted, path
        return
    for child in wanted.children:
        yield from _leaves(child, (*path, child.name))


def _is_meant(wanted: FieldSpec, name: str) -> bool:
    if wanted.kind is FieldKind.ARRAY and name.startswith(f"{wanted.path}[]"):
        return True
    return name == wanted.path or wanted.path.startswith(f"{name}.")


def _search(wanted: FieldSpec, path: FieldPath, keys: "_Keys") -> FieldSearch | None:
    if wanted.is_scalar:
        key = keys.take(wanted.path)
        return ScalarSearch(key=key, name=wanted.path, wanted=wanted, path=path)
    columns = dict(_columns(wanted.item))
    if not columns:
        return None
    key = keys.take(wanted.path)
    return ListSearch(key=key, name=wanted.path, wanted=wanted, path=path, columns=columns)


def _columns(item: FieldSpec) -> Iterator[tuple[str, tuple[FieldSpec, FieldPath]]]:
    """Yield the values of an array's item by their names; arrays in arrays are not asked for."""
    if item.is_scalar:
        yield _VALUE, (item, ())
        return
    keys = _Keys("quote")
    for wanted, path in _leaves(item, ()):
        if wanted.is_scalar:
            yield keys.take("_".join(map(str, path))), (wanted, path)


class _Keys:
    """Gives each field a name in the answer that no other has."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def take(self, wanted: str) -> str:
        base = _NOT_IN_KEYS.sub("_", wanted).strip("_")[:_MAX_KEY_CHARS] or "field"
        key, number = base, 1
        while key in self._taken:
            number += 1
            key = f"{base}_{number}"
        self._taken.add(key)
        return key
