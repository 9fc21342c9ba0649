"""Clients that are silent, slow or endless, at a real server and without a token."""

import asyncio
import http.client
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.surfaces.running import RunningServer, run_server

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
