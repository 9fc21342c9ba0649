"""The forms of a caller's schema: strict for servers, relaxed for models and to check answers.

The strict form is in the narrowest dialect of all servers: every object lists its properties, all
required and no others allowed; every leaf may be null; only few keywords. What else the schema
demands of a value is checked in the answer.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from cinder.llm.schema_check import SchemaCheck
from cinder.llm.wire_format import ANSWER_NAME, RequestedJson, ResponseFormat
from cinder.models.document import Json

# Keywords that require a value: a model invents one that it does not know if it must give one.
_DEMANDS = frozenset(
    (
        *("contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if"),
        *("minContains", "minItems", "minProperties", "required", "then"),
    )
)
_NAMED = frozenset({"$defs", "definitions", "patternProperties", "properties"})
_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset({"additionalItems", "additionalProperties", "items"})


def relax_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema with every value except the root nullable, and none required.

    Other constraints stay: types, patterns, bounds.
    """
    kept = {key: value for key, value in schema.items() if key not in _DEMANDS}
    if "oneOf" in kept and "anyOf" not in kept:
        # Null matches several branches.
        kept["anyOf"] = kept.pop("oneOf")
    return {key: _relax_part(key, value) for key, value in kept.items()}


def make_nullable(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the relaxed schema of a value that may be null itself."""
    relaxed = relax_schema(schema)
    if "const" in relaxed:
        relaxed["enum"] = [relaxed.pop("const")]
    if isinstance(choices := relaxed.get("enum"), list) and None not in choices:
        relaxed["enum"] = [*choices, None]
    if "type" in relaxed:
        relaxed["type"] = with_null(relaxed["type"])
    return relaxed


def _nullable(schema: Json) -> Json:
    return make_nullable(schema) if isinstance(schema, Mapping) else schema


def with_null(types: Json) -> Json:
    """Return the types of a schema, including null."""
    listed = list(types) if isinstance(types, list) else [types]
    return listed if "null" in listed else [*listed, "null"]


def _relax_part(key: str, value: Json) -> Json:
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _nullable(schema) for name, schema in value.items()}
    if (key in _LISTED or key in _SINGLE) and isinstance(value, list):
        return [_nullable(schema) for schema in value]
    if key in _SINGLE:
        return _nullable(value)
    if key == "$ref" and isinstance(value, str):
        return value.replace("/oneOf/", "/anyOf/")
    return value


_SCALARS = ("string", "number", "integer", "boolean")
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_DEFINITIONS = ("$defs", "definitions")


class NotStrict(Exception):
    """The strict dialect cannot express the schema."""


def make_strict(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema in the strict dialect; its root must be an object.

    Raises:
        NotStrict: the dialect cannot express it, such as objects with any names.
    """
    strict = _node(schema, "")
    definitions = {
        name: _node(part, f"$defs.{name}")
        for key in _DEFINITIONS
        for name, part in _mapping(schema.get(key)).items()
    }
    return {**strict, "$defs": definitions} if definitions else strict


def _node(schema: Json, place: str) -> dict[str, Json]:
    if not isinstance(schema, Mapping):
        if schema is False:
            raise NotStrict(f"{place}: nothing is allowed there")
        return {"type": [*_SCALARS, "null"]}
    node = _shape(schema, place)
    description = schema.get("description")
    if isinstance(description, str) and "$ref" not in node:
        node["description"] = description
    return node


def _shape(schema: Mapping[str, Json], place: str) -> dict[str, Json]:
    if isinstance(reference := schema.get("$ref"), str):
        return {"$ref": _local(reference, place)}
    if isinstance(parts := schema.get("allOf"), list):
        if len(parts) != 1 or not isinstance(parts[0], Mapping):
            raise NotStrict(f"{place}: it must match several schemas at once")
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        return _shape({**rest, **parts[0]}, place)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return {"anyOf": [_node(branch, place) for branch in branches]}
    if "const" in schema or isinstance(schema.get("enum"), list):
        listed = [schema["const"]] if "const" in schema else schema["enum"]
        values = [value for value in _sequence(listed) if value is not None]
        if any(type(value) not in _NAMES for value in values):
            raise NotStrict(f"{place}: it is one of several objects or arrays")
        kinds: list[Json] = list(dict.fromkeys(_NAMES[type(value)] for value in values))
        return {"type": with_null(kinds), "enum": [*values, None]}
    named = schema.get("type")
    listed = [named] if isinstance(named, str) else _sequence(named)
    types = tuple(kind for kind in listed if isinstance(kind, str) and kind != "null")
    if not types:
        implied = ("array",) if "items" in schema else _SCALARS
        types = ("object",) if "properties" in schema else implied
    if len(types) > 1 and not set(types) <= set(_SCALARS):
        return {"anyOf": [_typed(schema, kind, place) for kind in types]}
    if types[0] in ("object", "array"):
        return _typed(schema, types[0], place)
    return {"type": with_null(list(types))}


def _typed(schema: Mapping[str, Json], kind: str, place: str) -> dict[str, Json]:
    if kind == "array":
        items = schema.get("items")
        if "prefixItems" in schema or isinstance(items, list):
            raise NotStrict(f"{place}: its items differ by their places")
        return {"type": "array", "items": _node(items, f"{place}[]")}
    if kind != "object":
        return {"type": [kind, "null"]}
    properties = _mapping(schema.get("properties"))
    has_more = isinstance(schema.get("additionalProperties"), Mapping)
    if not properties or has_more or "patternProperties" in schema:
        raise NotStrict(f"{place}: its properties may have any names")
    return {
        "type": "object",
        "properties": {
            name: _node(part, f"{place}.{name}" if place else name)
            for name, part in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def _local(reference: str, place: str) -> str:
    for key in _DEFINITIONS:
        prefix = f"#/{key}/"
        if reference.startswith(prefix) and "/" not in reference.removeprefix(prefix):
            return f"#/$defs/{reference.removeprefix(prefix)}"
    raise NotStrict(f"{place}: {reference} is none of its $defs")


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


_ROOT_ONLY = ("$schema", "$id", "$defs", "definitions")
_INDIRECT = ("$ref", "allOf", "anyOf", "enum", "oneOf")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaForms:
    """One schema, in all its forms."""

    strict: Mapping[str, Json] | None
    """None if servers cannot enforce it."""
    shown: Mapping[str, Json]
    check: SchemaCheck
    is_wrapped: bool
    """Whether the model gives the value as a property of an object: servers take only objects."""

    @property
    def digest(self) -> bytes:
        """A hash that identifies the schema."""
        return sha256(json.dumps(self.shown, sort_keys=True).encode()).digest()

    def fitting(self, format_: ResponseFormat) -> ResponseFormat:
        """Return the format, or the next weaker one if the schema has no strict form."""
        is_impossible = self.strict is None and format_ is ResponseFormat.JSON_SCHEMA
        return ResponseFormat.JSON_OBJECT if is_impossible else format_

    def requested(self, format_: ResponseFormat) -> RequestedJson:
        """Return the JSON to ask for in a format."""
        return RequestedJson(format=format_, strict=self.strict or {}, shown=self.shown)

    def unwrap(self, value: Json) -> Json:
        """Return the value in an answer.

        Raises:
            ValueError: the answer has none.
        """
        if not self.is_wrapped:
            return value
        if not isinstance(value, Mapping) or ANSWER_NAME not in value:
            raise ValueError(f"it is no object with the property {ANSWER_NAME!r}")
        return value[ANSWER_NAME]


def build_schema_forms(schema: Mapping[str, Json]) -> SchemaForms:
    """Return the forms of a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema, or too large; the message says where.
    """
    SchemaCheck(schema)
    is_object = schema.get("type") == "object" or ("type" not in schema and "properties" in schema)
    is_wrapped = not is_object or any(key in schema for key in _INDIRECT)
    relaxed = make_nullable(schema) if is_wrapped else {**relax_schema(schema), "type": "object"}
    strict = None
    with suppress(NotStrict):
        strict = make_strict(_wrap(schema) if is_wrapped else schema)
    return SchemaForms(
        strict=strict,
        shown=_wrap(relaxed) if is_wrapped else relaxed,
        check=SchemaCheck(relaxed),
        is_wrapped=is_wrapped,
    )


def _wrap(schema: Mapping[str, Json]) -> dict[str, Json]:
    inner = {key: value for key, value in schema.items() if key not in _ROOT_ONLY}
    outer = {key: schema[key] for key in _ROOT_ONLY if key in schema}
    return {
        **outer,
        "type": "object",
        "properties": {ANSWER_NAME: inner},
        "required": [ANSWER_NAME],
        "additionalProperties": False,
    }
