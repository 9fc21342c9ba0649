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
    """A field: what it is called, what it holds, and what stands beneath it."""

    name: str
    kind: FieldKind
    path: str
    words: Words
    context: Words = ()
    """The words of what the field belongs to."""
    description: Words = ()
    told: str = ""
    """What the schema says of it, in its own words."""
    choices: tuple[Json, ...] = ()
    format: str = ""
    children: tuple["FieldSpec", ...] = ()
    """The fields of an object, or the one field that says what an array holds."""

    @property
    def is_scalar(self) -> bool:
        """Whether it holds one value."""
        return self.kind not in (FieldKind.OBJECT, FieldKind.ARRAY)

    @property
    def item(self) -> "FieldSpec":
        """What an array holds."""
        return self.children[0]


def schema_path(path: FieldPath) -> str:
    """Return where a value stands as a schema has it: `speakers[].name`."""
    told = "".join("[]" if isinstance(part, int) else f".{part}" for part in path)
    return told.removeprefix(".")


def read_schema(schema: Mapping[str, Json]) -> tuple[FieldSpec, tuple[str, ...]]:
    """Return the wanted tree of a valid schema, and a sentence for each limit that cut it."""
    reader = _SchemaReader(schema)
    root = reader.read("", schema, path="", context=(), depth=0)
    cuts = []
    if reader.is_cut:
        cuts.append(
            f"Only {MAX_FIELDS} fields of the schema, nested {MAX_DEPTH} deep, were looked for."
        )
    return root, tuple(cuts)


class _SchemaReader:
    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema = schema
        self._left = MAX_FIELDS
        self.is_cut = False

    def read(
        self, name: str, said: Mapping[str, Json], *, path: str, context: Words, depth: int
    ) -> FieldSpec:
        schema = self._resolved(said)
        self._left -= 1
        kind = _kind_of(schema)
        titled = words_of(_text(schema.get("title"), _MAX_NAME_CHARS))
        words = words_of(name) or titled
        children: tuple[FieldSpec, ...] = ()
        if kind is FieldKind.ARRAY:
            children = self._item(schema, path, words or context, depth)
        elif kind is FieldKind.OBJECT:
            # What a schema's author calls the whole is a name of a type, not a label.
            kind_words = plain_words_of(_text(schema.get("title"), _MAX_NAME_CHARS))
            inner = tuple(dict.fromkeys((*words_of(name), *kind_words)))
            children = tuple(self._properties(schema, path, inner or context, depth))
        return FieldSpec(
            name=name,
            kind=kind,
            path=path,
            words=words,
            context=context,
            description=_description(schema, titled if name else ()),
            told=_full_description(schema),
            choices=_choices(schema),
            format=_text(schema.get("format"), _MAX_NAME_CHARS),
            children=children,
        )

    def _item(
        self, schema: Mapping[str, Json], path: str, context: Words, depth: int
    ) -> tuple[FieldSpec, ...]:
        items = schema.get("items")
        said = items if isinstance(items, Mapping) else {}
        if depth >= MAX_DEPTH:
            self.is_cut, said = True, {}
        return (self.read("", said, path=f"{path}[]", context=context, depth=depth + 1),)

    def _properties(
        self, schema: Mapping[str, Json], path: str, context: Words, depth: int
    ) -> Iterator[FieldSpec]:
        properties = schema.get("properties")
        for name, said in properties.items() if isinstance(properties, Mapping) else ():
            if self._left <= 0 or depth >= MAX_DEPTH:
                self.is_cut = True
                return
            if isinstance(said, Mapping):
                place = f"{path}.{name}" if path else name
                yield self.read(
                    name[:_MAX_NAME_CHARS], said, path=place, context=context, depth=depth + 1
                )

    def _resolved(self, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        """Follow references within the schema, and choices whose other branch is null."""
        for _ in range(_MAX_REFERENCES):
            reference = schema.get("$ref")
            found = self._refer(reference) if isinstance(reference, str) else _first_branch(schema)
            if found is None:
                return schema
            schema = {**{k: v for k, v in schema.items() if k not in _FOLLOWED}, **found}
        return {}

    def _refer(self, reference: str) -> Mapping[str, Json] | None:
        found: Json = self._schema if reference.startswith("#") else None
        for part in reference.removeprefix("#").split("/")[1 : _MAX_REFERENCES + 1]:
            found = found.get(part) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}


_FOLLOWED = frozenset(("$ref", "anyOf", "oneOf", "allOf"))


def _first_branch(schema: Mapping[str, Json]) -> Mapping[str, Json] | None:
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, Mapping) and branch.get("type") != "null":
                return branch
    return None


def _kind_of(schema: Mapping[str, Json]) -> FieldKind:
    said = schema.get("type")
    names = said if isinstance(said, list) else [said]
    for name in names:
        if isinstance(name, str) and name in _KINDS:
            return _KINDS[name]
    if "properties" in schema:
        return FieldKind.OBJECT
    return FieldKind.ARRAY if "items" in schema else FieldKind.STRING


def _choices(schema: Mapping[str, Json]) -> tuple[Json, ...]:
    said = schema.get("enum")
    if isinstance(said, list):
        return tuple(said[:_MAX_CHOICES])
    return (schema["const"],) if "const" in schema else ()


def _description(schema: Mapping[str, Json], titled: Words) -> Words:
    said = words_of(_text(schema.get("description"), _MAX_DESCRIPTION_CHARS))
    return tuple(dict.fromkeys((*titled, *said)))


def _full_description(schema: Mapping[str, Json]) -> str:
    said = (_text(schema.get(key), _MAX_DESCRIPTION_CHARS) for key in ("description", "title"))
    return next(filter(None, said), "")


def _text(value: Json, length: int) -> str:
    return value[:length] if isinstance(value, str) else ""


# Raise it with every change of what is found on a page.
FIELDS_VERSION = 2
