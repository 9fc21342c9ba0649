"""The tools `cinder_crawl` and `cinder_get_crawl_status`, in both eras of the protocol."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.mcp.tools.crawl import MAX_WAIT_SECONDS
from tests.mcp.conftest import Call, Connect
from tests.mcp.reading import error_of, text_of, unmarked
from tests.resolver import TableResolver
from tests.site import Site

BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs."""
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    """Return the structured content, which the text says as well."""
    assert not result.is_error, text_of(result)
    assert json.loads(text_of(result)) == result.structured_content
    return dict(result.structured_content or {})


async def finish(client: Client, **arguments: Any) -> dict[str, Any]:
    """Run a crawl to its end; return its status."""
    await client.list_tools()
    crawl = data_of(await client.call_tool("cinder_crawl", arguments))
    looking = {"id": crawl["crawlId"], "waitSeconds": MAX_WAIT_SECONDS}
    return data_of(unmarked(await client.call_tool("cinder_get_crawl_status", looking)))


@BOTH_ERAS
async def test_a_crawl_returns_at_once_and_its_status_waits_for_the_pages(
    connect: Connect, site: Site
) -> None:
    async with connect() as client:
        crawl = await finish(client, url=site.url("/shelf?books=3"))
    assert (crawl["status"], crawl["progress"]) == ("completed", 100)
    assert (crawl["pagesCrawled"], crawl["errorCount"]) == (4, 2)
    assert len(crawl["pages"]) == 4
    assert {"url", "title", "statusCode", "contentLength", "savedUris"} <= set(crawl["pages"][0])
    assert {error["error"] for error in crawl["errors"]} >= {"Robots.txt disallowed"}
    assert "nextOffset" not in crawl


@BOTH_ERAS
async def test_the_status_says_what_ended_the_crawl_and_what_was_left_out(
    connect: Connect, site: Site
) -> None:
    async with connect() as client:
        crawl = await finish(client, url=site.url("/shelf?books=3"), maxDepth=1)
    assert (crawl["endedBy"], crawl["leftOut"]) == ("maxDepth", {"maxDepth": 5})


@BOTH_ERAS
async def test_whoever_waits_is_told_how_far_it_is(connect: Connect, site: Site) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    twice = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        if len(told) >= 2:
            twice.set()

    async with connect() as client, asyncio.TaskGroup() as tasks:
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/silent"), "maxDepth": 1})
        arguments = {"id": (crawl.structured_content or {})["crawlId"], "waitSeconds": 50}
        calling = tasks.create_task(
            client.call_tool("cinder_get_crawl_status", arguments, progress_callback=note)
        )
        async with asyncio.timeout(60):
            await twice.wait()
        site.release()
        result = await calling
    assert (result.structured_content or {})["status"] == "completed"
    figures = [done for done, _, _ in told]
    assert figures == sorted(set(figures))
    assert all(of is not None and done <= of for done, of, _ in told)
    assert told[0][2] == "0 pages fetched, 1 found, 0 errors"


async def test_the_time_to_wait_is_bounded(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/silent")})
        arguments = {"id": (crawl.structured_content or {})["crawlId"], "waitSeconds": 1}
        status = await client.call_tool("cinder_get_crawl_status", arguments)
        site.release()
    assert (status.structured_content or {})["status"] in ("queued", "running")


async def test_pages_are_read_in_parts(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await finish(client, url=site.url("/shelf?books=3"))
        urls: list[str] = []
        part: dict[str, Any] = {"nextOffset": 0}
        while "nextOffset" in part:
            arguments = {"id": crawl["crawlId"], "offset": part["nextOffset"], "limit": 3}
            part = data_of(unmarked(await client.call_tool("cinder_get_crawl_status", arguments)))
            urls += [page["url"] for page in part["pages"]]
    assert urls == [page["url"] for page in crawl["pages"]]


async def test_a_page_of_a_crawl_is_a_resource(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await finish(client, url=site.url("/article"), maxDepth=1)
        read = await client.read_resource(crawl["pages"][0]["savedUris"]["cleaned"])
    assert "Rake the ash aside" in str(read.contents)


async def test_a_cancelled_crawl_says_so(app: App, connect: Connect, site: Site) -> None:
    async with connect() as client:
        started = data_of(await client.call_tool("cinder_crawl", {"url": site.url("/silent")}))
        job = (await app.jobs.list_jobs("owner"))[0]
        await app.jobs.cancel(job)
        looking = {"id": started["crawlId"], "waitSeconds": 50}
        crawl = data_of(unmarked(await client.call_tool("cinder_get_crawl_status", looking)))
        site.release()
    assert crawl["status"] == "cancelled"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "- url: Required"),
        ({"url": "a.example", "includePatterns": ["("]}, "- includePatterns[0]: "),
        ({"url": "a.example", "maxDepth": 0}, "- maxDepth: "),
        ({"url": "a.example", "scope": "world"}, "- scope: Invalid enum value"),
        ({"url": "a.example", "maxPage": 3}, "Did you mean 'maxPages'?"),
        ({"url": "a.example", "maxPages": 10**9}, "- maxPages: At most 100000"),
    ],
)
async def test_wrong_arguments_are_named(call: Call, arguments: dict[str, Any], told: str) -> None:
    assert told in error_of(await call("cinder_crawl", **arguments))


async def test_an_unknown_crawl_is_told_with_what_to_do(call: Call) -> None:
    failure = error_of(await call("cinder_get_crawl_status", id="crawl-none"))
    assert failure.startswith("CRAWL_NOT_FOUND: ")
    assert "cinder_crawl" in failure


async def test_patterns_may_arrive_as_json_in_a_string(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await finish(
            client, url=site.url("/shelf?books=3"), includePatterns='["no-such-page"]'
        )
    assert [page["url"] for page in crawl["pages"]] == [site.url("/shelf?books=3")]
