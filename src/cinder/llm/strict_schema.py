"""A caller's schema in the narrow dialect that servers hold a model to.

Of all dialects the narrowest: every object lists its properties, all of them required and no
others allowed; every leaf may be null; and no keyword but those below. What a value has to be like
beyond that is checked when it has come.
"""

from collections.abc import Mapping, Sequence

from cinder.llm.lenient_schema import with_null
from cinder.model.document import Json

_SCALARS = ("string", "number", "integer", "boolean")
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_DEFINITIONS = ("$defs", "definitions")


class NotStrict(Exception):
    """The schema says what the narrow dialect cannot."""


def make_strict(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema in the narrow dialect; its root must be an object.

    Raises:
        NotStrict: it cannot be said so, such as objects of any names; the message tells where.
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
        return _merged(schema, parts, place)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return {"anyOf": [_node(branch, place) for branch in branches]}
    if "const" in schema or isinstance(schema.get("enum"), list):
        return _choice(schema, place)
    types = _types(schema)
    if len(types) > 1 and not set(types) <= set(_SCALARS):
        return {"anyOf": [_typed(schema, kind, place) for kind in types]}
    if types[0] in ("object", "array"):
        return _typed(schema, types[0], place)
    return {"type": with_null(list(types))}


def _typed(schema: Mapping[str, Json], kind: str, place: str) -> dict[str, Json]:
    if kind == "object":
        return _object(schema, place)
    if kind == "array":
        items = schema.get("items")
        if "prefixItems" in schema or isinstance(items, list):
            raise NotStrict(f"{place}: its items differ by their places")
        return {"type": "array", "items": _node(items, f"{place}[]")}
    return {"type": [kind, "null"]}


def _object(schema: Mapping[str, Json], place: str) -> dict[str, Json]:
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


def _merged(schema: Mapping[str, Json], parts: Sequence[Json], place: str) -> dict[str, Json]:
    if len(parts) != 1 or not isinstance(parts[0], Mapping):
        raise NotStrict(f"{place}: it must match several schemas at once")
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    return _shape({**rest, **parts[0]}, place)


def _choice(schema: Mapping[str, Json], place: str) -> dict[str, Json]:
    listed = [schema["const"]] if "const" in schema else schema["enum"]
    values = [value for value in _sequence(listed) if value is not None]
    if any(type(value) not in _NAMES for value in values):
        raise NotStrict(f"{place}: it is one of several objects or arrays")
    kinds: list[Json] = list(dict.fromkeys(_NAMES[type(value)] for value in values))
    return {"type": with_null(kinds), "enum": [*values, None]}


def _types(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the types that a schema names or means, without null; all scalars where none."""
    named = schema.get("type")
    listed = [named] if isinstance(named, str) else _sequence(named)
    types = tuple(kind for kind in listed if isinstance(kind, str) and kind != "null")
    if types:
        return types
    if "properties" in schema:
        return ("object",)
    return ("array",) if "items" in schema else _SCALARS


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
