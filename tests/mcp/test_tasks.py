"""Crawls and batches as tasks, for clients that declare the extension."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest

from cinder.app import App, open_app
from cinder.config import Settings
from cinder.mcp.tasks import EXTENSION
from tests.mcp.conftest import Call
from tests.mcp.test_streamable_http_2 import URL, http_client
from tests.resolver import TableResolver
from tests.site import Site

REVISION = "2026-07-28"
META = "io.modelcontextprotocol"


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs."""
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


class RawClient:
    """A client of the newer era, by hand: the SDK's knows nothing of tasks."""

    def __init__(self, http: httpx2.AsyncClient, *, knows_tasks: bool) -> None:
        self._http = http
        self._capabilities: dict[str, Any] = {"extensions": {EXTENSION: {}}} if knows_tasks else {}

    async def send(self, method: str, header: str, **params: Any) -> dict[str, Any]:
        """Send a request; return its result, or its error."""
        meta = {
            f"{META}/protocolVersion": REVISION,
            f"{META}/clientCapabilities": self._capabilities,
            f"{META}/clientInfo": {"name": "test", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {"mcp-protocol-version": REVISION, "mcp-method": method, "mcp-name": header}
        answer = (await self._http.post(URL, json=body, headers=headers)).json()
        return dict(answer.get("result") or answer["error"])

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.send("tools/call", tool, name=tool, arguments=arguments)

    async def task(self, do: str, task_id: str) -> dict[str, Any]:
        return await self.send(f"tasks/{do}", task_id, taskId=task_id)

    async def finish(self, task_id: str) -> dict[str, Any]:
        """Ask until a task is over."""
        async with asyncio.timeout(60):
            while (task := await self.task("get", task_id))["status"] == "working":
                pass
        return task


@asynccontextmanager
async def raw_client(app: App, *, knows_tasks: bool = True) -> AsyncIterator[RawClient]:
    async with http_client(app) as http:
        yield RawClient(http, knows_tasks=knows_tasks)


async def test_a_crawl_is_a_task_whose_result_is_its_status(app: App, site: Site) -> None:
    async with raw_client(app) as client:
        task = await client.call("cinder_crawl", url=site.url("/shelf?books=3"))
        assert (task["resultType"], task["status"]) == ("task", "working")
        assert {"createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} <= set(task)
        done = await client.finish(task["taskId"])
    assert (done["resultType"], done["status"]) == ("complete", "completed")
    assert done["result"]["structuredContent"]["pagesCrawled"] == 4
    assert "untrusted" in done["result"]["content"][0]["text"]


async def test_a_batch_is_a_task_whose_result_has_the_pages(app: App, site: Site) -> None:
    async with raw_client(app) as client:
        task = await client.call("scrape", urls=[site.url("/article")])
        assert task["resultType"] == "task"
        done = await client.finish(task["taskId"])
    (page,) = done["result"]["structuredContent"]["pages"]
    assert "Rake the ash aside" in str(page)


async def test_a_task_is_cancelled_once_and_for_all(app: App, site: Site) -> None:
    async with raw_client(app) as client:
        task = await client.call("cinder_crawl", url=site.url("/silent"))
        for _ in range(2):
            ended = await client.task("cancel", task["taskId"])
            assert ended["resultType"] == "complete"
            assert "taskId" not in ended
        state = await client.task("get", task["taskId"])
    assert state["status"] == "cancelled"
    assert "result" not in state


@pytest.mark.parametrize("do", ["get", "cancel", "update"])
async def test_unknown_tasks_and_clients_that_know_none_are_refused(app: App, do: str) -> None:
    async with raw_client(app) as client:
        refused = await client.task(do, "crawl-000000000000000000000000")
        assert refused["code"] == types.INVALID_PARAMS
    async with raw_client(app, knows_tasks=False) as client:
        refused = await client.task(do, "crawl-000000000000000000000000")
    assert refused["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused["data"]["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}


@pytest.mark.parametrize("do", ["get", "cancel", "update"])
async def test_a_header_that_names_another_task_is_refused(app: App, site: Site, do: str) -> None:
    async with raw_client(app) as client:
        task = await client.call("cinder_crawl", url=site.url("/silent"))
        for header in ("crawl-000000000000000000000000", ""):
            refused = await client.send(f"tasks/{do}", header, taskId=task["taskId"])
            assert refused["code"] == types.HEADER_MISMATCH
        state = await client.task("get", task["taskId"])
    assert state["status"] == "working"


async def test_who_knows_no_tasks_gets_the_id(app: App, site: Site, call: Call) -> None:
    async with raw_client(app, knows_tasks=False) as client:
        crawl = await client.call("cinder_crawl", url=site.url("/article"))
    assert crawl["resultType"] == "complete"
    assert crawl["structuredContent"]["crawlId"].startswith("crawl-")


async def test_what_starts_no_job_is_no_task(app: App, site: Site) -> None:
    async with raw_client(app) as client:
        page = await client.call("scrape", url=site.url("/article"))
        wrong = await client.call("cinder_crawl", url="")
    assert (page["resultType"], wrong["resultType"]) == ("complete", "complete")
    assert wrong["isError"]
