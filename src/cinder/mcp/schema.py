"""Flat JSON Schemas of tool arguments and results: no references, no unions.

No references, no unions, no constants, no bounds: each node has one plain type, and each object
that is taken names what it may hold, so that a model can be held to it strictly. Whatever needs
more than that is checked in code when the arguments are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cinder.models.options import options_of

# Any, here and below: a JSON Schema is nested JSON, and mypy cannot narrow what lies in it.
Schema = dict[str, Any]

_KEPT_KEYWORDS = ("type", "enum", "items", "properties", "required", "additionalProperties")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What a tool's schema says of one argument."""

    description: str = ""
    choices: tuple[str, ...] = ()
    """Of an enum's values, those that can be served; all where none are named."""
    is_required: bool = False
    """Whether it is needed although the model, which serves more than one use, can do without."""
    item_types: tuple[str, ...] = ()
    """Of the types of its objects, those that are offered; all where none are named."""
    left_out: tuple[str, ...] = ()
    """The fields of its objects that are not offered."""
    keys: tuple[str, ...] = ()
    """Some of the texts that a free object, or each of a list, may hold; others may be as well."""
    is_text: bool = False
    """Whether a free object is asked for as JSON in a text. It is taken as it is, too."""


def option_parameters(request: type, *first: str) -> dict[str, Parameter]:
    """Return the parameters that show the options of a request: the named ones, then the others."""
    shown = {
        option.name: Parameter(description=option.sentence if option.hint is None else option.hint)
        for option in options_of(request)
        if option.in_tools
    }
    return {name: shown[name] for name in first} | shown


def input_schema(model: type[BaseModel], parameters: Mapping[str, Parameter]) -> Schema:
    """Return the schema of a tool's arguments, of which it shows the named ones only."""
    whole = _flat_schema(model)
    needed = set(whole.get("required", ()))
    required = [n for n, p in parameters.items() if p.is_required or n in needed]
    return {
        "type": "object",
        "properties": {
            name: _parameter_schema(whole["properties"][name], parameter)
            for name, parameter in parameters.items()
        },
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def output_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a tool's structured content."""
    return _flat_schema(model)


def _parameter_schema(node: Schema, parameter: Parameter) -> Schema:
    shown = dict(node)
    if parameter.is_text:
        shown = {"type": "string"}
    if parameter.keys and "items" in shown:
        shown["items"] = _object_schema(parameter.keys)
    elif parameter.keys:
        shown = _object_schema(parameter.keys)
    if parameter.item_types:
        shown["items"] = _narrowed_items(shown["items"], parameter)
    if parameter.choices and "items" in shown:
        shown["items"] = shown["items"] | {"enum": list(parameter.choices)}
    elif parameter.choices:
        shown["enum"] = list(parameter.choices)
    if parameter.description:
        shown["description"] = parameter.description
    return shown


def _object_schema(keys: tuple[str, ...]) -> Schema:
    return {"type": "object", "properties": {key: {"type": "string"} for key in keys}}


def _narrowed_items(item: Schema, parameter: Parameter) -> Schema:
    """Return the schema of a list's objects with fewer types and fields."""
    fields = {n: node for n, node in item["properties"].items() if n not in parameter.left_out}
    fields["type"] = fields["type"] | {"enum": list(parameter.item_types)}
    return item | {"properties": fields}


class _WithoutUnions(GenerateJsonSchema):
    """Says an optional value as the value alone, and a single choice as an enum of one."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        node = super().literal_schema(schema)
        return {"type": "string", "enum": [node["const"]]} if "const" in node else node


def _flat_schema(model: type[BaseModel]) -> Schema:
    whole = model.model_json_schema(schema_generator=_WithoutUnions)
    return _flatten(whole, whole.get("$defs", {}))


def _flatten(node: Schema, definitions: Schema) -> Schema:
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    flat = {key: node[key] for key in _KEPT_KEYWORDS if key in node}
    if "type" not in flat:
        raise TypeError(f"This has no single plain type: {node}")
    if "items" in flat:
        flat["items"] = _flatten(flat["items"], definitions)
    if "properties" in flat:
        flat["properties"] = {
            name: _flatten(inner, definitions) for name, inner in flat["properties"].items()
        }
    # True is what holds where nothing is said; false is checked when the arguments are read.
    if isinstance(flat.get("additionalProperties"), bool):
        del flat["additionalProperties"]
    if isinstance(flat.get("additionalProperties"), dict):
        flat["additionalProperties"] = _flatten(flat["additionalProperties"], definitions)
    return flat
