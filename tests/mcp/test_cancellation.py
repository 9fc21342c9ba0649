"""Calls that take long: cancelled, too late for a call, or their client killed; in both eras."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from tests.api.running import RunningServer, run_server
from tests.mcp.conftest import Connect, Era
from tests.mcp.reading import error_of, text_of
from tests.mcp.waiting_client import Errand, running_errand
from tests.resolver import TableResolver
from tests.site import Site

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
# A tab is to be free within two seconds; a machine that does much else gets five times that.
FREE_WITHIN_SECONDS = 2 * 5
# A site that cannot be crawled to the end before the test lets go.
SHELF = "/shelf?books=20&lent=1"


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs, and gives a call a second."""
    server = settings.server.model_copy(update={"mcp_call_seconds": 1})
    hurried = settings.model_copy(update={"server": server})
    async with open_app(hurried, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


@asynccontextmanager
async def connected(server: RunningServer, era: Era) -> AsyncIterator[Client]:
    async with (
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=era) as client,
    ):
        yield client


async def count_busy(http: httpx2.AsyncClient) -> float:
    """Return how many of the browsers have a page open."""
    metrics = (await http.get("/metrics")).text
    figures = re.findall(r'cinder_browser_pool\{[^}]*state="busy"\} ([0-9.]+)', metrics)
    return sum(map(float, figures))


@ERAS
async def test_cancelling_a_slow_scrape_frees_its_tab(tmp_path: Path, site: Site, era: Era) -> None:
    clock = asyncio.get_running_loop().time
    async with (
        run_server(tmp_path / "data", CINDER_EGRESS__ALLOW=site.address) as server,
        server.client() as http,
        connected(server, era) as client,
    ):
        slow = {"url": site.url("/silent"), "mode": "dynamic"}
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(client.call_tool("scrape", slow))
            await site.asked("/silent")
            assert await count_busy(http) == 1
            calling.cancel()
        cancelled_at = clock()
        async with asyncio.timeout(60):
            while await count_busy(http):
                pass
        assert clock() - cancelled_at <= FREE_WITHIN_SECONDS
        after = await client.call_tool("scrape", {"url": site.url("/article")})
    assert not after.is_error


@ERAS
async def test_cancelling_over_stdio_leaves_the_only_tab_to_the_next_call(
    tmp_path: Path, site: Site, era: Era
) -> None:
    only_tab = {
        "CINDER_BROWSER__WORKER_POOL_MAX_SIZE_PER_PROCESS": "1",
        # Who gets no tab within that time is refused.
        "CINDER_BROWSER__QUEUE_OFFER_TIMEOUT_MS": str(FREE_WITHIN_SECONDS * 1000),
    }
    async with Client(stdio_server(tmp_path, site, **only_tab), mode=era) as client:
        slow = {"url": site.url("/silent"), "mode": "dynamic"}
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(client.call_tool("scrape", slow))
            await site.asked("/silent")
            calling.cancel()
        after = await client.call_tool("scrape", {"url": site.url("/article"), "mode": "dynamic"})
    assert not after.is_error, text_of(after)
    assert (after.structured_content or {})["source"] == "browser", after


def stdio_server(data_dir: Path, site: Site, **variables: str) -> StdioServerParameters:
    own = {"CINDER_DATA_DIR": str(data_dir), "CINDER_EGRESS__ALLOW": site.address, **variables}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "cinder", "mcp"], env={**os.environ, **own}
    )


@ERAS
async def test_a_crawl_goes_on_where_its_waiting_client_is_killed(
    tmp_path: Path, site: Site, era: Era
) -> None:
    async with run_server(tmp_path / "data", CINDER_EGRESS__ALLOW=site.address) as server:
        errand = Errand(site.url(SHELF), era, url=f"{server.url}/mcp", token=server.token)
        async with running_errand(errand) as (client, crawl_id):
            await site.asked("/lent")
            client.kill()
            assert await client.wait() == -signal.SIGKILL
        site.release()
        async with connected(server, era) as another:
            assert_whole(await end_of(another, crawl_id), site)


@ERAS
async def test_a_crawl_goes_on_where_a_killed_client_took_its_server_with_it(
    tmp_path: Path, site: Site, era: Era
) -> None:
    # Far longer than anybody waits here: the server has to leave the crawl to the next one.
    parameters = stdio_server(tmp_path, site, CINDER_JOBS__LEASE_SECONDS="600")
    async with running_errand(
        Errand(site.url(SHELF), era, variables=parameters.env or {})
    ) as started:
        client, crawl_id = started
        await site.asked("/lent")
        (server,) = psutil.Process(client.pid).children()
        client.kill()
        assert await client.wait() == -signal.SIGKILL
    # Its input is over, and so is it.
    await asyncio.to_thread(server.wait, 60)
    site.release()
    async with Client(parameters, mode=era) as another:
        assert_whole(await end_of(another, crawl_id), site)


async def end_of(client: Client, crawl_id: str) -> dict[str, Any]:
    looking = {"id": crawl_id, "waitSeconds": 50}
    status = await client.call_tool("cinder_get_crawl_status", looking)
    return status.structured_content or {}


def assert_whole(status: dict[str, Any], site: Site) -> None:
    assert status["status"] == "completed", status
    books = [f"/book?n={n}" for n in range(20)]
    expected = [site.url(path) for path in (SHELF, "/lent?n=99", *books)]
    assert sorted(page["url"] for page in status["pages"]) == sorted(expected)


@ERAS
async def test_a_page_too_slow_for_a_call_goes_on_behind_a_handle(
    connect: Connect, site: Site
) -> None:
    async with connect() as client:
        await client.list_tools()
        late = await client.call_tool("scrape", {"url": site.url("/silent")})
        assert not late.is_error, text_of(late)
        job_id = (late.structured_content or {})["jobId"]
        assert f"jobId {job_id}" in text_of(late)
        site.release()
        asking = {"command": "status", "jobId": job_id, "includeContent": True}
        async with asyncio.timeout(60):
            while True:
                status = (await client.call_tool("scrape", asking)).structured_content or {}
                if status["status"] == "completed":
                    break
    assert "Rake the ash aside" in str(status["pages"])


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 900},
        {"resultHandling": "returnOnly"},
        {"actions": [{"type": "wait", "milliseconds": 1}]},
    ],
)
async def test_what_cannot_go_on_is_told_as_late(
    connect: Connect, site: Site, options: dict[str, Any]
) -> None:
    async with connect() as client:
        late = await client.call_tool("scrape", {"url": site.url("/silent"), **options})
    assert error_of(late).startswith("SCRAPE_TIMEOUT: ")
