"""Messages that break the rules of MCP: each is refused as such, and the session lives on."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.api.running import RunningServer, run_server

_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-06-18",
}
_OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
# Parse error, invalid request, no such method, invalid parameters, no such resource.
_REFUSALS = (-32700, -32600, -32601, -32602, -32002)


def call(method: str, params: object = None, number: object = 7) -> bytes:
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps({name: value for name, value in said.items() if value is not None}).encode()


def tool(arguments: object, name: str = "scrape") -> bytes:
    return call("tools/call", {"name": name, "arguments": arguments})


def deep(depth: int) -> bytes:
    inner = '{"a":' * depth + "1" + "}" * depth
    return tool("INNER").replace(b'"INNER"', inner.encode())


_RESOURCES = (
    "",
    "scrape://",
    "scrape:///etc/passwd",
    "scrape://../../etc/passwd",
    "scrape://site.test/../../../etc/passwd/raw_2026-01-01T00:00:00.000Z",
    "scrape://%2e%2e/%2e%2e/etc/passwd",
    "scrape://site.test/' OR 1=1--/cleaned_2026-01-01T00:00:00.000Z",
    "scrape://site.test/cleaned_9999-99-99T99:99:99.999Z",
    "scrape://site.test/\x00/cleaned_2026-01-01T00:00:00.000Z",
    "scrape://" + "a" * 100_000,
    "SCRAPE://site.test/cleaned_2026-01-01T00:00:00.000Z",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "data:text/plain,x",
    "javascript:1",
    "\u202e",
)

_MESSAGES: tuple[bytes, ...] = (
    b"",
    b"{",
    b"null",
    b"7",
    b"[]",
    b"[1]",
    b'"x"',
    b"{}",
    b"\xff\xfe",
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    b'{"id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":7,"method":7}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}',
    b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    deep(300),
    deep(5_000),
    call("no/such/method"),
    call("__init__"),
    call("tools/call"),
    call("tools/call", {"name": 7}),
    call("tools/call", {"name": ["scrape"], "arguments": {}}),
    call("tools/call", {"arguments": {"url": "x"}}),
    tool("x"),
    tool({"url": "\ud800"}),
    tool([]),
    call("tools/list", {"cursor": "' OR 1=1--"}),
    call("resources/list", {"cursor": "9" * 10_000}),
    call("resources/list", {"cursor": -1}),
    call("resources/read"),
    call("resources/read", {"uri": 7}),
    *(call("resources/read", {"uri": uri}) for uri in _RESOURCES),
    call("prompts/get", {"name": "../../etc/passwd"}),
    call("completion/complete", {"ref": {"type": "x"}, "argument": {}}),
    call("logging/setLevel", {"level": "__proto__"}),
    call("initialize", {"protocolVersion": "9999"}),
    call("sampling/createMessage", {"messages": []}),
)
# Right as messages, and wrong as calls: what goes wrong is said in the result.
_CALLS: tuple[bytes, ...] = (
    tool({}, "no such tool"),
    tool({}, "a" * 100_000),
    tool({}),
    tool(None),
    tool({"url": "x" * 500_000}),
    tool({"url": "http://192.0.2.9/", "\u0000": 1}),
    tool({f"k{n}": 1 for n in range(20_000)}),
    tool({"id": "' OR 1=1--"}, "cinder_get_crawl_status"),
    tool({"id": {"$ne": None}}, "cinder_get_crawl_status"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all of it: what one message does to the next is part of the trial."""
    with asyncio.Runner() as runner:
        running = run_server(tmp_path_factory.mktemp("server") / "data")
        yield runner.run(running.__aenter__())
        runner.run(running.__aexit__(None, None, None))


async def open_session(client: httpx2.AsyncClient) -> None:
    opened = await client.post("/mcp", content=call("initialize", _OPENING), headers=_HEADERS)
    client.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
    ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    await client.post("/mcp", content=ready, headers=_HEADERS)


async def say(client: httpx2.AsyncClient, message: bytes) -> tuple[int, dict[str, Any]]:
    """Send a message; return the status and what came. Any: JSON."""
    answer = await client.post("/mcp", content=message, headers=_HEADERS)
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    text = lines[-1].removeprefix("data: ") if lines else answer.text
    return answer.status_code, json.loads(text) if text.startswith("{") else {}


async def test_what_is_no_message_is_refused_and_the_session_lives_on(
    server: RunningServer,
) -> None:
    wrong = []
    async with server.client() as client:
        await open_session(client)
        for message in _MESSAGES:
            status, told = await say(client, message)
            code = told.get("error", {}).get("code")
            if status >= 500 or (status == 200 and "error" in told and code not in _REFUSALS):
                wrong.append((message[:80], status, str(told)[:200]))
            status, told = await say(client, call("ping"))
            assert (status, told.get("result")) == (200, {}), message[:80]
    assert wrong == []


async def test_what_goes_wrong_in_a_call_is_said_in_its_result(server: RunningServer) -> None:
    async with server.client() as client:
        await open_session(client)
        for message in _CALLS:
            status, told = await say(client, message)
            assert (status, told.get("result", {}).get("isError")) == (200, True), message[:80]
