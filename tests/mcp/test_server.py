"""tests.mcp.test_server"""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from cinder.app import App
from cinder.mcp.server import build_server
from tests.mcp.conftest import Call, Connect, Era
from tests.mcp.reading import error_of, text_of
from tests.site import Site

SERVE = """
from cinder.config import read_settings
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


def test_stdio_answers_and_ends_with_its_input(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for message in MESSAGES:
            running.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            running.stdin.flush()
            if "id" in message:
                answer = json.loads(running.stdout.readline())
                assert (answer["jsonrpc"], answer["id"]) == ("2.0", message["id"])
        running.stdin.close()
        assert running.wait(60) == 0


def test_a_client_that_reads_no_more_ends_the_server_in_good_order(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        running.stdin.flush()
        running.stdout.readline()
        running.stdout.close()
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[2]) + "\n")
        running.stdin.close()
        said = running.stderr.read()
        assert running.wait(60) == 0, said
    assert "the client is gone" in said
    assert "Traceback" not in said


def test_interrupt_ends_the_server_while_it_waits(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        running.stdin.flush()
        running.stdout.readline()
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
    *("cinder_crawl", "cinder_get_crawl_status"),
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
