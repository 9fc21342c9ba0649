"""The OpenAPI document: what the API's routes take, generated from the models that read it.

These routes are Starlette's: FastAPI would solve dependencies that they do not have, which takes
as long as the rest of a cached answer. What it cannot see, it cannot document; hence this page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

# OpenAPI documents are free-form JSON, hence Any throughout.
OpenApi = dict[str, Any]

_REF = "#/components/schemas/{model}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A POST route to describe: what it does, and the model that reads its body."""

    summary: str
    model: type[BaseModel]

    def describe(self) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        schema = {"$ref": _REF.format(model=self.model.__name__)}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        answers = {"200": "The answer", "400": "Invalid arguments, each named", "401": "No token"}
        return {
            "summary": self.summary,
            "requestBody": body,
            "responses": {status: {"description": text} for status, text in answers.items()},
        }


def complete(document: OpenApi, operations: Mapping[str, Operation]) -> OpenApi:
    """Add the API's routes, the models they take, and how to authenticate."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    paths = {}
    for path, operation in operations.items():
        schema = operation.model.model_json_schema(ref_template=_REF, by_alias=True)
        schemas |= schema.pop("$defs", {})
        schemas[operation.model.__name__] = schema
        paths[path] = {"post": operation.describe()}
    document["paths"] = paths | document["paths"]
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
