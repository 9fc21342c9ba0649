"""The OpenAPI document: what the API's routes take, generated from the models that read it.

These routes are Starlette's: FastAPI would solve dependencies that they do not have, which takes
as long as the rest of a cached answer. What it cannot see, it cannot document; hence this page.
"""

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

    def describe(self) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        schema = {"$ref": _REF.format(model=self.model.__name__)}
        content = {"schema": schema, "example": dict(self.example)}
        return {
            "tags": ["scraping"],
            "summary": self.summary,
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": {
                status: {"description": text}
                for status, text in [("200", "The answer"), *_failures()]
            },
        }


def _failures() -> list[tuple[str, str]]:
    """Return each HTTP status that an error may have, with its codes."""
    codes: dict[int, list[str]] = {}
    for code, status in HTTP_STATUS.items():
        codes.setdefault(status, []).append(code)
    return [(str(status), ", ".join(codes[status])) for status in sorted(codes)]


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
    token = {"type": "http", "scheme": "bearer", "description": _HOW_TO_AUTHORISE}
    components["securitySchemes"] = {"token": token}
    document["security"] = [{"token": []}]
    return document
