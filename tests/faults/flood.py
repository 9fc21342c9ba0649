"""Connections that one address opens and holds, and how another address is served meanwhile.

`python -m tests.faults.flood URL TOKEN PATH SILENT SLOW STREAMS` is the first of them. It prints 0
when it begins, and how many streams the server let in when all connections are opened; it holds
them until it is ended.
"""

import asyncio
import http.client
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import psutil

from tests.api.running import RunningServer, run_server
from tests.faults.load import at_share
from tests.site import serve_site

_ATTACKER, _OTHER = "127.0.0.1", "127.0.0.2"
_AT_ONCE = 200
_DRIP_SECONDS = 1.0
_SECONDS = 60
_OPENING_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """How many connections the first address opens."""

    silent: int
    slow_heads: int
    streams: int


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request of the other address was answered."""

    status: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Borne:
    """How the other address was served."""

    before: list[Reply]
    opening: list[Reply]
    """While the flood came."""
    during: list[Reply]
    """While all of it was there."""
    streams: int
    """Streams of the flood that the server let in."""
    growth_bytes: int

    @property
    def statuses(self) -> set[int]:
        return {reply.status for reply in (*self.before, *self.opening, *self.during)}

    @property
    def median_ratio(self) -> float:
        """How many times as long as before an answer took."""
        return _at(self.during, 0.5) / _at(self.before, 0.5)

    @property
    def figures(self) -> str:
        """All of it, in a line."""
        return (
            f"before {_describe(self.before)}; while it came {_describe(self.opening)}; "
            f"during {_describe(self.during)}; {self.streams} streams were let in; "
            f"memory {self.growth_bytes / 2**20:+.0f} MiB"
        )


def _at(replies: list[Reply], share: float) -> float:
    return at_share(sorted(reply.seconds for reply in replies), share)


def _describe(replies: list[Reply]) -> str:
    middle, most, last = (1000 * _at(replies, share) for share in (0.5, 0.95, 1))
    return f"{len(replies)} requests, median {middle:.1f}, p95 {most:.1f}, most {last:.0f} ms"


async def bear(folder: Path, flood: Flood, *, requests: int, **variables: str) -> Borne:
    """Ask a server for so many answers from one address, before and during another's flood."""
    with serve_site() as site:
        url = site.url("/article")
        variables["CINDER_EGRESS__ALLOW"] = site.address
        # So that the job whose streams are opened has no end.
        variables["CINDER_JOBS__ENABLED_IN_SERVER"] = "false"
        running = run_server(folder / "data", log=str(folder / "log"), **variables)
        async with running as server:
            job = await _prepare(server, url)
            asking = _requests(server, job, url)
            process = psutil.Process(server.process.pid)
            before = [await asyncio.to_thread(next, asking) for _ in range(requests)]
            bytes_before, opening = process.memory_info().rss, list[Reply]()
            async with _flooding(server, f"/v1/batch/{job}/events", flood) as streams:
                while not (streams.done() and opening):
                    opening.append(await asyncio.to_thread(next, asking))
                during = [await asyncio.to_thread(next, asking) for _ in range(requests)]
                growth = process.memory_info().rss - bytes_before
    return Borne(
        before=before,
        opening=opening,
        during=during,
        streams=streams.result(),
        growth_bytes=growth,
    )


async def _prepare(server: RunningServer, url: str) -> str:
    """Keep a page, and start a job that waits; return its id."""
    async with server.client() as client:
        (await client.post("/api/v2/scrape", json={"url": url})).raise_for_status()
        started = await client.post("/api/v2/scrape", json={"urls": [url]})
        job: str = started.json()["data"]["jobId"]
        return job


def _requests(server: RunningServer, job: str, url: str) -> Iterator[Reply]:
    """Ask for a job's status, a kept page and the server's health in turn, without end."""
    page = json.dumps({"url": url})
    status, scrape = ("GET", f"/v1/batch/{job}", ""), ("POST", "/api/v2/scrape", page)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    address = server.url.removeprefix("http://")
    for method, path, body in cycle((status, scrape, ("GET", "/healthz", ""))):
        begun = time.perf_counter()
        with closing(
            http.client.HTTPConnection(address, timeout=_SECONDS, source_address=(_OTHER, 0))
        ) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
        yield Reply(answer.status, time.perf_counter() - begun)


@asynccontextmanager
async def _flooding(
    server: RunningServer, path: str, flood: Flood
) -> AsyncIterator[asyncio.Task[int]]:
    """Flood the server from another process; the task returns the streams once all is open."""
    counts = map(str, (flood.silent, flood.slow_heads, flood.streams))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.flood", server.url, server.token, path, *counts),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None

    async def read_number(output: asyncio.StreamReader) -> int:
        async with asyncio.timeout(_OPENING_SECONDS):
            return int(await output.readline())

    try:
        await read_number(process.stdout)
        async with asyncio.TaskGroup() as group:
            yield group.create_task(read_number(process.stdout))
    finally:
        process.kill()
        await process.wait()


class _Opener:
    """Opens connections to a server, so many at once, and keeps them."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.opened: list[asyncio.StreamWriter] = []

    async def open(self, sent: bytes) -> bytes:
        """Open a connection and send this; return the line that it is answered with, if any."""
        async with self._slots:
            with suppress(OSError):
                async with asyncio.timeout(_SECONDS):
                    source = (_ATTACKER, 0)
                    connecting = asyncio.open_connection(self._host, self._port, local_addr=source)
                    reader, writer = await connecting
                    self.opened.append(writer)
                    writer.write(sent)
                    return await reader.readline() if sent.endswith(b"\r\n\r\n") else b""
        return b""

    async def drip(self) -> None:
        """Make each head a little longer, now and then."""
        while True:
            await asyncio.sleep(_DRIP_SECONDS)
            for writer in self.opened:
                if not writer.is_closing():
                    writer.write(b"X-A: 1\r\n")


async def _flood(url: str, token: str, path: str, flood: Flood) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, port = url.removeprefix("http://").split(":")
    silent, slow, streams = (_Opener(host, int(port)) for _ in range(3))
    asked = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    sys.stdout.write("0\n")
    sys.stdout.flush()
    answers = await asyncio.gather(*(streams.open(asked) for _ in range(flood.streams)))
    unfinished = asked.removesuffix(b"\r\n")
    await asyncio.gather(
        *(silent.open(b"") for _ in range(flood.silent)),
        *(slow.open(unfinished) for _ in range(flood.slow_heads)),
    )
    sys.stdout.write(f"{sum(b' 200 ' in answer for answer in answers)}\n")
    sys.stdout.flush()
    await slow.drip()


if __name__ == "__main__":
    _, _url, _token, _path, *_counts = sys.argv
    _silent, _slow, _streams = map(int, _counts)
    _wanted = Flood(silent=_silent, slow_heads=_slow, streams=_streams)
    asyncio.run(_flood(_url, _token, _path, _wanted))
