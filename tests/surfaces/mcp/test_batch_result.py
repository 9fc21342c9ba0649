"""Batches through the tool `scrape`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app import App, open_app
from cinder.config import Settings
from tests.conftest import TableResolver
from tests.site import Site
from tests.surfaces.mcp.conftest import Call, Connect
from tests.surfaces.mcp.reading import error_of, text_of, unmarked

BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs."""
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    return dict(result.structured_content or {})


async def finish(client: Client, job_id: str) -> types.CallToolResult:
    """Return the status of a batch once it is over."""
    async with asyncio.timeout(60):
        while True:
            status = await client.call_tool("scrape", {"command": "status", "jobId": job_id})
            if data_of(status)["status"] != "scraping":
                return status
            await asyncio.sleep(0.05)  # the tool says when it is asked, and only then


@BOTH_ERAS
async def test_a_batch_is_started_and_looked_after_by_commands(
    connect: Connect, site: Site
) -> None:
    urls = [site.url("/article"), site.url("/status?code=404"), site.url("/article"), "http://"]
    async with connect() as client:
        await client.list_tools()
        start = await client.call_tool("scrape", {"urls": urls})
        batch = data_of(start)
        assert text_of(unmarked(start)).startswith(
            "Batch scrape started for 3 URLs. Use jobId 'batch-"
        )
        assert (batch["status"], batch["urls"], batch["duplicates"]) == ("scraping", 3, 1)
        status = await finish(client, batch["jobId"])
        arguments = {"command": "errors", "jobId": batch["jobId"]}
        errors = await client.call_tool("scrape", arguments)
        arguments["command"] = "cancel"
        cancelled = await client.call_tool("scrape", arguments)
    assert text_of(unmarked(status)).startswith(
        "Batch scrape completed: 3/3 URLs completed (100%)\n{"
    )
    pages = data_of(status)["pages"]
    assert [page["url"] for page in pages] == [site.url("/article")]
    assert pages[0]["savedUris"]["cleaned"] in text_of(status)
    assert text_of(unmarked(errors)).startswith("Found 2 errors in batch scrape\n")
    assert "404" in str(data_of(errors)["errors"])
    assert text_of(unmarked(cancelled)).startswith("Batch scrape was over before: completed")


async def test_a_batch_keeps_the_format_that_it_was_started_with(
    connect: Connect, site: Site
) -> None:
    async with connect() as client:
        arguments: dict[str, Any] = {"urls": [site.url("/article")], "format": "links"}
        start = data_of(await client.call_tool("scrape", arguments))
        await finish(client, start["jobId"])
        arguments = {"command": "status", "jobId": start["jobId"], "includeContent": True}
        page = data_of(await client.call_tool("scrape", arguments))["pages"][0]
    assert "savedUris" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"command": "status"}, "- jobId: Required"),
        ({"command": "status", "jobId": "batch-none", "format": "links"}, "- format: "),
        ({"url": "a.example", "urls": ["b.example"]}, "- urls: Give either url or urls"),
        ({"urls": ["http://"]}, "- urls[0]: "),
        ({"urls": ["a.example"], "resultHandling": "returnOnly"}, "- resultHandling: "),
    ],
)
async def test_wrong_arguments_are_named(call: Call, arguments: dict[str, Any], told: str) -> None:
    assert told in error_of(await call("scrape", **arguments))


@pytest.mark.parametrize("command", ["status", "cancel", "errors"])
async def test_an_unknown_batch_is_told_with_what_to_do(call: Call, command: str) -> None:
    failure = error_of(await call("scrape", command=command, jobId="batch-none"))
    assert failure.startswith("BATCH_NOT_FOUND: ")
    assert "urls" in failure
