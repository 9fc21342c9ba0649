"""The OpenAPI document: what the API's routes take, generated from the models that read it.

These routes are Starlette's: FastAPI would solve dependencies that they do not have, which takes
as long as the rest of a cached answer. What it cannot see, it cannot document; hence this page.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from cinder.surfaces.errors import HTTP_STATUS

# OpenAPI documents are free-form JSON, hence Any throughout.
OpenApi = dict[str, Any]

_HOW_TO_AUTHORISE = "The token that `cinder serve` prints. Logging in opens this page, not the API."
_REF = "#/components/schemas/{model}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A POST route to describe: what it does, and the model that reads its body."""

    summary: str
    model: type[BaseModel]
    example: Mapping[str, Any]
    tag: str = "scraping"

    def describe(self) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        schema = {"$ref": _REF.format(model=self.model.__name__)}
        content = {"schema": schema, "example": dict(self.example)}
        return {
            "tags": [self.tag],
            "summary": self.summary,
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": _responses(),
        }


@dataclass(frozen=True, slots=True)
class Lookup:
    """A route about one job or all of them, which takes no body: its query is read by a model."""

    summary: str
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
            "responses": _responses(),
        }

    def _query(self) -> list[OpenApi]:
        if self.model is None:
            return []
        schema = self.model.model_json_schema(ref_template=_REF, by_alias=True)
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


def _responses() -> OpenApi:
    return {status: {"description": text} for status, text in [("200", "The answer"), *_failures()]}


def _failures() -> list[tuple[str, str]]:
    """Return each HTTP status that an error may have, with its codes."""
    codes: dict[int, list[str]] = {}
    for code, status in HTTP_STATUS.items():
        codes.setdefault(status, []).append(code)
    return [(str(status), ", ".join(codes[status])) for status in sorted(codes)]


def complete(
    document: OpenApi,
    operations: Mapping[str, Operation],
    lookups: Mapping[tuple[str, str], Lookup],
) -> OpenApi:
    """Add the API's routes, the models they take, and how to authenticate."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    paths: OpenApi = {}
    for path, operation in operations.items():
        schema = operation.model.model_json_schema(ref_template=_REF, by_alias=True)
        schemas |= schema.pop("$defs", {})
        schemas[operation.model.__name__] = schema
        paths[path] = {"post": operation.describe()}
    for (method, path), lookup in lookups.items():
        schemas |= lookup.schemas()
        paths.setdefault(path, {})[method] = lookup.describe(path)
    document["paths"] = paths | document["paths"]
    token = {"type": "http", "scheme": "bearer", "description": _HOW_TO_AUTHORISE}
    components["securitySchemes"] = {"token": token}
    document["security"] = [{"token": []}]
    return document
