"""tests.mcp.test_streamable_http_2"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from cinder.api.requests import set_caller
from cinder.app import App
from cinder.config import ServerSettings
from cinder.mcp.streamable_http import open_http, transport_security
from cinder.models.caller import OWNER_CALLER
from tests.api.running import run_server
from tests.mcp.conftest import Era
from tests.mcp.reading import text_of
from tests.site import Site

URL = "http://127.0.0.1:8000/mcp"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"accept": "application/json, text/event-stream"}


def by_the_owner(endpoint: ASGIApp) -> ASGIApp:
    """Stand in for the gate, which says who sends a request."""

    async def sent(scope: Scope, receive: Receive, send: Send) -> None:
        set_caller(Request(scope), OWNER_CALLER)
        await endpoint(scope, receive, send)

    return sent


@asynccontextmanager
async def http_client(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_http(app) as endpoint:
        transport = httpx2.ASGITransport(app=by_the_owner(endpoint))
        async with httpx2.AsyncClient(transport=transport, headers=HEADERS) as client:
            yield client


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_both_eras_can_scrape_over_http(app: App, site: Site, era: Era) -> None:
    async with http_client(app) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=era) as client:
            result = await client.call_tool("scrape", {"url": site.url("/article")})
    assert "Rake the ash aside" in text_of(result)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_progress_arrives_over_http_while_a_tool_waits(
    tmp_path: Path, site: Site, era: Era
) -> None:
    is_told = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        is_told.set()

    async with (
        run_server(tmp_path / "data", CINDER_EGRESS__ALLOW=site.address) as server,
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=era) as client,
        asyncio.TaskGroup() as tasks,
    ):
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/silent"), "maxDepth": 1})
        looking = {"id": (crawl.structured_content or {})["crawlId"], "waitSeconds": 50}
        waiting = tasks.create_task(
            client.call_tool("cinder_get_crawl_status", looking, progress_callback=note)
        )
        async with asyncio.timeout(60):
            await is_told.wait()
        site.release()
        status = await waiting
    assert (status.structured_content or {})["status"] == "completed"


@pytest.mark.parametrize("origin", ["null", "http://evil.test", "http://127.0.0.1.evil.test:8000"])
async def test_foreign_origin_is_refused(app: App, origin: str) -> None:
    async with http_client(app) as http:
        answer = await http.post(URL, json=PING, headers={"origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["evil.test:8000", "evil.test", "127.0.0.1.evil.test:8000"])
async def test_foreign_host_is_refused(app: App, host: str) -> None:
    async with http_client(app) as http:
        answer = await http.post(URL, json=PING, headers={"host": host})
    assert answer.status_code == 421


async def test_foreign_host_is_refused_on_the_newest_revision_too(app: App) -> None:
    headers = {
        "host": "evil.test:8000",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
    }
    async with http_client(app) as http:
        answer = await http.post(URL, json=PING | {"method": "tools/list"}, headers=headers)
    assert answer.status_code == 421


def test_loopback_is_allowed_on_the_servers_port_alone() -> None:
    allowed = transport_security(ServerSettings(port=8123))
    assert allowed.allowed_hosts == ["127.0.0.1:8123", "localhost:8123", "[::1]:8123"]
    assert "http://localhost:8123" in allowed.allowed_origins


def test_configured_names_and_the_own_address_are_allowed() -> None:
    server = ServerSettings(
        host="192.0.2.7", port=8123, allowed_hosts=("cinder.test", "proxy.test:443")
    )
    assert transport_security(server).allowed_hosts[3:] == [
        "192.0.2.7:8123",
        "cinder.test",
        "cinder.test:8123",
        "proxy.test:443",
    ]


def test_listening_everywhere_allows_no_further_host() -> None:
    assert len(transport_security(ServerSettings(host="0.0.0.0")).allowed_hosts) == 3
