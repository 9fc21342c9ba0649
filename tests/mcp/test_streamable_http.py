"""Sessions at /mcp: each caller has a bound, and the longest idle session makes room."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from starlette.applications import Starlette

from cinder.app import open_app
from cinder.config import Settings
from cinder.server.asgi import create_app
from tests.api.running import run_server
from tests.api.test_callers import make_token, sending
from tests.api.working import started
from tests.faults.asking import until
from tests.resolver import TableResolver

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
