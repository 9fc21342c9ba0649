"""Flat JSON Schemas of tool arguments and results, which every model provider accepts.

They have no references, unions or constants: each node has one plain type, and each argument object
names its properties, as strict modes require. Only arguments have a default and bounds. Everything
else is checked when the arguments are read.
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

SAVED_URI_TEMPLATE = (
    "scrape://{+page}/{kind}_{timestamp}{?startIndex,maxChars,maxTokens,section,query}"
)
CRAWL_URI_TEMPLATE = "crawl://{id}{?offset}"

_KEPT_KEYWORDS = ("type", "enum", "items", "properties", "required", "additionalProperties")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """How a tool's schema shows one argument."""

    description: str = ""
    choices: tuple[str, ...] = ()
    """The values of an enum to show; empty for all."""
    is_required: bool = False
    """Whether the tool requires it although the model, which has other uses, does not."""
    item_types: tuple[str, ...] = ()
    """The types of its objects to show; empty for all."""
    left_out: tuple[str, ...] = ()
    """The fields of its objects that are not shown."""
    keys: tuple[str, ...] = ()
    """Example keys, with text values, of a free object or of each object in a list."""
    is_text: bool = False
    """Whether a free object is shown as a text of JSON; an object is accepted, too."""


def option_parameters(request: type, *first: str) -> dict[str, Parameter]:
    """Return the parameters that show the options of a request: the named ones, then the others."""
    shown = {
        option.name: Parameter(description=option.sentence if option.hint is None else option.hint)
        for option in options_of(request)
        if option.in_tools
    }
    return {name: shown[name] for name in first} | shown


def input_schema(model: type[BaseModel], parameters: Mapping[str, Parameter]) -> Schema:
    """Return the schema of a tool's arguments, with these parameters only."""
    raw = model.model_json_schema(schema_generator=_WithoutUnions)
    schema = _flatten(raw, raw.get("$defs", {}))
    needed = set(schema.get("required", ()))
    required = [n for n, p in parameters.items() if p.is_required or n in needed]
    return {
        "type": "object",
        "properties": {
            name: _parameter_schema(schema["properties"][name], parameter)
            | _limits_of(raw["properties"][name])
            for name, parameter in parameters.items()
        },
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def output_schema(model: type[BaseModel]) -> Schema:
    """Return the flat schema of a model, such as a tool's structured content."""
    schema = model.model_json_schema(schema_generator=_WithoutUnions)
    return _flatten(schema, schema.get("$defs", {}))


def _parameter_schema(node: Schema, parameter: Parameter) -> Schema:
    shown: Schema = {"type": "string"} if parameter.is_text else dict(node)
    if parameter.keys:
        properties = {key: {"type": "string"} for key in parameter.keys}
        free_object = {"type": "object", "properties": properties}
        shown = shown | {"items": free_object} if "items" in shown else free_object
    if parameter.item_types:
        item = shown["items"]
        fields = {n: node for n, node in item["properties"].items() if n not in parameter.left_out}
        fields["type"] = fields["type"] | {"enum": list(parameter.item_types)}
        shown["items"] = item | {"properties": fields}
    if parameter.choices and "items" in shown:
        shown["items"] = shown["items"] | {"enum": list(parameter.choices)}
    elif parameter.choices:
        shown["enum"] = list(parameter.choices)
    if parameter.description:
        shown["description"] = parameter.description
    return shown


def _limits_of(node: Schema) -> Schema:
    """Return the default and the bounds of an argument, those that it has."""
    # Bounds on types that have a validator of their own keep Pydantic's names.
    limits = {
        "default": node.get("default"),
        "minimum": node.get("minimum", node.get("ge")),
        "maximum": node.get("maximum", node.get("le")),
    }
    return {name: value for name, value in limits.items() if value not in (None, "", [], {})}


class _WithoutUnions(GenerateJsonSchema):
    """Writes an optional value as the value alone, and a single choice as an enum of one."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        node = super().literal_schema(schema)
        return {"type": "string", "enum": [node["const"]]} if "const" in node else node


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
    # True is the default; false is checked when the arguments are read.
    if isinstance(flat.get("additionalProperties"), bool):
        del flat["additionalProperties"]
    if isinstance(flat.get("additionalProperties"), dict):
        flat["additionalProperties"] = _flatten(flat["additionalProperties"], definitions)
    return flat
