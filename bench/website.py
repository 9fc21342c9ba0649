"""A website in a process of its own, so that its cost is not cinder's: articles of one size."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

WORDS = ("ember", "ash", "coal", "kindling", "hearth", "smoke", "flame", "oak", "birch", "glow")


def article(number: int, size: int) -> bytes:
    """Return an article page of about `size` bytes, different for each number."""
    paragraphs: list[str] = []
    length = 0
    while length < size:
        start = (number * 7 + len(paragraphs) * 3) % len(WORDS)
        words = (WORDS[start:] + WORDS[:start]) * 5
        text = f"<p>{' '.join(words)}, <a href='/{number}/{len(paragraphs)}'>more</a>.</p>"
        paragraphs.append(text)
        length += len(text)
    body = "".join(paragraphs)
    navigation = "".join(f"<li><a href='/{n}'>Page {n}</a></li>" for n in range(20))
    return (
        f"<!doctype html><html lang=en><head><title>Article {number}</title>"
        f"<meta name=description content='About fires'></head><body>"
        f"<nav><ul>{navigation}</ul></nav>"
        f"<main><article><h1>Article {number}</h1>{body}</article></main></body></html>"
    ).encode()


@dataclass(frozen=True, slots=True)
class Website:
    """A running website."""

    address: str
    pid: int


@asynccontextmanager
async def run_website(size: int) -> AsyncIterator[Website]:
    """Serve articles until the exit."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.website", str(size), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    try:
        yield Website(f"127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _serve(size: int) -> None:
    pages: dict[str, bytes] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if path not in pages:
                    pages[path] = article(int(path.strip("/")), size)
                body = pages[path]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
