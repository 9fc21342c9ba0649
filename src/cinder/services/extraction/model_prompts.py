"""The fields that a model is asked for, the prompt that asks for them, and what was found."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema
from cinder.extraction.grounding import ClaimProver, TextSpan, normalise_claim
from cinder.llm.base import ModelRequest
from cinder.llm.prompting import PromptFence
from cinder.models.document import Json
from cinder.models.extraction import FieldPath, FieldValue, RankedPassage

MAX_ITEMS = 500

_MAX_HINT_CHARS = 300
_GROUNDED, _UNPROVED = 0.9, 0.3
_QUOTE: dict[str, Json] = {"type": "string"}
# What models write instead of null.
_NOTHING = frozenset(
    ("", "null", "none", "n/a", "na", "unknown", "not found", "not available", "not specified", "-")
)
_NOT_A_NAME = re.compile(r"[^\w]+")
_MAX_NAME_CHARS = 60
_FREE_KINDS = {bool: FieldKind.BOOLEAN, int: FieldKind.INTEGER, float: FieldKind.NUMBER}


@dataclass(frozen=True, slots=True)
class ProofContext:
    """The prover that looks up quotes, and the parts of the page that the model has read."""

    prover: ClaimProver
    spans: Sequence[TextSpan]

    def prove(
        self, spec: FieldSpec, path: FieldPath, value: Json, quote: Json
    ) -> FieldValue | None:
        """Return a value with its evidence; None if the model gave none."""
        if _is_nothing(value) or (value := normalise_claim(spec, value)) is None:
            return None
        text = quote if isinstance(quote, str) else ""
        evidence = self.prover.prove(spec, value, text, self.spans)
        proved = FieldValue(path=path, value=value, evidence=(evidence,), score=_GROUNDED)
        return proved if proved.is_grounded else replace(proved, score=_UNPROVED)


@dataclass(slots=True, kw_only=True)
class ScalarSearch:
    """Searches for one value: the first grounded one, or else the first."""

    key: str
    name: str
    spec: FieldSpec
    path: FieldPath
    is_open: bool = True
    found: FieldValue | None = None

    @property
    def line(self) -> str:
        """Its line in the prompt."""
        return f"- {self.key}{_hint(self.spec)}"

    @property
    def wire(self) -> dict[str, Json]:
        """A value and its quote."""
        return _object({"value": _scalar(self.spec), "quote": _QUOTE})

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """The value, if any."""
        return (self.found,) if self.found is not None else ()

    def take(self, data: Json, context: ProofContext) -> bool:
        """Keep a value that is the first, or the first with proof."""
        answer = data if isinstance(data, Mapping) else {}
        value = context.prove(self.spec, self.path, answer.get("value"), answer.get("quote"))
        if value is None or (self.found is not None and not value.is_grounded):
            return False
        self.found = value
        self.is_open = not value.is_grounded
        return value.is_grounded


@dataclass(slots=True, kw_only=True)
class ListSearch:
    """Searches for the items of an array, until a part of the page has no more."""

    key: str
    name: str
    spec: FieldSpec
    path: FieldPath
    columns: Mapping[str, tuple[FieldSpec, FieldPath]]
    """The values of an item by their names in the answer; an unnamed one is `value`."""
    is_open: bool = True
    items: dict[str, tuple[FieldValue, ...]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """Its line in the prompt."""
        names = ", ".join(f"{key}{_hint(column)}" for key, (column, _) in self.columns.items())
        return f"- {self.key}{_hint(self.spec)}: all of them, each with {names}"

    @property
    def wire(self) -> dict[str, Json]:
        """Items, each with one quote."""
        columns = {key: _scalar(column) for key, (column, _) in self.columns.items()}
        return {"type": "array", "items": _object({**columns, "quote": _QUOTE})}

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """The values of all items."""
        return tuple(value for item in self.items.values() for value in item)

    def take(self, data: Json, context: ProofContext) -> bool:
        """Add the new items."""
        before = len(self.items)
        for item in data if isinstance(data, list) else ():
            if isinstance(item, Mapping) and len(self.items) < MAX_ITEMS:
                self._add(item, context)
        has_more = len(self.items) > before
        self.is_open = has_more or not self.items
        return has_more

    def _add(self, item: Mapping[str, Json], context: ProofContext) -> None:
        given = {key: item.get(key) for key in self.columns if not _is_nothing(item.get(key))}
        identity = json.dumps(given, sort_keys=True).casefold()
        if not given or identity in self.items:
            return
        path = (*self.path, len(self.items))
        values = (
            context.prove(column, (*path, *below), item.get(key), item.get("quote"))
            for key, (column, below) in self.columns.items()
        )
        if kept := tuple(value for value in values if value is not None):
            self.items[identity] = kept


@dataclass(slots=True, kw_only=True)
class FreeSearch:
    """Searches for the values that a prompt asks for, without a schema."""

    key: str = "found"
    name: str = ""
    spec: FieldSpec | None = None
    is_open: bool = True
    found: dict[tuple[str, str], FieldValue] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """Its line in the prompt."""
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
        positions: Counter[str] = Counter()
        values = []
        for (name, _), value in self.found.items():
            path: FieldPath = (name,) if counts[name] == 1 else (name, positions[name])
            positions[name] += 1
            values.append(replace(value, path=path))
        return tuple(values)

    def take(self, data: Json, context: ProofContext) -> bool:
        """Add the new values."""
        before = len(self.found)
        for item in data if isinstance(data, list) else ():
            if isinstance(item, Mapping) and len(self.found) < MAX_ITEMS:
                self._add(item, context)
        has_more = len(self.found) > before
        self.is_open = has_more or not self.found
        return has_more

    def _add(self, item: Mapping[str, Json], context: ProofContext) -> None:
        name, value = _camel_case(item.get("name")), item.get("value")
        identity = (name, json.dumps(value).casefold())
        if not name or identity in self.found:
            return
        kind = _FREE_KINDS.get(type(value), FieldKind.STRING)
        spec = FieldSpec(name=name, kind=kind, path=name, words=())
        proved = context.prove(spec, (name,), value, item.get("quote"))
        if proved is not None:
            self.found[identity] = proved


FieldSearch = ScalarSearch | ListSearch | FreeSearch
"""A field that is searched for.

`key` is its name in the model's answer, `name` its path in the schema, `line` its line in the
prompt, `wire` its JSON Schema in the answer. `take` looks up the model's answer for it and returns
whether that adds a value; `is_open` says whether the search goes on.
"""


def _camel_case(name: Json) -> str:
    words = _NOT_A_NAME.sub(" ", name if isinstance(name, str) else "")[:_MAX_NAME_CHARS].split()
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


def _scalar(spec: FieldSpec) -> dict[str, Json]:
    return {"enum": list(spec.choices)} if spec.choices else {"type": spec.kind.value}


def _hint(spec: FieldSpec) -> str:
    kind = spec.kind.value if spec.is_scalar else ""
    formats = {"date": "date as YYYY-MM-DD", "date-time": "date and time in ISO 8601"}
    parts = (formats.get(spec.format, kind), spec.description_text[:_MAX_HINT_CHARS])
    hint = "; ".join(filter(None, parts))
    return f" ({hint})" if hint else ""


# The names that all servers accept: letters, digits and underscores, at most 64.
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_]+")
_MAX_KEY_CHARS = 56
_VALUE = "value"


def plan_searches(
    schema: Mapping[str, Json], names: Sequence[str]
) -> tuple[list[FieldSearch], tuple[str, ...]]:
    """Return a search for each named field of a schema, and the names that cannot be asked for.

    A name is a path in the schema: `price`, `address.city`, `offers` or `offers[]`. A path into an
    array searches for all its items.
    """
    root, _ = read_schema(schema)
    taken: set[str] = set()
    searches: list[FieldSearch] = []
    known: set[str] = set()
    for spec, path in _leaves(root, ()):
        named = [
            name
            for name in names
            if name == spec.path
            or spec.path.startswith(f"{name}.")
            or (spec.kind is FieldKind.ARRAY and name.startswith(f"{spec.path}[]"))
        ]
        columns = {} if spec.is_scalar else dict(_columns(spec.item))
        if not named or not (spec.is_scalar or columns):
            continue
        known.update(named)
        key = _take_key(spec.path, taken)
        if spec.is_scalar:
            searches.append(ScalarSearch(key=key, name=spec.path, spec=spec, path=path))
        else:
            searches.append(
                ListSearch(key=key, name=spec.path, spec=spec, path=path, columns=columns)
            )
    return searches, tuple(name for name in dict.fromkeys(names) if name not in known)


def _leaves(spec: FieldSpec, path: FieldPath) -> Iterator[tuple[FieldSpec, FieldPath]]:
    """Yield the scalar fields and the arrays, with their paths."""
    if spec.kind is not FieldKind.OBJECT:
        yield spec, path
        return
    for child in spec.children:
        yield from _leaves(child, (*path, child.name))


def _columns(item: FieldSpec) -> Iterator[tuple[str, tuple[FieldSpec, FieldPath]]]:
    """Yield the scalar fields of an array's item by their names in the answer."""
    if item.is_scalar:
        yield _VALUE, (item, ())
        return
    taken = {"quote"}
    for spec, path in _leaves(item, ()):
        if spec.is_scalar:
            yield _take_key("_".join(map(str, path)), taken), (spec, path)


def _take_key(name: str, taken: set[str]) -> str:
    """Return a unique name in the answer for a field, and add it to those taken."""
    base = _NOT_IN_KEYS.sub("_", name).strip("_")[:_MAX_KEY_CHARS] or "field"
    key, number = base, 1
    while key in taken:
        number += 1
        key = f"{base}_{number}"
    taken.add(key)
    return key


_TASK = "You copy values out of the text of a web page. You never guess, and you answer in JSON."
_HOW = (
    "For each value give a quote: the shortest part of the text that says the value, copied letter "
    "by letter. What the text does not say is null, value and quote."
)
_MAX_PROMPT_CHARS = 10_000


def make_prompt(
    prompt: str, searches: Sequence[FieldSearch], passages: Sequence[RankedPassage]
) -> ModelRequest:
    """Return the request that asks for the values of fields in some passages."""
    text = format_passages(passages)
    fence = PromptFence.around(text)
    fields = "\n".join(search.line for search in searches)
    task = [f"What is wanted: {prompt[:_MAX_PROMPT_CHARS]}"] if prompt.strip() else []
    parts = (*task, f"Find:\n{fields}", _HOW, fence.enclose(text), f"Find:\n{fields}")
    return ModelRequest(
        system=f"{_TASK} {fence.rule}",
        user="\n\n".join(parts),
        schema=_object({search.key: search.wire for search in searches}),
    )


def format_passages(passages: Sequence[RankedPassage]) -> str:
    """Return passages as one text, in the order of the page, each under its headings."""
    shown = []
    heading = ""
    for passage in sorted(passages, key=lambda passage: passage.start):
        is_new = passage.heading and passage.heading != heading
        lines = [f"({passage.heading})"] if is_new else []
        heading = passage.heading
        shown.append("\n".join(filter(None, (*lines, passage.context, passage.text.strip()))))
    return "\n\n".join(shown)
