"""What holds for every tool: either channel is complete by itself, and stays within its size."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.mcp.results import UNTRUSTED_META_KEY
from cinder.mcp.server import TOOLS, build_server
from cinder.models.search import SearchHit
from cinder.services.search.service import MODE_TIMES, SearchAndScrape
from tests.mcp.reading import text_of, unmarked
from tests.mcp.strict import find_open_objects, give_everything
from tests.mcp.test_tool_calls import ALLOWED_KEYS, described, nodes
from tests.resolver import TableResolver
from tests.services.search.doubles import ListProvider, World
from tests.site import Site
from tests.site.pages import vast_page

SMALL, VAST = "/article", "/vast"
# Escaping what pages say makes JSON longer than the text itself, which alone is counted.
ESCAPED = 1.25
# Said of an answer for those who compute with it; a reader misses nothing without them.
BOOKKEEPING = frozenset(
    {
        *("contentType", "rawLength", "cleanedLength", "wordCount", "tokenCount", "cacheAge"),
        *("wasTruncated", "nextStartIndex", "cached", "timestamp", "outlineLeftOut"),
        *("start", "end", "keptShare"),
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


async def arguments_for(client: Client, tool: str, url: str) -> dict[str, Any]:
    """Return what to ask a tool about a page."""
    match tool:
        case "cinder_search" | "cinder_search_and_scrape":
            return {"query": "ash keeps a fire"}
        case "cinder_get_crawl_status":
            crawl = await client.call_tool("cinder_crawl", {"url": url, "maxDepth": 1})
            return {"id": (crawl.structured_content or {})["crawlId"], "waitSeconds": 50}
        case "cinder_extract":
            return {"urls": [url], "prompt": "author, title"}
        case "scrape_extract_content":
            return {"html": vast_page() if VAST in url else "<h1>Hi</h1><a href='/x'>y</a>"}
        case "scrape_text_similarity":
            text = vast_page()[: 1024 * 1024] if VAST in url else "an ember"
            return {"text_a": text, "text_b": "an ember"}
        case "scrape":
            formats = ["markdown", "html", "rawHtml", "links", "images", "summary", "branding"]
            return {"url": url, "formats": formats}
        case "cinder_scrape" | "cinder_crawl" | "cinder_map":
            return {"url": url}
        case _:
            pytest.fail(f"Nobody says here what {tool} is to be asked")


async def answer(client: Client, tool: str, url: str) -> types.CallToolResult:
    """Have a tool answer about a page."""
    arguments = await arguments_for(client, tool, url)
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
    assert_complete(result, settings)


async def test_a_batch_is_told_completely_with_its_pages(
    app: App, site: Site, settings: Settings
) -> None:
    async with Client(build_server(app, TOOLS)) as client:
        batch = await client.call_tool("scrape", {"urls": [site.url(SMALL), site.url(VAST)]})
        assert_complete(batch, settings)
        job_id = (batch.structured_content or {})["jobId"]
        looking = {"command": "status", "jobId": job_id, "includeContent": True}
        async with asyncio.timeout(60):
            while True:
                status = await client.call_tool("scrape", looking)
                if (status.structured_content or {})["status"] == "completed":
                    break
        # The small page leaves no room for the vast one, which then comes alone.
        offset = (status.structured_content or {})["nextOffset"]
        rest = await client.call_tool("scrape", looking | {"offset": offset})
    shown = [page for part in (status, rest) for page in (part.structured_content or {})["pages"]]
    assert [page["url"] for page in shown] == [site.url(SMALL), site.url(VAST)]
    assert_complete(status, settings)
    assert_complete(rest, settings)


def assert_complete(result: types.CallToolResult, settings: Settings) -> None:
    """Hold either channel against the other, and both against their size."""
    text, data = text_of(result), result.structured_content
    assert not result.is_error, text
    told = [(name, begin(name, value)) for name, value in leaves(data) if name not in BOOKKEEPING]
    assert told
    assert list(facts_in(result))
    assert [name for name, value in leaves(data) if value is None] == []
    assert [(name, value) for name, value in told if not is_said(value, text)] == []
    assert [line for line in facts_in(result) if not is_in(line, data)] == []
    limit = settings.server.mcp_result_max_chars
    assert len(text) <= limit
    assert len(json.dumps(data, ensure_ascii=False)) <= limit * ESCAPED


def facts_in(result: types.CallToolResult) -> Iterator[str]:
    """Yield the lines of the content, without what marks it as untrusted."""
    is_marked = UNTRUSTED_META_KEY in (result.meta or {})
    for line in text_of(unmarked(result) if is_marked else result).splitlines():
        is_caption = re.fullmatch(r"\w+ \([0-9]+\):|\w+:|Outline, as section \(tokens\):", line)
        if line.strip() and not is_caption:
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


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
@pytest.mark.parametrize("is_reading", [False, True])
async def test_a_client_that_must_give_every_argument_is_answered_the_same(
    app: App, site: Site, tool: str, is_reading: bool
) -> None:
    tools = [each.as_read_only() if is_reading else each for each in TOOLS]
    async with Client(build_server(app, tools)) as client:
        schema = next(
            each.input_schema for each in (await client.list_tools()).tools if each.name == tool
        )
        wanted = await arguments_for(client, tool, site.url(SMALL))
        plain = await client.call_tool(tool, wanted)
        strict = await client.call_tool(tool, give_everything(schema, wanted))
    assert not strict.is_error, text_of(strict)
    assert set(strict.structured_content or {}) == set(plain.structured_content or {})


def test_every_tool_can_be_called_by_a_client_that_is_held_to_its_schema() -> None:
    for tool in described([*TOOLS, *(tool.as_read_only() for tool in TOOLS)]):
        assert find_open_objects(tool["inputSchema"]) == [], tool["name"]


def test_every_schema_is_flat_in_both_variants() -> None:
    for tool in described([*TOOLS, *(tool.as_read_only() for tool in TOOLS)]):
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert all(set(node) <= ALLOWED_KEYS for node in nodes(schema))
