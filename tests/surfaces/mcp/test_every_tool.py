"""What holds for every tool: either channel is complete by itself, and stays within its size."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app import App, open_app
from cinder.config import Settings
from cinder.model.search import SearchHit
from cinder.services.search.gathering import MODE_TIMES
from cinder.services.search.search_and_scrape import SearchAndScrape
from cinder.surfaces.mcp.registry import TOOLS
from cinder.surfaces.mcp.server import build_server
from tests.conftest import TableResolver
from tests.services.search.doubles import ListProvider, World
from tests.site import Site
from tests.site.pages import vast_page
from tests.surfaces.mcp.reading import text_of
from tests.surfaces.mcp.test_registry import ALLOWED_KEYS, described, nodes

SMALL, VAST = "/article", "/vast"
# Escaping what pages say makes JSON longer than the text itself, which alone is counted.
ESCAPED = 1.25
# Said of an answer for those who compute with it; a reader misses nothing without them.
BOOKKEEPING = frozenset(
    {
        *("contentType", "rawLength", "cleanedLength", "wordCount", "tokenCount", "cacheAge"),
        *("wasTruncated", "nextStartIndex", "cached", "timestamp", "outlineLeftOut"),
    }
)


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver, site: Site) -> AsyncIterator[App]:
    """One that works on jobs, and whose web has two pages."""
    hits = [
        SearchHit(url=site.url(path), title=f"Ember {path}", summary="Keep the coals. " * 50)
        for path in (SMALL, VAST)
    ]
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        world = World(providers=[ListProvider("web", hits)])
        world.reads, world.times = opened.scrape, MODE_TIMES
        search = world.open()
        yield replace(
            opened, search=search, search_and_scrape=SearchAndScrape(search, opened.scrape)
        )


async def answer(client: Client, tool: str, url: str) -> types.CallToolResult:
    """Have a tool answer about a page."""
    match tool:
        case "cinder_search" | "cinder_search_and_scrape":
            arguments: dict[str, Any] = {"query": "ash keeps a fire"}
        case "cinder_get_crawl_status":
            crawl = await client.call_tool("cinder_crawl", {"url": url, "maxDepth": 1})
            arguments = {"id": (crawl.structured_content or {})["crawlId"], "waitSeconds": 50}
        case "cinder_extract":
            arguments = {"urls": [url], "prompt": "author, title"}
        case "scrape_extract_content":
            arguments = {"html": vast_page() if VAST in url else "<h1>Hi</h1><a href='/x'>y</a>"}
        case "scrape_text_similarity":
            text = vast_page()[: 1024 * 1024] if VAST in url else "an ember"
            arguments = {"text_a": text, "text_b": "an ember"}
        case "scrape":
            arguments = {"url": url, "formats": ["markdown", "html", "links", "images"]}
        case _:
            arguments = {"url": url}
    # The client holds the structured content against the output schema.
    await client.list_tools()
    return await client.call_tool(tool, arguments)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what an answer says, each with the name that it has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, name)
    else:
        yield name, value


def begin(name: str, value: Any) -> Any:
    """Return a value, of a title its beginning: a header has no room for a thousand words."""
    return value[:200] if name == "title" else value


def is_said(value: Any, text: str) -> bool:
    """Whether a text says a value, as it is or within JSON."""
    as_json = json.dumps(value, ensure_ascii=False)
    as_text = " ".join(str(value).split())
    return as_json.strip('"') in text or as_text in " ".join(text.split())


@pytest.mark.parametrize("path", [SMALL, VAST])
@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
async def test_each_channel_is_complete_without_nulls_and_within_its_size(
    app: App, site: Site, settings: Settings, tool: str, path: str
) -> None:
    async with Client(build_server(app, TOOLS)) as client:
        result = await answer(client, tool, site.url(path))
    text, data = text_of(result), result.structured_content
    assert not result.is_error, text
    told = [(name, begin(name, value)) for name, value in leaves(data) if name not in BOOKKEEPING]
    assert [name for name, value in leaves(data) if value is None] == []
    assert [(name, value) for name, value in told if not is_said(value, text)] == []
    assert [line for line in facts_in(result) if not is_in(line, data)] == []
    limit = settings.server.mcp_result_max_chars
    assert len(text) <= limit
    assert len(json.dumps(data, ensure_ascii=False)) <= limit * ESCAPED


def facts_in(result: types.CallToolResult) -> Iterator[str]:
    """Yield the lines of the content, but those that mark it as untrusted."""
    for line in text_of(result).splitlines():
        is_marked = "untrusted" in line
        is_caption = re.fullmatch(r"\w+ \([0-9]+\):|\w+:|Outline, as section \(tokens\):", line)
        if line.strip() and not is_marked and not is_caption:
            # Whether it is fresh is said as a word here, and there as `cached`.
            yield line.strip().replace(" | Fresh", "")


def is_in(line: str, data: Any) -> bool:
    """Whether the structured content says what a line of the content says."""
    if line.startswith("{"):
        known = {str(value) for _, value in leaves(data)}
        return all(str(value) in known for _, value in leaves(json.loads(line)))
    # A line of facts has each after its name.
    words = line.split(": ", 1)[-1]
    texts = [" ".join(value.split()) for _, value in leaves(data) if isinstance(value, str)]
    if any(line in text or words in text for text in texts):
        return True
    return all(
        any(str(value) in part for _, value in leaves(data) if str(value))
        for part in words.split(" | ")
    )


def test_every_schema_is_flat_in_both_variants() -> None:
    for tool in described([*TOOLS, *(tool.for_reading() for tool in TOOLS)]):
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert all(set(node) <= ALLOWED_KEYS for node in nodes(schema))
