import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from cinder.surfaces.mcp.flat_schema import Schema
from cinder.surfaces.mcp.registry import TOOLS
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.mcp.toolsets import TOOLSETS

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

# What the list of all nine tools may cost, and what that of the default ones.
MAX_TOKENS = 4_000
MAX_DEFAULT_TOKENS = 2_500


def described(tools: Iterable[Tool[Any]] = TOOLS) -> list[dict[str, Any]]:
    return [
        tool.describe().model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools
    ]


def tokens(tools: Iterable[Tool[Any]]) -> float:
    return len(json.dumps(described(tools), separators=(",", ":"), ensure_ascii=False)) / 4


def nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from nodes(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])


SCHEMAS = [
    pytest.param(tool[kind], id=f"{tool['name']}-{kind}")
    for tool in described([*TOOLS, *(tool.for_reading() for tool in TOOLS)])
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


def test_tool_lists_stay_within_their_token_budgets() -> None:
    reading = [tool.for_reading() for tool in TOOLS]
    by_default = [tool for tool in TOOLS if tool.name in TOOLSETS["default"]]
    assert tokens(TOOLS) <= MAX_TOKENS
    assert tokens(reading) <= MAX_TOKENS
    assert tokens(by_default) <= MAX_DEFAULT_TOKENS


def test_default_tools_name_no_tool_that_is_not_listed_with_them() -> None:
    others = [name for name in TOOLSETS["all"] if name not in TOOLSETS["default"]]
    for tool in described(tool for tool in TOOLS if tool.name in TOOLSETS["default"]):
        assert not [name for name in others if re.search(rf"\b{name}\b", tool["description"])]


def test_every_tool_says_how_it_behaves_and_has_an_icon() -> None:
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    for tool in described():
        (icon,) = tool["icons"]
        kind, _, drawing = icon["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert ElementTree.fromstring(base64.b64decode(drawing)).tag.endswith("svg")
        assert set(tool["annotations"]) == hints
        assert tool["title"]
        assert tool["description"]


def test_scrape_is_not_declared_read_only() -> None:
    scrape = next(tool for tool in described() if tool["name"] == "scrape")
    assert scrape["annotations"]["readOnlyHint"] is False


def test_a_crawl_only_reads_but_each_start_is_another_one() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in described()}
    assert hints["cinder_crawl"]["readOnlyHint"] is True
    assert hints["cinder_crawl"]["idempotentHint"] is False
    assert hints["cinder_crawl"]["openWorldHint"] is True
    assert hints["cinder_get_crawl_status"]["readOnlyHint"] is True


def test_where_pages_may_only_be_read_every_tool_says_so() -> None:
    reading = {tool.name: tool.for_reading().annotations for tool in TOOLS}
    assert {name for name, hints in reading.items() if hints.read_only_hint} == set(reading)
    # Each start of a batch is another one.
    assert reading["scrape"].idempotent_hint is False


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
        "cinder_crawl": ["crawlId", "url", "status"],
        "cinder_get_crawl_status": [
            *("crawlId", "status", "pagesFound", "pagesCrawled", "progress", "pages", "errorCount"),
        ],
        "cinder_extract": ["data", "proof", "missing", "sources", "engine"],
        "scrape_extract_content": ["status"],
        "scrape_text_similarity": ["status"],
    }
