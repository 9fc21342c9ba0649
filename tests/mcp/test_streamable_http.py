"""The endpoint /mcp: hosts, callers, and the limit on each caller's sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from cinder.api.requests import set_caller
from cinder.app.composition import App, open_app
from cinder.config.serving import ServerSettings
from cinder.config.settings import Settings
from cinder.mcp.server import build_server
from cinder.mcp.streamable_http import open_http, transport_security
from cinder.models.caller import OWNER_CALLER
from cinder.server.asgi import create_app
from tests.api.running import run_server
from tests.api.test_callers import make_token, sending
from tests.api.working import started
from tests.faults.asking import until
from tests.mcp.conftest import Era
from tests.mcp.reading import text_of
from tests.resolver import TableResolver
from tests.site import Site

MOST = 3
ACCEPT = {"accept": "application/json, text/event-stream"}
OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.fixture
async def api(settings: Settings, resolver: TableResolver) -> AsyncIterator[Starlette]:
    server = settings.server.model_copy(update={"mcp_max_sessions_per_caller": MOST})
    bounded = settings.model_copy(update={"server": server})
    served = create_app(bounded, open_app(bounded, resolver=resolver))
    async with started(served):
        yield served


async def open_session(client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.post("/mcp", json=OPENING, headers=ACCEPT)


async def open_one(client: httpx2.AsyncClient) -> str:
    answer = await open_session(client)
    assert answer.status_code == 200, answer.text
    session: str = answer.headers["mcp-session-id"]
    return session


async def ping(client: httpx2.AsyncClient, session: str) -> int:
    headers = {**ACCEPT, "mcp-session-id": session}
    return (await client.post("/mcp", json=PING, headers=headers)).status_code


async def test_the_longest_idle_session_ends_where_one_too_many_is_opened(api: Starlette) -> None:
    async with sending(api, await make_token(api, "one")) as client:
        sessions = [await open_one(client) for _ in range(MOST)]
        assert await ping(client, sessions[0]) == 200
        sessions.append(await open_one(client))
        states = [await ping(client, session) for session in sessions]
    assert states == [200, 404, 200, 200]


async def test_the_sessions_of_one_caller_cost_another_none(api: Starlette) -> None:
    async with (
        sending(api, await make_token(api, "one")) as one,
        sending(api, await make_token(api, "two")) as two,
    ):
        theirs = await open_one(two)
        for _ in range(3 * MOST):
            await open_one(one)
        assert await ping(two, theirs) == 200


async def test_a_session_that_its_client_ended_counts_no_more(api: Starlette) -> None:
    async with sending(api, await make_token(api, "one")) as client:
        first, second, ended = [await open_one(client) for _ in range(MOST)]
        done = await client.delete("/mcp", headers={**ACCEPT, "mcp-session-id": ended})
        assert done.status_code == 200
        await open_one(client)
        assert [await ping(client, session) for session in (first, second)] == [200, 200]


async def test_what_opens_no_session_costs_none(api: Starlette) -> None:
    async with sending(api, await make_token(api, "one")) as client:
        sessions = [await open_one(client) for _ in range(MOST - 1)]
        for _ in range(MOST):
            refused = await client.post("/mcp", json=PING, headers=ACCEPT)
            assert refused.status_code >= 400
        assert [await ping(client, session) for session in sessions] == [200, 200]


async def test_a_caller_all_of_whose_sessions_are_in_use_is_refused(settings: Settings) -> None:
    async with (
        run_server(
            settings.data_dir, CINDER_SERVER__MCP_MAX_SESSIONS_PER_CALLER=str(MOST)
        ) as server,
        server.client() as client,
        asyncio.timeout(60),
    ):
        sessions = [await open_one(client) for _ in range(MOST)]
        async with listening(client, *sessions):
            refused = await open_session(client)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) > 0
            assert "server.mcp-max-sessions-per-caller" in refused.json()["error"]["message"]
            assert [await ping(client, session) for session in sessions] == [200] * MOST

        async def is_taken() -> bool:
            return (await open_session(client)).status_code == 200

        # The server learns a moment later that the streams are closed.
        await until(is_taken)


@asynccontextmanager
async def listening(client: httpx2.AsyncClient, *sessions: str) -> AsyncIterator[None]:
    """Have a stream of each session open, as clients do that listen for news."""
    if not sessions:
        yield
        return
    headers = {"accept": "text/event-stream", "mcp-session-id": sessions[0]}
    async with (
        client.stream("GET", "/mcp", headers=headers) as stream,
        listening(client, *sessions[1:]),
    ):
        assert stream.status_code == 200
        yield


URL = "http://127.0.0.1:8000/mcp"
SESSIONLESS_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"accept": "application/json, text/event-stream"}


def by_the_owner(endpoint: ASGIApp) -> ASGIApp:
    """Stand in for the gate, which says who sends a request."""

    async def sent(scope: Scope, receive: Receive, send: Send) -> None:
        set_caller(Request(scope), OWNER_CALLER)
        await endpoint(scope, receive, send)

    return sent


@asynccontextmanager
async def http_client(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_http(app, build_server) as endpoint:
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
        answer = await http.post(URL, json=SESSIONLESS_PING, headers={"origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["evil.test:8000", "evil.test", "127.0.0.1.evil.test:8000"])
async def test_foreign_host_is_refused(app: App, host: str) -> None:
    async with http_client(app) as http:
        answer = await http.post(URL, json=SESSIONLESS_PING, headers={"host": host})
    assert answer.status_code == 421


async def test_foreign_host_is_refused_on_the_newest_revision_too(app: App) -> None:
    headers = {
        "host": "evil.test:8000",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
    }
    async with http_client(app) as http:
        answer = await http.post(
            URL, json=SESSIONLESS_PING | {"method": "tools/list"}, headers=headers
        )
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
