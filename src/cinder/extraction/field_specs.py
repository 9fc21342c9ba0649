"""Reads a caller's JSON Schema into a tree of field specifications."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from cinder.extraction.synonyms import Words, plain_words_of, words_of
from cinder.models.document import Json
from cinder.models.extraction import FieldPath

MAX_DEPTH = 6
MAX_FIELDS = 500
_MAX_REFERENCES = 10
_MAX_NAME_CHARS = 200
_MAX_DESCRIPTION_CHARS = 500
_MAX_CHOICES = 200
_CURRENCY_WORDS = frozenset(words_of("currency"))


class FieldKind(Enum):
    """What a field holds."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"


_KINDS = {kind.value: kind for kind in FieldKind}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldSpec:
    """A field of a schema: its name, the kind of its value, and the fields below it."""

    name: str
    kind: FieldKind
    path: str
    words: Words
    context: Words = ()
    """The words of the field's parent."""
    description: Words = ()
    description_text: str = ""
    """The schema's description or title, as written."""
    choices: tuple[Json, ...] = ()
    format: str = ""
    children: tuple["FieldSpec", ...] = ()
    """The fields of an object, or the one field that describes an array's items."""

    @property
    def is_scalar(self) -> bool:
        """Whether it holds one value."""
        return self.kind not in (FieldKind.OBJECT, FieldKind.ARRAY)

    @property
    def holds_date(self) -> bool:
        """Whether it holds a date or a timestamp."""
        return self.format in ("date", "date-time")

    @property
    def holds_currency(self) -> bool:
        """Whether it holds the code of a currency."""
        return not _CURRENCY_WORDS.isdisjoint(self.words)

    @property
    def item(self) -> "FieldSpec":
        """The field that describes an array's items."""
        return self.children[0]


def schema_path(path: FieldPath) -> str:
    """Return the path of a value in the schema: `speakers[].name`."""
    parts = ("[]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def read_schema(schema: Mapping[str, Json]) -> tuple[FieldSpec, tuple[str, ...]]:
    """Return the field tree of a valid schema, and a warning if a limit cut it."""
    reader = _SchemaReader(schema)
    root = reader.read("", schema, path="", context=(), depth=0)
    cut = f"Only {MAX_FIELDS} fields of the schema, nested {MAX_DEPTH} deep, were looked for."
    return root, (cut,) if reader.is_cut else ()


class _SchemaReader:
    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema = schema
        self._left = MAX_FIELDS
        self.is_cut = False

    def read(
        self, name: str, subschema: Mapping[str, Json], *, path: str, context: Words, depth: int
    ) -> FieldSpec:
        schema = self._resolved(subschema)
        self._left -= 1
        kind = _kind_of(schema)
        title = _text(schema.get("title"), _MAX_NAME_CHARS)
        text = _text(schema.get("description"), _MAX_DESCRIPTION_CHARS)
        words = words_of(name) or words_of(title)
        children: tuple[FieldSpec, ...] = ()
        if kind is FieldKind.ARRAY:
            items = schema.get("items")
            inner = items if isinstance(items, Mapping) else {}
            if depth >= MAX_DEPTH:
                self.is_cut, inner = True, {}
            children = (
                self.read("", inner, path=f"{path}[]", context=words or context, depth=depth + 1),
            )
        elif kind is FieldKind.OBJECT:
            # The title of an object is the name of a type, not a label.
            own = tuple(dict.fromkeys((*words_of(name), *plain_words_of(title))))
            children = tuple(self._properties(schema, path, own or context, depth))
        choices = schema.get("enum")
        if not isinstance(choices, list):
            choices = [schema["const"]] if "const" in schema else []
        title_words = words_of(title) if name else ()
        return FieldSpec(
            name=name,
            kind=kind,
            path=path,
            words=words,
            context=context,
            description=tuple(dict.fromkeys((*title_words, *words_of(text)))),
            description_text=text or _text(schema.get("title"), _MAX_DESCRIPTION_CHARS),
            choices=tuple(choices[:_MAX_CHOICES]),
            format=_text(schema.get("format"), _MAX_NAME_CHARS),
            children=children,
        )

    def _properties(
        self, schema: Mapping[str, Json], path: str, context: Words, depth: int
    ) -> Iterator[FieldSpec]:
        properties = schema.get("properties")
        for name, subschema in properties.items() if isinstance(properties, Mapping) else ():
            if self._left <= 0 or depth >= MAX_DEPTH:
                self.is_cut = True
                return
            if isinstance(subschema, Mapping):
                yield self.read(
                    name[:_MAX_NAME_CHARS],
                    subschema,
                    path=f"{path}.{name}" if path else name,
                    context=context,
                    depth=depth + 1,
                )

    def _resolved(self, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """Follow references within the schema, and the first branch that is not null."""
        for _ in range(_MAX_REFERENCES):
            reference = schema.get("$ref")
            if isinstance(reference, str):
                found: Json = self._schema if reference.startswith("#") else None
                for part in reference.removeprefix("#").split("/")[1 : _MAX_REFERENCES + 1]:
                    found = found.get(part) if isinstance(found, Mapping) else None
                found = found if isinstance(found, Mapping) else {}
            else:
                lists = (schema.get(key) for key in ("anyOf", "oneOf", "allOf"))
                branches = (each for found in lists if isinstance(found, list) for each in found)
                usable = (each for each in branches if isinstance(each, Mapping))
                found = next((each for each in usable if each.get("type") != "null"), None)
            if found is None:
                return schema
            schema = {**{k: v for k, v in schema.items() if k not in _FOLLOWED}, **found}
        return {}


_FOLLOWED = frozenset(("$ref", "anyOf", "oneOf", "allOf"))


def _kind_of(schema: Mapping[str, Json]) -> FieldKind:
    declared = schema.get("type")
    for name in declared if isinstance(declared, list) else [declared]:
        if isinstance(name, str) and name in _KINDS:
            return _KINDS[name]
    if "properties" in schema:
        return FieldKind.OBJECT
    return FieldKind.ARRAY if "items" in schema else FieldKind.STRING


def _text(value: Json, length: int) -> str:
    return value[:length] if isinstance(value, str) else ""


# Increase this when extraction finds other values on the same page: cached results become stale.
FIELDS_VERSION = 2
