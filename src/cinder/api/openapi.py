"""The OpenAPI document: operations, request models and the schemas of responses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from cinder.api.errors import HTTP_STATUS
from cinder.errors import ErrorCode
from cinder.services.export.base import ExportFormat

# A JSON Schema is free-form JSON, hence Any throughout.
Schema = dict[str, Any]

_LIST: Schema = {"type": "array", "items": {"type": "object"}}
_ERROR_REF: Schema = {"$ref": "#/components/schemas/ErrorAnswer"}


def _object_with(*bases: Schema, **members: str | Schema) -> Schema:
    """Return the schema of an object that has at least the members of the bases and these.

    A member is given by its type or its schema.
    """
    properties = {name: kind for base in bases for name, kind in base["properties"].items()}
    for name, kind in members.items():
        properties[name] = {"type": kind} if isinstance(kind, str) else kind
    return {"type": "object", "required": list(properties), "properties": properties}


def _one_of(*values: str) -> Schema:
    return {"enum": list(values)}


_PART = _object_with(hasMore="boolean")
_PROGRESS = _object_with(
    progress="number", queued="integer", errorCount="integer", leftOut="object"
)
_JOB_STATUS = _object_with(status="string", createdAt="string", expiresAt="string")
_FOUND = _object_with(
    **dict.fromkeys(("id", "title", "url", "domain", "summary"), "string"), relevance="number"
)

SCRAPED = _object_with(
    success={"const": True},
    command=_one_of("start", "status", "cancel", "errors"),
    data="object",
)
PAGE = _object_with(
    url="string",
    content="string",
    statusCode="integer",
    loadTime="integer",
    verdict="string",
    cached="boolean",
)
SEARCH = _object_with(
    query="string",
    results={"type": "array", "items": _FOUND},
    hasMore="boolean",
    searchTime="integer",
    providers=_LIST,
)
MAP = _object_with(
    url="string",
    urls={"type": "array", "items": _object_with(url="string", source="string")},
    hasMore="boolean",
)
EXTRACTED = _object_with(
    data={}, proof=_LIST, missing={"type": "array", "items": {"type": "string"}}, sources=_LIST
)
CRAWL = _object_with(
    _JOB_STATUS, crawlId="string", url="string", pagesFound="integer", pagesCrawled="integer"
)
CRAWL_STATUS = _object_with(CRAWL, _PROGRESS, _PART, pages=_LIST)
BATCH_STATUS = _object_with(
    *(_JOB_STATUS, _PROGRESS, _PART),
    jobId="string",
    total="integer",
    completed="integer",
    pages=_LIST,
)
ERRORS = _object_with(_PART, errors=_LIST, total="integer", message="string")
LEDGER = _object_with(_PART, urls=_LIST, counts="object")
CANCELLED = _object_with(status="string", message="string")
CRAWLS = _object_with(crawls=_LIST)
BATCHES = _object_with(batches=_LIST)
WEBHOOK_EVENTS = _object_with(events=_LIST)
RETRIED = _object_with(retried="integer")
READINESS = _object_with(status=_one_of("ready", "not ready"), parts="object")

EVENTS: Schema = {"text/event-stream": {}}
EXPORT: Schema = {kind.media_type: {} for kind in ExportFormat}

_TEXT: Schema = {"type": "string"}
ERROR_RESPONSE: Schema = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "success": {"const": False},
        "command": _TEXT,
        "error": {
            "type": "object",
            "required": ["message", "code"],
            "additionalProperties": False,
            "properties": {
                "message": _TEXT,
                # The codes of errors, and the code of unknown routes.
                "code": _one_of(*ErrorCode, "NOT_FOUND"),
                "url": _TEXT,
                "verdict": _TEXT,
                "nextStep": {"type": ["string", "null"]},
                "statusCode": {"type": "integer"},
                "retryAfter": {"type": "integer"},
                "validationErrors": {
                    "type": "array",
                    "items": _object_with(field="string", message="string"),
                },
                "diagnostics": _object_with(
                    attemptedStrategies={"type": "array", "items": _TEXT},
                    lastError="string",
                    retryCount="integer",
                    strategyErrors="object",
                    timing="object",
                ),
            },
        },
    },
}

# The statuses that the middleware responds with.
_MIDDLEWARE_STATUSES = frozenset({"401", "403", "413", "429", "503"})


def json_content(schema: Schema) -> Schema:
    """Return the content of a JSON response."""
    return {"application/json": {"schema": schema}}


def all_responses(content: Schema) -> Schema:
    """Return the responses of a route: this content, or any error."""
    return {"200": {"description": "The answer", "content": content}, **_failures()}


def _failures() -> Schema:
    """Return the error responses by HTTP status, with their codes."""
    codes: dict[int, list[str]] = {}
    for code, status in HTTP_STATUS.items():
        codes.setdefault(status, []).append(code)
    return {
        str(status): {"description": ", ".join(codes[status]), "content": json_content(_ERROR_REF)}
        for status in sorted(codes)
    }


# OpenAPI documents are free-form JSON, hence Any throughout.
OpenApi = dict[str, Any]

_AUTHORIZATION_HINT = (
    "The token that `cinder serve` prints. Logging in opens this page, not the API."
)
_REF = "#/components/schemas/{model}"
_NULL = {"type": "null"}
_ABOUT = ("title", "description", "default")
# Pydantic's names of bounds on numbers that have a validator of their own.
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


@dataclass(frozen=True, slots=True)
class Operation:
    """A POST route: its summary, the model of its body, and its response."""

    summary: str
    model: type[BaseModel]
    example: Mapping[str, Any]
    answer: Mapping[str, Any]
    tag: str = "scraping"
    more_models: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    """Further members of the body, with models of their own."""

    def describe(self) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        schema = {"$ref": _REF.format(model=self.model.__name__)}
        content = {"schema": schema, "example": dict(self.example)}
        return {
            "tags": [self.tag],
            "summary": self.summary,
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": all_responses(json_content(dict(self.answer))),
        }

    def schemas(self) -> OpenApi:
        """Return the schemas of the models of its body."""
        found = _schemas_of(self.model)
        properties = found[self.model.__name__]["properties"]
        for name, model in self.more_models.items():
            found |= _schemas_of(model)
            properties[name] = {"anyOf": [{"$ref": _REF.format(model=model.__name__)}, _NULL]}
        return found


@dataclass(frozen=True, slots=True)
class Lookup:
    """A route without a body; a model reads its query."""

    summary: str
    content: Mapping[str, Any]
    """The response by media type."""
    model: type[BaseModel] | None = None

    def describe(self, path: str) -> OpenApi:
        """Return the operation as OpenAPI has it."""
        parameters: list[OpenApi] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        query: OpenApi = {"properties": {}}
        if self.model is not None:
            query = self.model.model_json_schema(ref_template=_REF, by_alias=True)
        for name, schema in _with_json_schema_bounds(query)["properties"].items():
            description = schema.pop("description", "")
            parameters.append(
                {"name": name, "in": "query", "description": description, "schema": schema}
            )
        return {
            "tags": ["jobs"],
            "summary": self.summary,
            "parameters": parameters,
            "responses": all_responses(dict(self.content)),
        }

    def schemas(self) -> OpenApi:
        """Return the schemas that its query refers to."""
        found: OpenApi = {} if self.model is None else self.model.model_json_schema()
        return dict(found.get("$defs", {}))


def _schemas_of(model: type[BaseModel]) -> OpenApi:
    """Return the schema of a model, and those that it refers to, by name."""
    schema = _with_json_schema_bounds(model.model_json_schema(ref_template=_REF, by_alias=True))
    found: OpenApi = schema.pop("$defs", {})
    for name, value in schema.get("properties", {}).items():
        # Null counts as absent.
        if name not in schema.get("required", ()) and _NULL not in value.get("anyOf", ()):
            about = {key: inner for key, inner in value.items() if key in _ABOUT}
            rest = {key: inner for key, inner in value.items() if key not in _ABOUT}
            schema["properties"][name] = {"anyOf": [rest, _NULL], **about}
    return found | {model.__name__: schema}


def _with_json_schema_bounds(node: Any) -> Any:  # Any: nested JSON
    """Return a schema whose bounds are named as JSON Schema names them."""
    if isinstance(node, list):
        return [_with_json_schema_bounds(each) for each in node]
    if not isinstance(node, dict):
        return node
    is_number = node.get("type") in ("integer", "number")
    return {
        _BOUNDS.get(key, key) if is_number else key: _with_json_schema_bounds(value)
        for key, value in node.items()
    }


def _describe_probe(name: str, description: str, responses: OpenApi) -> OpenApi:
    return {
        "tags": ["operations"],
        "summary": name.title(),
        "description": description,
        "operationId": f"{name}_{name}_get",
        "responses": {
            status: shown for status, shown in _failures().items() if status in _MIDDLEWARE_STATUSES
        }
        | responses,
    }


# The routes for operators.
_PROBES: Mapping[str, OpenApi] = {
    "/healthz": _describe_probe(
        "healthz",
        "Answer as long as the process is alive, and tell whether there is room to save pages.",
        {"200": {"description": "Successful Response", "content": json_content({})}},
    )
    | {"security": []},
    "/readyz": _describe_probe(
        "readyz",
        "Answer 200 when every part that requests need works, else 503 and which does not.",
        {
            "200": {"description": "Ready", "content": json_content(READINESS)},
            "503": {"description": "Not ready", "content": json_content(READINESS)},
        },
    ),
    "/metrics": _describe_probe(
        "metrics",
        "Return counters and timers in the Prometheus text format.",
        {
            "200": {
                "description": "Successful Response",
                "content": {"text/plain": {"schema": _TEXT}},
            }
        },
    ),
}


def make_document(
    info: Mapping[str, str],
    operations: Mapping[str, Operation],
    lookups: Mapping[tuple[str, str], Lookup],
) -> OpenApi:
    """Return the OpenAPI document: all routes, the models they take, and how to authenticate."""
    schemas: OpenApi = {"ErrorAnswer": ERROR_RESPONSE}
    paths: OpenApi = {}
    for path, operation in operations.items():
        schemas |= operation.schemas()
        paths[path] = {"post": operation.describe()}
    for (method, path), lookup in lookups.items():
        schemas |= lookup.schemas()
        paths.setdefault(path, {})[method] = lookup.describe(path)
    token = {"type": "http", "scheme": "bearer", "description": _AUTHORIZATION_HINT}
    return {
        "openapi": "3.1.0",
        "info": dict(info),
        "paths": paths | {path: {"get": described} for path, described in _PROBES.items()},
        "components": {"schemas": schemas, "securitySchemes": {"token": token}},
        "security": [{"token": []}],
    }
