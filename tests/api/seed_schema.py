"""The answer to a search as the contract has it, for every surface's answers to be held against."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types

RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "url": {"type": "string"},
        "domain": {"type": "string"},
        "summary": {"type": "string"},
        "relevance": {"type": "number", "minimum": 0, "maximum": 1},
        "publishedDate": {"type": "string"},
    },
    "required": ["id", "title", "url", "domain", "summary", "relevance"],
}

SEARCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "results": {"type": "array", "items": RESULT},
        "hasMore": {"type": "boolean"},
        "nextOffset": {"type": "number"},
        "searchTime": {"type": "number"},
    },
    "required": ["query", "results", "hasMore", "searchTime"],
}


def hold_against_seed(answer: object) -> None:
    """Fail where an answer is not what the contract promises."""
    jsonschema.validate(answer, SEARCH_SCHEMA)
