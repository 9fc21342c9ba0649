"""Heads that are too long or too slow, sent to a real server without a token."""

import asyncio
from pathlib import Path

from tests.surfaces.running import RunningServer, run_server

START = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


async def connect(server: RunningServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = server.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def test_a_head_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async with run_server(tmp_path / "data") as server, asyncio.timeout(60):
        reader, writer = await connect(server)
        writer.write(START + b"X-Long: " + b"a" * (2 * 1024 * 1024))
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()
        async with server.client() as client:
            assert (await client.get("/healthz")).status_code == 200


async def test_how_long_a_head_may_be_is_a_setting(tmp_path: Path) -> None:
    variables = {"CINDER_SERVER__MAX_HEAD_BYTES": str(512 * 1024)}
    async with run_server(tmp_path / "data", **variables) as server, asyncio.timeout(60):
        reader, writer = await connect(server)
        writer.write(START + b"X-Long: " + b"a" * (600 * 1024))
        assert b"server.max-head-bytes" in await _read_to_end(reader)
        writer.close()


async def test_a_head_that_never_ends_is_given_up(tmp_path: Path) -> None:
    variables = {"CINDER_SERVER__HEAD_TIMEOUT_SECONDS": "0.5"}
    async with run_server(tmp_path / "data", **variables) as server, asyncio.timeout(60):
        reader, writer = await connect(server)
        writer.write(START)
        assert await _read_to_end(reader) == b""
        writer.close()


async def test_heads_and_bodies_that_come_in_pieces_are_served(tmp_path: Path) -> None:
    async with run_server(tmp_path / "data") as server, asyncio.timeout(60):
        reader, writer = await connect(server)
        for _ in range(3):
            for piece in (START, b"X-A: 1\r\n", b"\r\n"):
                writer.write(piece)
                await writer.drain()
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            await reader.readuntil(b"}")
        writer.close()


async def _read_to_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
