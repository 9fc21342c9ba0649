"""The OpenAPI document: what the API's routes take, generated from the models that read it.

These routes are Starlette's: FastAPI would solve dependencies that they do not have, which takes
as long as the rest of a cached answer. What it cannot see, it cannot document; hence this page.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from cinder.surfaces.answer_schemas import (
    ERROR_ANSWER,
    all_responses,
    answer_of,
    gate_responses,
)

# OpenAPI documents are free-form JSON, hence Any throughout.
OpenApi = dict[str, Any]

_HOW_TO_AUTHORISE = "The token that `cinder serve` prints. Logging in opens this page, not the API."
_REF = "#/components/schemas/{model}"
_NULL = {"type": "null"}
_ABOUT = ("title", "description", "default")
# As pydantic leaves them where a value is looked at before it is read as a number.
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


@dataclass(frozen=True, slots=True)
class Operation:
    """A POST route to describe: what it does, and the model that reads its body."""

    summary: str
    model: type[BaseModel]
    example: Mapping[str, Any]
    answer: Mapping[str, Any]
    tag: str = "scraping"
    beside: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    """Members that are read by models of their own."""

    def describe(self) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        schema = {"$ref": _REF.format(model=self.model.__name__)}
        content = {"schema": schema, "example": dict(self.example)}
        return {
            "tags": [self.tag],
            "summary": self.summary,
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": all_responses(answer_of(dict(self.answer))),
        }

    def schemas(self) -> OpenApi:
        """Return the models that its body is read by."""
        found = _schemas_of(self.model)
        properties = found[self.model.__name__]["properties"]
        for name, model in self.beside.items():
            found |= _schemas_of(model)
            properties[name] = {"anyOf": [{"$ref": _REF.format(model=model.__name__)}, _NULL]}
        return found


@dataclass(frozen=True, slots=True)
class Lookup:
    """A route about one job or all of them, which takes no body: its query is read by a model."""

    summary: str
    content: Mapping[str, Any]
    """What it answers with, by media type."""
    model: type[BaseModel] | None = None

    def describe(self, path: str) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        return {
            "tags": ["jobs"],
            "summary": self.summary,
            "parameters": [*parameters, *self._query()],
            "responses": all_responses(dict(self.content)),
        }

    def _query(self) -> list[OpenApi]:
        if self.model is None:
            return []
        schema = _said_plainly(self.model.model_json_schema(ref_template=_REF, by_alias=True))
        return [
            {
                "name": name,
                "in": "query",
                "description": field.pop("description", ""),
                "schema": field,
            }
            for name, field in schema["properties"].items()
        ]

    def schemas(self) -> OpenApi:
        """Return the models that its query refers to."""
        found: OpenApi = {} if self.model is None else self.model.model_json_schema()
        return dict(found.get("$defs", {}))


def _schemas_of(model: type[BaseModel]) -> OpenApi:
    """Return the schema of what a model reads, and those that it refers to, by name."""
    schema = _said_plainly(model.model_json_schema(ref_template=_REF, by_alias=True))
    found: OpenApi = schema.pop("$defs", {})
    for name, value in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            schema["properties"][name] = _or_null(value)
    return found | {model.__name__: schema}


def _or_null(schema: OpenApi) -> OpenApi:
    """Return a schema that takes null as well, which counts as absent."""
    if _NULL in schema.get("anyOf", ()):
        return schema
    about = {key: value for key, value in schema.items() if key in _ABOUT}
    rest = {key: value for key, value in schema.items() if key not in _ABOUT}
    return {"anyOf": [rest, _NULL], **about}


def _said_plainly(node: Any) -> Any:  # Any: nested JSON
    """Return a schema whose bounds are named as JSON Schema names them."""
    if isinstance(node, list):
        return [_said_plainly(each) for each in node]
    if not isinstance(node, dict):
        return node
    is_number = node.get("type") in ("integer", "number")
    return {
        _BOUNDS.get(key, key) if is_number else key: _said_plainly(value)
        for key, value in node.items()
    }


def complete(
    document: OpenApi,
    operations: Mapping[str, Operation],
    lookups: Mapping[tuple[str, str], Lookup],
) -> OpenApi:
    """Add the API's routes, the models they take, and how to authenticate."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["ErrorAnswer"] = ERROR_ANSWER
    paths: OpenApi = {}
    for path, operation in operations.items():
        schemas |= operation.schemas()
        paths[path] = {"post": operation.describe()}
    for (method, path), lookup in lookups.items():
        schemas |= lookup.schemas()
        paths.setdefault(path, {})[method] = lookup.describe(path)
    for path in document["paths"].values():
        for described in path.values():
            described["responses"] = gate_responses() | described["responses"]
    document["paths"] = paths | document["paths"]
    token = {"type": "http", "scheme": "bearer", "description": _HOW_TO_AUTHORISE}
    components["securitySchemes"] = {"token": token}
    document["security"] = [{"token": []}]
    return document
