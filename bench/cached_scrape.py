"""Cached scrapes over HTTP: requests a second of one server process, beside a bare server."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.website import run_website
from cinder.app import open_app
from cinder.config import read_settings
from cinder.model.request import ScrapeRequest
from tests.surfaces.running import run_server

DOCUMENT_BYTES = 30_000
CONNECTIONS = 32
REQUESTS = 6_000
LOOKUPS = 2_000
BAR_PER_SECOND = 1_500
BAR_LOOKUP_MS = 1


async def bench_cached_scrape() -> None:
    async with run_website(DOCUMENT_BYTES) as website:
        with tempfile.TemporaryDirectory() as folder:
            await _bench_lookup(Path(folder) / "lookup", website.address)
            await _bench_requests(Path(folder) / "served", website.address)


async def _bench_lookup(data_dir: Path, address: str) -> None:
    settings = read_settings(data_dir=data_dir, egress={"allow": [address]})
    async with open_app(settings) as app:
        request = ScrapeRequest(url=f"http://{address}/1")
        await app.scrape.scrape(request)
        times = []
        for _ in range(LOOKUPS):
            started = time.perf_counter()
            await app.scrape.scrape(request)
            times.append((time.perf_counter() - started) * 1000)
    print(
        f"cached lookup, SQLite, in process: median {statistics.median(times):.2f} ms "
        f"(bar {BAR_LOOKUP_MS})"
    )


async def _bench_requests(data_dir: Path, address: str) -> None:
    async with run_server(data_dir, CINDER_EGRESS__ALLOW=address) as server:
        body = {"url": f"http://{address}/1", "formats": ["markdown"]}
        cinder = await _load(server.url, "/api/v2/scrape", server.token, body)
    bare = await _bench_bare(body)
    print(
        f"cached POST /api/v2/scrape, {DOCUMENT_BYTES // 1000} KB, {CONNECTIONS} connections: "
        f"{cinder:.0f} requests/s (bar {BAR_PER_SECOND}), bare uvicorn echo of the same size "
        f"{bare:.0f}, ratio {cinder / bare:.2f}"
    )


async def _bench_bare(body: Mapping[str, object]) -> float:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.bare_server", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    try:
        return await _load(f"http://127.0.0.1:{port}", "/", "none", body)
    finally:
        process.terminate()
        await process.wait()


async def _load(url: str, path: str, token: str, body: Mapping[str, object]) -> float:
    """Return how many requests a second the server answers on keep-alive connections."""
    host, port = url.removeprefix("http://").split(":")
    payload = json.dumps(dict(body)).encode()
    request = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    ).encode() + payload
    await _run(host, int(port), request, CONNECTIONS * 4)
    started = time.perf_counter()
    await _run(host, int(port), request, REQUESTS)
    return REQUESTS / (time.perf_counter() - started)


async def _run(host: str, port: int, request: bytes, count: int) -> None:
    left = iter(range(count))

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(host, port, limit=2**20)
        for _ in left:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    async with asyncio.TaskGroup() as connections:
        for _ in range(CONNECTIONS):
            connections.create_task(connection())
