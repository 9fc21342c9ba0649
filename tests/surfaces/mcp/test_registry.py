import json
from collections.abc import Iterator
from typing import Any

import pytest

from cinder.surfaces.mcp.flat_schema import Schema
from cinder.surfaces.mcp.registry import TOOLS

ALLOWED_KEYS = {
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "description",
    "additionalProperties",
}
PLAIN_TYPES = {"object", "array", "string", "integer", "number", "boolean"}

# Nine tools may cost 4,000 tokens together. Crawls took 760, batches 135, searches 640 and
# extraction 320.
MAX_TOKENS = 4_000


def described() -> list[dict[str, Any]]:
    return [
        tool.describe().model_dump(by_alias=True, mode="json", exclude_none=True) for tool in TOOLS
    ]


def nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from nodes(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])


SCHEMAS = [
    pytest.param(tool[kind], id=f"{tool['name']}-{kind}")
    for tool in described()
    for kind in ("inputSchema", "outputSchema")
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema_is_flat(schema: Schema) -> None:
    assert schema["type"] == "object"
    for node in nodes(schema):
        assert set(node) <= ALLOWED_KEYS
        assert node["type"] in PLAIN_TYPES
        assert (node["type"] == "array") == ("items" in node)
        assert all(isinstance(value, str) for value in node.get("enum", []))
        assert set(node.get("required", [])) <= set(node.get("properties", {}))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_banned_word_stands_in_a_schema_as_a_keyword(schema: Schema) -> None:
    banned = ["oneOf", "anyOf", "allOf", "$ref", "$defs", "const", "format", "pattern"]
    keywords = {key for node in nodes(schema) for key in node}
    assert keywords.isdisjoint([*banned, "exclusiveMinimum", "exclusiveMaximum", "default"])


def test_tool_list_stays_within_its_token_budget() -> None:
    compact = json.dumps(described(), separators=(",", ":"), ensure_ascii=False)
    assert len(compact) / 4 <= MAX_TOKENS


def test_every_tool_says_how_it_behaves() -> None:
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    for tool in described():
        assert set(tool["annotations"]) == hints
        assert tool["title"]
        assert tool["description"]


def test_scrape_is_not_declared_read_only() -> None:
    scrape = next(tool for tool in described() if tool["name"] == "scrape")
    assert scrape["annotations"]["readOnlyHint"] is False


def test_starting_a_crawl_is_not_read_only_and_looking_at_one_is() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in described()}
    assert hints["cinder_crawl"]["readOnlyHint"] is False
    assert hints["cinder_crawl"]["openWorldHint"] is True
    assert hints["cinder_get_crawl_status"]["readOnlyHint"] is True


def test_extraction_is_offered_with_or_without_a_model() -> None:
    scrape = next(tool for tool in described() if tool["name"] == "scrape")
    assert "extract" in scrape["inputSchema"]["properties"]
    assert "cinder_extract" in [tool["name"] for tool in described()]


def test_output_schemas_require_no_field_that_may_be_absent() -> None:
    required = {tool["name"]: tool["outputSchema"].get("required") for tool in described()}
    assert required == {
        "scrape": None,  # a page has other fields than a batch
        "cinder_scrape": ["url", "content", "statusCode", "loadTime", "verdict", "cached"],
        "cinder_search": ["query", "results", "hasMore", "searchTime"],
        "cinder_search_and_scrape": ["results"],
        "cinder_crawl": ["crawlId", "url", "status", "pagesFound", "pagesCrawled", "createdAt"],
        "cinder_get_crawl_status": [
            *("crawlId", "status", "pagesFound", "pagesCrawled", "progress", "pages", "errorCount"),
        ],
        "cinder_extract": ["data", "proof", "missing", "sources", "engine"],
        "scrape_extract_content": ["status"],
        "scrape_text_similarity": ["status"],
    }
