"""The server over stdio, its instructions and capabilities, and tasks."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.mcp.server import TASKS_EXTENSION, build_server
from tests.mcp.conftest import Call, Connect, Era
from tests.mcp.reading import error_of, text_of
from tests.mcp.test_streamable_http import URL, http_client
from tests.resolver import TableResolver
from tests.site import Site

SERVE = """
from cinder.config.settings import read_settings
from cinder.logs import configure_logs
from cinder.mcp.server import serve_stdio
settings = read_settings()
configure_logs("debug")
serve_stdio(settings)
"""
MESSAGES: list[dict[str, Any]] = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {
        "id": 3,
        "method": "tools/call",
        "params": {"name": "scrape", "arguments": {"url": "http://127.0.0.1:1/"}},
    },
]
LEAN = """
import sys
import cinder.mcp.server
heavy = {"sqlalchemy", "alembic", "playwright"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""


@contextmanager
def serving(
    data_dir: Path, *, stderr: int = subprocess.DEVNULL
) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """Run the server over stdio; yield its process, and where to write and read messages."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={"CINDER_DATA_DIR": str(data_dir)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield running, running.stdin, running.stdout


def test_stdio_answers_and_ends_with_its_input(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, requests, answers):
        for message in MESSAGES:
            requests.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            requests.flush()
            if "id" in message:
                answer = json.loads(answers.readline())
                assert (answer["jsonrpc"], answer["id"]) == ("2.0", message["id"])
        requests.close()
        assert running.wait(60) == 0


def test_a_client_that_reads_no_more_ends_the_server_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path, stderr=subprocess.PIPE) as (running, requests, answers):
        assert running.stderr is not None
        requests.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        requests.flush()
        answers.readline()
        answers.close()
        requests.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[2]) + "\n")
        requests.close()
        said = running.stderr.read()
        assert running.wait(60) == 0, said
    assert "the client is gone" in said
    assert "Traceback" not in said


def test_interrupt_ends_the_server_while_it_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, requests, answers):
        requests.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        requests.flush()
        answers.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == -signal.SIGINT


def test_start_loads_no_database_toolkit() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LEAN], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stderr == ""
    assert ran.returncode == 0


ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
TOOLS = [
    *("scrape", "cinder_scrape", "cinder_search", "cinder_search_and_scrape"),
    *("cinder_map", "cinder_crawl", "cinder_get_crawl_status"),
    *("cinder_extract", "scrape_extract_content", "scrape_text_similarity"),
]


def count_of(app: App, command: str, outcome: str) -> float:
    labels = {"surface": "mcp", "command": command, "outcome": outcome}
    return app.metrics.registry.get_sample_value("cinder_scrape_requests_total", labels) or 0


@ERAS
async def test_both_eras_see_the_same_tools(connect: Connect) -> None:
    async with connect() as client:
        listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_each_era_negotiates_its_revision(app: App, era: Era, revision: str) -> None:
    async with Client(build_server(app), mode=era) as client:
        assert client.protocol_version == revision
        assert client.server_info is not None
        assert client.server_info.name == "cinder"


@ERAS
async def test_both_eras_can_scrape(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/article"))
    assert not result.is_error
    assert "Rake the ash aside" in text_of(result)


@ERAS
async def test_unknown_tool_is_answered_with_those_that_exist(call: Call, app: App) -> None:
    text = error_of(await call("fetch_page", url="https://example.com"))
    assert all(name in text for name in TOOLS)
    assert count_of(app, "unknown", "VALIDATION_ERROR") == 1


async def test_calls_are_counted_by_tool_and_outcome(call: Call, app: App, site: Site) -> None:
    await call("scrape", url=site.url("/article"))
    await call("scrape", url="")
    await call("scrape", command="status", jobId="1")
    assert count_of(app, "scrape", "ok") == 1
    assert count_of(app, "scrape", "VALIDATION_ERROR") == 1
    assert count_of(app, "status", "BATCH_NOT_FOUND") == 1


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
        self._capabilities: dict[str, Any] = (
            {"extensions": {TASKS_EXTENSION: {}}} if knows_tasks else {}
        )

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
    assert refused["data"]["requiredCapabilities"] == {"extensions": {TASKS_EXTENSION: {}}}


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
