"""Websites in processes of their own, so that their cost is not the scraper's."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Website:
    """A running website."""

    address: str
    pid: int


@dataclass(frozen=True, slots=True)
class Resource:
    """What a path of a website leads to."""

    content_type: str
    body: bytes


@asynccontextmanager
async def run_module(module: str, *arguments: str) -> AsyncIterator[Website]:
    """Run a module that serves a website, until the exit."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    try:
        yield Website(f"127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        await process.wait()


async def serve(resource_at: Callable[[str], Awaitable[Resource]]) -> None:
    """Serve what each path leads to on any free port, having printed the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                resource = await resource_at(head.split(b" ", 2)[1].decode())
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                    % (resource.content_type.encode(), len(resource.body), resource.body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
