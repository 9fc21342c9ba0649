import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.api.running import RunningServer, run_server
from tests.cli.commands import free_port

_SCRAPE = {"url": "http://192.0.2.9/"}
_JSON = {"content-type": "application/json"}
_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_MCP = {"accept": "application/json, text/event-stream", **_JSON}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all of it: what one request does to the next is part of the trial."""
    folder = tmp_path_factory.mktemp("server")
    with asyncio.Runner() as runner:
        # On a port that is known beforehand, other ports of this machine are other origins.
        running = run_server(folder / "data", port=str(free_port()))
        yield runner.run(running.__aenter__())
        runner.run(running.__aexit__(None, None, None))


def anonymous(server: RunningServer) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=server.url, timeout=60, trust_env=False)


async def test_only_the_token_as_it_is_opens_the_server(server: RunningServer) -> None:
    token = server.token
    attempts: list[dict[str, Any]] = [
        {},
        {"Authorization": f"Bearer {token}x"},
        {"Authorization": f"Bearer {token[:-1]}"},
        {"Authorization": f"Bearer x{token}"},
        {"Authorization": f"Bearer {token.swapcase()}"},
        {"Authorization": f"Basic {token}"},
        {"Authorization": token},
        {"Authorization": "Bearer"},
        {"Authorization": b"Bearer \xff\xfe\x80"},
        {"Authorization": "Bearer " + "a" * 10_000},
        {"Authorization": "Bearer ' OR 1=1--"},
        {"Cookie": f"cinder_session={token}"},
        {"X-Api-Key": token},
        {"X-Forwarded-For": "127.0.0.1"},
    ]
    async with anonymous(server) as client:
        answers = [await client.post("/v1/scrape", json=_SCRAPE, headers=h) for h in attempts]
        answers.append(await client.post(f"/v1/scrape?token={token}", json=_SCRAPE))
        answers.append(await client.post(f"/v1/scrape?access_token={token}", json=_SCRAPE))
    assert {answer.status_code for answer in answers} == {401}
    assert all("www-authenticate" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", _JSON),
        (b"null", _JSON),
        (b"[]", _JSON),
        (b"7", _JSON),
        (b'"url"', _JSON),
        (b"{", _JSON),
        (b"{'url': 1}", _JSON),
        (b'{"url": NaN}', _JSON),
        (b'{"url": "\xff\xfe"}', _JSON),
        (b"\xff\xfe{\x00}\x00", _JSON),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, _JSON),
        (b"[" * 200_000, _JSON),
        (b'{"url": ' + b"9" * 100_000 + b"}", _JSON),
        (b"{" + b",".join(b'"k%d": 1' % n for n in range(50_000)) + b"}", _JSON),
        (b'{"url": "http://192.0.2.9/"}', {"content-type": "text/plain"}),
        (b'{"url": "http://192.0.2.9/"}', {}),
        (b"url=http://192.0.2.9/", {"content-type": "application/x-www-form-urlencoded"}),
        (b"<x/>", {"content-type": "application/xml"}),
    ],
)
async def test_a_body_that_is_no_request_is_refused(
    server: RunningServer, body: bytes, headers: dict[str, str]
) -> None:
    async with server.client() as client:
        for path in ("/v1/scrape", "/api/v2/scrape", "/v1/crawl"):
            answer = await client.post(path, content=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_of_two_urls_in_one_body_the_one_that_is_judged_is_the_one_fetched(
    server: RunningServer,
) -> None:
    body = b'{"url": "http://example.invalid/", "url": "http://192.0.2.9/"}'
    async with server.client() as client:
        answer = await client.post("/v1/scrape", content=body, headers=_JSON)
    assert answer.json()["error"]["code"] == "EGRESS_BLOCKED"
    assert "192.0.2.9" in answer.text


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://127.0.0.1.evil.example",
        "http://localhost:1",
        "file://",
    ],
)
async def test_mcp_is_closed_to_other_origins(server: RunningServer, origin: str) -> None:
    async with server.client() as client:
        answer = await client.post("/mcp", json=_LIST, headers={**_MCP, "origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254", "a"])
async def test_nothing_is_served_under_a_foreign_name(server: RunningServer, host: str) -> None:
    async with server.client() as client:
        statuses = {
            (await client.post("/mcp", json=_LIST, headers={**_MCP, "host": host})).status_code,
            (await client.post("/v1/scrape", json=_SCRAPE, headers={"host": host})).status_code,
        }
    assert statuses <= {403, 421}


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT", "DEBUG", "PUT", "PATCH"])
async def test_a_method_that_no_route_has_is_refused(server: RunningServer, method: str) -> None:
    async with server.client() as client:
        answer = await client.request(method, "/v1/scrape")
    assert answer.status_code in (400, 404, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/static-offline-docs/../../etc/passwd",
        "/static-offline-docs/%2e%2e/%2e%2e/etc/passwd",
        "/static-offline-docs/..%2f..%2fetc%2fpasswd",
        "/v1/crawl/..%2f..%2fetc",
        "/v1/crawl/%00",
        "/v1/crawl/' OR 1=1--",
        "/v1/batch/" + "a" * 5_000,
        "/%ff%fe",
        "//evil.example/",
    ],
)
async def test_a_path_that_leads_nowhere_is_not_found(server: RunningServer, path: str) -> None:
    target = path.replace(" ", "%20").encode()
    head = (
        b"GET %b HTTP/1.1\r\nHost: %b\r\nAuthorization: Bearer %b\r\nConnection: close\r\n\r\n"
        % (target, server.url.removeprefix("http://").encode(), server.token.encode())
    )
    assert await send_bytes(server, head) in (400, 404)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: 1\r\n" * 100_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/scrape HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/scrape HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\n",
    ],
)
async def test_what_is_no_http_harms_nobody_else(server: RunningServer, sent: bytes) -> None:
    status = await send_bytes(server, sent, is_all=True)
    assert status is None or 400 <= status < 500
    async with server.client() as client:
        assert (await client.get("/healthz")).status_code == 200


async def test_connections_that_say_nothing_keep_nobody_out(server: RunningServer) -> None:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    idle = [await asyncio.open_connection(host, int(port)) for _ in range(200)]
    for _, writer in idle:
        writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
    async with server.client() as client:
        assert (await client.get("/healthz")).status_code == 200
    for _, writer in idle:
        writer.close()


async def send_bytes(server: RunningServer, sent: bytes, *, is_all: bool = False) -> int | None:
    """Send bytes and return the status of the answer; None where the connection just ended."""
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(30):
            writer.write(sent)
            await writer.drain()
            if is_all:
                writer.write_eof()
            line = await reader.readline()
    except ConnectionError:
        return None
    finally:
        writer.close()
    return int(line.split(b" ")[1]) if line else None
