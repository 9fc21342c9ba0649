"""tests.server.test_request_limits"""

import asyncio
import http.client
import json
import random
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx2
import psutil
import pytest
from starlette.requests import Request
from starlette.types import Message, Receive

from cinder.api.requests import read_json
from cinder.config.serving import LimitsSettings
from cinder.errors import ContentTooLarge, InvalidRequest
from cinder.server.request_limits import BodyLimits, BodyRefused, JsonValueCounter, LimitedBody
from tests.api.running import RunningServer, run_server

START = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
MEBIBYTE = 1024 * 1024
TOO_LARGE = 30 * MEBIBYTE
PATH = "/v1/scrape"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(folder: Path, **variables: str) -> AsyncIterator[RunningServer]:
    """Run a server with some of its settings changed, for a minute at most."""
    named = {f"CINDER_SERVER__{name.upper()}": value for name, value in variables.items()}
    async with run_server(folder / "data", **named) as server, asyncio.timeout(60):
        yield server


async def connect(server: RunningServer, *, source: str = "127.0.0.1") -> Streams:
    host, port = server.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port), local_addr=(source, 0))


async def test_a_head_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        # At the limit the client waits, far beyond it the client still sends.
        for size in (64 * 1024, 2 * MEBIBYTE):
            reader, writer = await connect(server)
            writer.write(START + b"X-Long: " + b"a" * size)
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 431 ")
            assert b"server.max-head-bytes" in answer
            writer.close()
        trailers = b"1\r\na\r\n0\r\nX-Long: " + b"a" * MEBIBYTE
        start = b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert await send_and_wait(server, start + trailers) == b""
        async with server.client() as client:
            assert (await client.get("/healthz")).status_code == 200


async def test_a_long_body_that_arrives_with_its_head_is_no_part_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path, max_head_bytes="8192") as server:
        reader, writer = await connect(server)
        body = b'{"url": "' + b"a" * MEBIBYTE + b'"}'
        writer.write(
            b"POST /api/v2/scrape HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b"
            % (server.token.encode(), len(body), body)
        )
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_every_wait_for_a_client_has_an_end(tmp_path: Path) -> None:
    short = dict.fromkeys(("head_timeout_seconds", "keep_alive_seconds", "discard_seconds"), "0.5")
    refused = b"POST /v1/scrape HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    async with serving(tmp_path, **short) as server:
        assert await send_and_wait(server, b"") == b""
        assert await send_and_wait(server, b"\r\n") == b""
        assert await send_and_wait(server, START) == b""
        # A blank line after a request is none.
        assert (await send_and_wait(server, START + b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        # The rest of a body that was refused by its head does not come.
        assert (await send_and_wait(server, refused)).startswith(b"HTTP/1.1 401 ")


async def test_heads_and_bodies_that_come_in_pieces_are_served(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        reader, writer = await connect(server)
        for _ in range(3):
            for piece in (START, b"X-A: 1\r\n", b"\r\n"):
                writer.write(piece)
                await writer.drain()
            await expect_health(reader)
        # Those that are sent at once are answered in turn.
        writer.write((START + b"\r\n") * 3)
        for _ in range(3):
            await expect_health(reader)
        writer.close()


async def test_requests_without_end_that_wait_for_no_answer_are_cut_off(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        # Each was kept until its turn: those of one connection took hundreds of megabytes.
        before = psutil.Process(server.process.pid).memory_info().rss
        received = await send_and_wait(server, (START + b"\r\n") * 200_000)
        assert received.count(b"HTTP/1.1 200 ") <= 32
        assert psutil.Process(server.process.pid).memory_info().rss - before < 64 * MEBIBYTE


async def test_silent_connections_of_one_address_leave_room_for_others(tmp_path: Path) -> None:
    limits = {"max_connections": "40", "max_unauthenticated_connections_per_address": "20"}
    async with serving(tmp_path, **limits) as server:
        silent = [await connect(server) for _ in range(100)]
        # The oldest were closed, and the newest are still open.
        await asyncio.gather(*(read_to_end(reader) for reader, _ in silent[:80]))
        for source in ("127.0.0.2", "127.0.0.1"):
            reader, writer = await connect(server, source=source)
            writer.write(START + b"\r\n")
            await expect_health(reader)
            writer.close()
        newest, writer = silent[-1]
        writer.write(START + b"\r\n")
        await expect_health(newest)
        for _, writer in silent:
            writer.close()


async def test_few_open_files_are_enough_for_many_connections(tmp_path: Path) -> None:
    running = run_server(tmp_path / "data", open_files="300", log=str(tmp_path / "log"))
    async with running as server, asyncio.timeout(60):
        silent = [await connect(server) for _ in range(600)]
        reader, writer = await connect(server, source="127.0.0.2")
        writer.write(START + b"\r\n")
        await expect_health(reader)
        for _, each in [*silent, (reader, writer)]:
            each.close()
    log = (tmp_path / "log").read_text()
    assert "raise `ulimit -n`" in log
    assert "out of system resource" not in log


def in_chunks() -> Iterator[bytes]:
    for _ in range(TOO_LARGE // 65536):
        yield b"x" * 65536


def post_with_http_client(url: str, headers: dict[str, str], *, is_chunked: bool) -> int:
    with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)) as client:
        body = in_chunks() if is_chunked else b"x" * TOO_LARGE
        coding = {"Transfer-Encoding": "chunked"} if is_chunked else {}
        client.request("POST", PATH, body, headers | coding, encode_chunked=is_chunked)
        return client.getresponse().status


def post_with_httpx(url: str, headers: dict[str, str], *, is_chunked: bool) -> int:
    body = in_chunks() if is_chunked else b"x" * TOO_LARGE
    with httpx2.Client(timeout=60, trust_env=False, headers=headers) as client:
        return client.post(f"{url}{PATH}", content=body).status_code


@pytest.mark.parametrize("post", [post_with_http_client, post_with_httpx])
async def test_clients_that_send_too_much_read_why(
    tmp_path: Path, post: Callable[..., int]
) -> None:
    async with serving(tmp_path) as server:
        for is_chunked in (False, True):
            for token, status in ((server.token, 413), ("wrong", 401)):
                for connection in ("keep-alive", "close"):
                    headers = {
                        "Authorization": f"Bearer {token}",
                        "Connection": connection,
                        "Content-Type": "application/json",
                    }
                    answered = await asyncio.to_thread(
                        post, server.url, headers, is_chunked=is_chunked
                    )
                    assert answered == status, (is_chunked, connection)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize(
    "header", ["Expect: 100-continue", "Expect:", "Transfer-Encoding: chunked"]
)
async def test_curl_reads_why_it_sent_too_much(tmp_path: Path, header: str) -> None:
    body = tmp_path / "body"
    body.write_bytes(b"x" * TOO_LARGE)
    async with serving(tmp_path) as server:
        process = await asyncio.create_subprocess_exec(
            *("curl", "--silent", "--noproxy", "*", "--write-out", "%{http_code}"),
            *("--output", str(tmp_path / "answer"), "--data-binary", f"@{body}"),
            *("--header", f"Authorization: Bearer {server.token}"),
            *("--header", "Content-Type: application/json", "--header", header),
            f"{server.url}{PATH}",
            stdout=asyncio.subprocess.PIPE,
        )
        told, _ = await process.communicate()
    assert told == b"413"
    assert b"server.max-request-bytes" in (tmp_path / "answer").read_bytes()


async def test_a_body_without_end_is_cut_off(tmp_path: Path) -> None:
    async with serving(tmp_path, max_discarded_bytes=str(MEBIBYTE)) as server:
        _, writer = await connect(server)
        writer.write(b"POST /v1/scrape HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            await send_without_end(writer)


async def send_without_end(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        await writer.drain()


async def send_and_wait(server: RunningServer, sent: bytes) -> bytes:
    """Send this and nothing more; return what the server sends until it closes."""
    reader, writer = await connect(server)
    writer.write(sent)
    received = await read_to_end(reader)
    writer.close()
    return received


async def expect_health(reader: asyncio.StreamReader) -> None:
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    await reader.readuntil(b"}")


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


LIMITS = BodyLimits(max_bytes=10_000, timeout_seconds=60, max_json_values=1_000)


def receiving(pieces: Iterator[bytes]) -> Receive:
    async def receive() -> Message:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    return receive


async def read(pieces: Iterator[bytes]) -> None:
    body = LimitedBody(receiving(pieces), LIMITS)
    while (await body.receive())["more_body"]:
        pass


async def test_a_body_is_refused_as_soon_as_it_has_too_many_values() -> None:
    pieces = iter([b'{"a": [', *[b"[1]," * 10] * 200])
    with pytest.raises(BodyRefused) as refused:
        await read(pieces)
    assert isinstance(refused.value.error, InvalidRequest)
    assert "limits.json-values" in refused.value.error.message
    # Each piece has twenty values.
    assert len([*pieces]) == 200 - 50


async def test_a_body_of_long_strings_has_few_values() -> None:
    await read(iter([b'{"a": "', b",[{" * 2_000, b'"}']))


async def test_a_body_is_refused_as_soon_as_it_is_too_large() -> None:
    with pytest.raises(BodyRefused) as refused:
        await read(iter([b'"' + b"a" * 6_000, b"a" * 6_000]))
    assert isinstance(refused.value.error, ContentTooLarge)


async def test_a_body_in_which_values_cannot_be_counted_is_refused() -> None:
    with pytest.raises(BodyRefused) as refused:
        await read(iter(['{"url": "a.example"}'.encode("utf-16-le")]))
    assert "UTF-8" in refused.value.error.message


@pytest.mark.parametrize("path", ["/api/v2/scrape", "/v1/scrape", "/v1/crawl", "/mcp"])
async def test_every_route_refuses_a_body_of_too_many_values(
    client: httpx2.AsyncClient, path: str
) -> None:
    # No list and no object in it is beyond its own limit.
    many = {f"k{place}": {f"k{key}": [1] for key in range(3_000)} for place in range(60)}
    given = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "url": "a.example", "schema": many}
    headers = {"Accept": "application/json, text/event-stream"}
    answer = await client.post(path, json=given, headers=headers)
    assert answer.status_code == 400
    assert "limits.json-values" in answer.json()["error"]["message"]


async def test_a_long_body_is_parsed_off_the_loop() -> None:
    body = json.dumps({"a": ["ember"] * 9_000}).encode()
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    request = Request(scope, receiving(iter([body])))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_turns())
        assert await read_json(request, LimitsSettings()) == json.loads(body)
        counting.cancel()
    # Without a thread, nothing else would have had a turn.
    assert turns


def count_in_pieces(text: bytes, size: int) -> int:
    values = JsonValueCounter()
    for start in range(0, len(text), size):
        values.feed(text[start : start + size])
    return values.count


def count_values(value: object) -> int:
    held: list[object] = []
    if isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list):
        held = value
    # An empty list or object counts twice.
    is_empty = isinstance(value, dict | list) and not held
    return 1 + is_empty + sum(map(count_values, held))


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    "value",
    [
        1,
        "",
        [],
        {},
        [1, "a,b", {"c,[{": "\\", '"d"': '\\"'}],
        {"a": [[], [[]], {"b": {}}], "c": ["\\\\", "\\\\\\", '",', "\u00e9\u2028"]},
    ],
)
def test_values_are_counted_in_pieces_of_any_size(value: object, size: int) -> None:
    assert count_in_pieces(json.dumps(value).encode(), size) == count_values(value)
    assert count_in_pieces(json.dumps(value, ensure_ascii=False).encode(), size) == (
        count_values(value)
    )


def test_commas_and_brackets_within_made_up_strings_do_not_count() -> None:
    made_up = random.Random(4)
    for _ in range(300):
        strings = ["".join(made_up.choices('\\",[{}]: a', k=6)) for _ in range(4)]
        value = {"a": strings, strings[0]: strings[1]}
        text = json.dumps(value).encode()
        assert count_in_pieces(text, made_up.randint(1, 9)) == count_values(value)
