"""Forwarding a request over a Unix socket: both ways as it comes, and ended by either end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.types import Message

from cinder.server.forwarding import CLIENT_HEADER, forward, restore_client

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
DEADLINE_SECONDS = 60


@asynccontextmanager
async def listening(path: Path, peer: Peer) -> AsyncIterator[None]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await peer(reader, writer)
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        yield


class Client:
    """The server's end of a request: what the client sends, and what it was answered."""

    def __init__(self) -> None:
        self.sends: asyncio.Queue[Message] = asyncio.Queue()
        self.answers: asyncio.Queue[Message] = asyncio.Queue()

    async def forward(self, path: Path, *headers: tuple[bytes, bytes]) -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"a=1",
            "scheme": "https",
            "client": ("192.0.2.7", 4711),
            "server": ("127.0.0.1", 8000),
            "headers": [(b"host", b"cinder.test"), (b"connection", b"keep-alive"), *headers],
        }
        async with asyncio.timeout(DEADLINE_SECONDS):
            await forward(path, scope, self.sends.get, self.answers.put)

    def send(self, body: bytes, *, more: bool = False) -> None:
        self.sends.put_nowait({"type": "http.request", "body": body, "more_body": more})


async def test_a_request_arrives_as_it_was_sent_and_its_answer_comes_piece_by_piece(
    tmp_path: Path,
) -> None:
    arrived: list[bytes] = []
    may_go_on = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(await reader.readuntil(b"\r\n\r\n"))
        arrived.append(await reader.readexactly(5))
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Own: 1\r\n\r\n")
        writer.write(b"3\r\none\r\n")
        await writer.drain()
        await may_go_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()

    client = Client()
    async with listening(tmp_path / "0", answer), asyncio.TaskGroup() as tasks:
        tasks.create_task(client.forward(tmp_path / "0", (b"content-length", b"5")))
        client.send(b"he", more=True)
        client.send(b"llo")
        start, first = await client.answers.get(), await client.answers.get()
        may_go_on.set()
        second, last = await client.answers.get(), await client.answers.get()

    assert start == {"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]}
    assert [first["body"], second["body"], last["body"]] == [b"one", b"two", b""]
    assert (first["more_body"], last.get("more_body", False)) == (True, False)
    head = arrived[0].lower()
    assert head.startswith(b"post /mcp?a=1 http/1.1\r\n")
    assert head.count(b"connection:") == 1
    assert b"connection: close" in head
    assert arrived[1] == b"hello"
    [sent] = [line for line in arrived[0].split(b"\r\n") if line.startswith(CLIENT_HEADER)]
    restored = restore_client(
        {"type": "http", "headers": [(CLIENT_HEADER, sent.partition(b": ")[2])]}
    )
    assert (restored["client"], restored["scheme"]) == (("192.0.2.7", 4711), "https")
    assert restored["headers"] == []


async def test_a_body_of_unknown_length_is_sent_in_chunks(tmp_path: Path) -> None:
    arrived: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    client = Client()
    client.send(b"he", more=True)
    client.send(b"llo")
    async with listening(tmp_path / "0", answer):
        await client.forward(tmp_path / "0", (b"transfer-encoding", b"chunked"))

    assert arrived[0].endswith(b"\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
    assert (await client.answers.get())["status"] == 204


async def test_a_client_that_goes_away_takes_its_request_along(tmp_path: Path) -> None:
    is_gone = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        is_gone.set()

    client = Client()
    client.send(b"")
    client.sends.put_nowait({"type": "http.disconnect"})
    async with listening(tmp_path / "0", wait):
        await client.forward(tmp_path / "0", (b"content-length", b"0"))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await is_gone.wait()
    assert client.answers.empty()


async def test_an_answer_that_does_not_wait_for_the_body_is_passed_on(tmp_path: Path) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    client = Client()
    client.send(b"x" * 10, more=True)
    async with listening(tmp_path / "0", refuse):
        await client.forward(tmp_path / "0", (b"content-length", b"1000000"))
    assert (await client.answers.get())["status"] == 413


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_session_whose_worker_has_ended_is_not_found(
    tmp_path: Path, *, is_there: bool
) -> None:
    client = Client()
    client.send(b"")
    async with listening(tmp_path / "0", hang_up):
        path = tmp_path / ("0" if is_there else "1")
        await client.forward(path, (b"content-length", b"0"))
    start, body = await client.answers.get(), await client.answers.get()
    assert start["status"] == 404
    assert b"Session not found" in body["body"]
