"""Load on an HTTP server: the same few requests again and again, on keep-alive connections."""

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

CONNECTIONS = 32


def a_post(url: str, token: str, body: Mapping[str, object]) -> bytes:
    """Return a request as it is sent."""
    parts = urlsplit(url)
    payload = json.dumps(dict(body)).encode()
    head = (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


async def send(
    url: str, requests: Sequence[bytes], count: int, *, connections: int = CONNECTIONS
) -> None:
    """Send so many requests, each of the given ones in turn; every one must be answered 200."""
    address = urlsplit(url)
    left = iter(range(count))
    turns = itertools.cycle(requests)

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
        for _ in left:
            writer.write(next(turns))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    async with asyncio.TaskGroup() as running:
        for _ in range(connections):
            running.create_task(connection())
