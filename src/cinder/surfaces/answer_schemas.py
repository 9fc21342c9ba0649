"""What the API's routes answer with, as JSON Schema: the members that are always there."""

from typing import Any

from cinder.errors import ErrorCode
from cinder.services.export import ExportFormat
from cinder.surfaces.errors import HTTP_STATUS

# A JSON Schema is free-form JSON, hence Any throughout.
Schema = dict[str, Any]

_LIST: Schema = {"type": "array", "items": {"type": "object"}}
_ERROR_REF: Schema = {"$ref": "#/components/schemas/ErrorAnswer"}


def _always(**members: str | Schema) -> Schema:
    """Return the schema of an object that has at least these members, each of a type or schema."""
    return {
        "type": "object",
        "required": list(members),
        "properties": {
            name: {"type": kind} if isinstance(kind, str) else kind
            for name, kind in members.items()
        },
    }


def _one_of(*values: str) -> Schema:
    return {"enum": list(values)}


def _and(first: Schema, second: Schema) -> Schema:
    """Return the schema of an object that has the members of both."""
    return _always(**first["properties"], **second["properties"])


_PART = _always(hasMore="boolean")
_PROGRESS = _always(progress="number", queued="integer", errorCount="integer", leftOut="object")
_JOB_STATUS = _always(status="string", createdAt="string", expiresAt="string")
_FOUND = _always(
    **dict.fromkeys(("id", "title", "url", "domain", "summary"), "string"), relevance="number"
)

SCRAPED = _always(
    success={"const": True},
    command=_one_of("start", "status", "cancel", "errors"),
    data="object",
)
PAGE = _always(
    url="string",
    content="string",
    statusCode="integer",
    loadTime="integer",
    verdict="string",
    cached="boolean",
)
SEARCH = _always(
    query="string",
    results={"type": "array", "items": _FOUND},
    hasMore="boolean",
    searchTime="integer",
    providers=_LIST,
)
EXTRACTED = _always(
    data={}, proof=_LIST, missing={"type": "array", "items": {"type": "string"}}, sources=_LIST
)
CRAWL = _and(
    _JOB_STATUS,
    _always(crawlId="string", url="string", pagesFound="integer", pagesCrawled="integer"),
)
CRAWL_STATUS = _and(_and(CRAWL, _PROGRESS), _and(_PART, _always(pages=_LIST)))
BATCH_STATUS = _and(
    _and(_JOB_STATUS, _PROGRESS),
    _and(_PART, _always(jobId="string", total="integer", completed="integer", pages=_LIST)),
)
ERRORS = _and(_PART, _always(errors=_LIST, total="integer", message="string"))
LEDGER = _and(_PART, _always(urls=_LIST, counts="object"))
CANCELLED = _always(status="string", message="string")
CRAWLS = _always(crawls=_LIST)
BATCHES = _always(batches=_LIST)
WEBHOOK_EVENTS = _always(events=_LIST)
RETRIED = _always(retried="integer")
READINESS = _always(status=_one_of("ready", "not ready"), parts="object")

EVENTS: Schema = {"text/event-stream": {}}
EXPORT: Schema = {kind.media_type: {} for kind in ExportFormat}

_TEXT: Schema = {"type": "string"}
ERROR_ANSWER: Schema = {
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
                # Beside the codes of failures: that there is no such route.
                "code": _one_of(*ErrorCode, "NOT_FOUND"),
                "url": _TEXT,
                "verdict": _TEXT,
                "nextStep": {"type": ["string", "null"]},
                "validationErrors": {
                    "type": "array",
                    "items": _always(field="string", message="string"),
                },
                "diagnostics": _always(
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

# What the gate may answer with, before any route is asked.
_OF_THE_GATE = frozenset({"401", "403", "413", "429", "503"})


def answer_of(schema: Schema) -> Schema:
    """Return the content of an answer in JSON."""
    return {"application/json": {"schema": schema}}


def all_responses(content: Schema) -> Schema:
    """Return what a route may answer with: this, or any failure."""
    return {"200": {"description": "The answer", "content": content}, **_failures()}


def gate_responses() -> Schema:
    """Return what may be answered in place of any route."""
    return {status: told for status, told in _failures().items() if status in _OF_THE_GATE}


def _failures() -> Schema:
    """Return each HTTP status that an error may have, with its codes."""
    codes: dict[int, list[str]] = {}
    for code, status in HTTP_STATUS.items():
        codes.setdefault(status, []).append(code)
    return {
        str(status): {"description": ", ".join(codes[status]), "content": answer_of(_ERROR_REF)}
        for status in sorted(codes)
    }
