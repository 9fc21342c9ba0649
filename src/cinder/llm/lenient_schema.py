"""A caller's schema, made lenient: whatever is not known may be null or absent."""

from collections.abc import Mapping

from cinder.model.document import Json

# What asks for a value to be there: a model made to give one that it does not know invents it.
_DEMANDS = frozenset(
    {
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "minContains",
        "minItems",
        "minProperties",
        "required",
        "then",
    }
)
_NAMED = frozenset({"$defs", "definitions", "patternProperties", "properties"})
_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset({"additionalItems", "additionalProperties", "items"})


def make_lenient(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema with every value but the whole one nullable, and none required.

    What else it says of values stays: types, patterns, bounds.
    """
    return {key: _part(key, value) for key, value in _without_demands(schema).items()}


def make_nullable(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the lenient schema of what may be null as a whole."""
    lenient = make_lenient(schema)
    if "const" in lenient:
        lenient["enum"] = [lenient.pop("const")]
    if isinstance(choices := lenient.get("enum"), list) and None not in choices:
        lenient["enum"] = [*choices, None]
    if "type" in lenient:
        lenient["type"] = with_null(lenient["type"])
    return lenient


def _nullable(schema: Json) -> Json:
    return make_nullable(schema) if isinstance(schema, Mapping) else schema


def with_null(types: Json) -> Json:
    """Return the types of a schema, null among them."""
    listed = list(types) if isinstance(types, list) else [types]
    return listed if "null" in listed else [*listed, "null"]


def _without_demands(schema: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: value for key, value in schema.items() if key not in _DEMANDS}
    if "oneOf" in kept and "anyOf" not in kept:
        # Null matches several of them.
        kept["anyOf"] = kept.pop("oneOf")
    return kept


def _part(key: str, value: Json) -> Json:
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _nullable(schema) for name, schema in value.items()}
    if (key in _LISTED or key in _SINGLE) and isinstance(value, list):
        return [_nullable(schema) for schema in value]
    if key in _SINGLE:
        return _nullable(value)
    if key == "$ref" and isinstance(value, str):
        return value.replace("/oneOf/", "/anyOf/")
    return value
