"""More requests than a server can serve, sent by the clock whatever becomes of them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psutil

from tests.api.running import RunningServer, run_server

# Most of the time is the website's, so that a busy machine adds little to it.
_PAGE_SECONDS = 0.5
_AT_ONCE = 2
_IDLE_REQUESTS = 6
_MOST = 0.95
_ANSWER_SECONDS = 60
_HEALTH_EVERY_SECONDS = 0.1
_MEMORY_EVERY_SECONDS = 0.5
_PARAGRAPH = "<p>Embers keep under ash through the night, where no draught reaches them.</p>"


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered, and after how many seconds."""

    status: int
    seconds: float


@dataclass(slots=True)
class Measured:
    """What came of the requests of a load."""

    answers: list[Answered] = field(default_factory=list)
    health: list[Answered] = field(default_factory=list)
    peak_bytes: int = 0

    def seconds(self, *statuses: int) -> list[float]:
        return sorted(each.seconds for each in self.answers if each.status in statuses)

    @property
    def statuses(self) -> set[int]:
        return {each.status for each in (*self.answers, *self.health)}


def at_share(values: list[float], share: float) -> float:
    """Return the value that so many of the sorted values do not exceed."""
    return values[min(len(values) - 1, int(len(values) * share))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """How a server that takes so many pages at once bore ten times as much as it can serve."""

    idle: list[float]
    measured: Measured
    before_bytes: int
    capacity: float
    """How many requests it can have answered in that time."""

    @property
    def accepted_ratio(self) -> float:
        """How many times as long as on an idle server most accepted requests took."""
        return at_share(self.measured.seconds(200), _MOST) / at_share(self.idle, _MOST)

    @property
    def refused_seconds(self) -> float:
        """How soon most of the others were refused."""
        return at_share(self.measured.seconds(503), _MOST)

    @property
    def health_seconds(self) -> float:
        """How soon most questions for its health were answered."""
        return at_share(sorted(each.seconds for each in self.measured.health), _MOST)

    @property
    def growth_bytes(self) -> int:
        """By how much its processes have grown."""
        return self.measured.peak_bytes - self.before_bytes

    @property
    def figures(self) -> str:
        """All of it, in a line."""
        accepted, refused = (len(self.measured.seconds(status)) for status in (200, 503))
        return (
            f"accepted {accepted}, at 95 % in {self.accepted_ratio:.2f} times the idle time; "
            f"refused {refused}, at 95 % after {1000 * self.refused_seconds:.0f} ms; "
            f"/healthz at 95 % after {1000 * self.health_seconds:.0f} ms; "
            f"memory {self.growth_bytes / 2**20:+.0f} MiB"
        )


@dataclass(slots=True)
class SlowSite:
    """A website of which each page takes its time."""

    port: int
    page_seconds: float
    paragraphs: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = f"<!doctype html><title>Ash</title><main>{_PARAGRAPH * self.paragraphs}".encode()
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(self.page_seconds)  # this is how long its pages take
                head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
                writer.write(head.encode() + b"\r\n\r\n" + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serve_slow_site(page_seconds: float, paragraphs: int = 50) -> AsyncIterator[SlowSite]:
    """Serve a slow website until the exit."""
    site = SlowSite(0, page_seconds, paragraphs)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


class Load:
    """Asks a server for pages of a slow website, each of them another."""

    def __init__(self, server: RunningServer, site: SlowSite) -> None:
        self._port = int(server.url.rpartition(":")[2])
        self._token = server.token
        self._process = psutil.Process(server.process.pid)
        self._site = site
        self._numbers = count()

    async def warm_up(self, at_once: int) -> None:
        """Have the server start the processes that it works with."""
        for _ in range(2):
            await asyncio.gather(*(self._scrape() for _ in range(at_once)))

    async def scrape_at_once(self, requests: int) -> list[int]:
        """Return the statuses of requests that are sent at the same time."""
        answers = await asyncio.gather(*(self._scrape() for _ in range(requests)))
        return [answer.status for answer in answers]

    async def measure_idle(self, requests: int) -> list[float]:
        """Return how long requests take one after the other, in order of length."""
        answers = [await self._scrape() for _ in range(requests)]
        assert {answer.status for answer in answers} == {200}
        return sorted(answer.seconds for answer in answers)

    async def run(self, *, per_second: float, seconds: float) -> Measured:
        """Send so many requests a second, and ask after the server's health meanwhile."""
        measured = Measured()
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(self._watch_health(measured)),
                group.create_task(self._watch_memory(measured)),
            ]
            async with asyncio.TaskGroup() as requests:
                for number in range(round(per_second * seconds)):
                    # By the clock: that is what makes it more than can be served.
                    await asyncio.sleep(started + number / per_second - time.monotonic())
                    requests.create_task(self._note(measured))
            for watch in watching:
                watch.cancel()
        return measured

    def memory_bytes(self) -> int:
        """Return what the server and its processes hold."""
        family = [self._process, *self._process.children(recursive=True)]
        total = 0
        for process in family:
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    async def _note(self, measured: Measured) -> None:
        measured.answers.append(await self._scrape())

    async def _watch_health(self, measured: Measured) -> None:
        while True:
            measured.health.append(await self._ask(b"GET /healthz HTTP/1.1\r\n", b""))
            await asyncio.sleep(_HEALTH_EVERY_SECONDS)

    async def _watch_memory(self, measured: Measured) -> None:
        while True:
            measured.peak_bytes = max(
                measured.peak_bytes, await asyncio.to_thread(self.memory_bytes)
            )
            await asyncio.sleep(_MEMORY_EVERY_SECONDS)

    async def _scrape(self) -> Answered:
        url = f"http://{self._site.address}/{next(self._numbers)}"
        body = json.dumps({"url": url, "mode": "static"}).encode()
        return await self._ask(b"POST /api/v2/scrape HTTP/1.1\r\n", body)

    async def _ask(self, line: bytes, body: bytes) -> Answered:
        head = (
            f"Host: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        began = time.monotonic()
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                writer.write(line + head.encode() + body)
                answer = await reader.read(-1)
            finally:
                writer.close()
        return Answered(int(answer.split(b" ", 2)[1]), time.monotonic() - began)


async def overload(data_dir: Path, *, seconds: float) -> Overload:
    """Send a server ten times as many requests as it can serve, for so long."""
    async with (
        serve_slow_site(_PAGE_SECONDS) as site,
        run_server(
            data_dir,
            log=str(data_dir.with_suffix(".log")),
            CINDER_EGRESS__ALLOW=site.address,
            CINDER_SCRAPE__MAX_IN_FLIGHT=str(_AT_ONCE),
            CINDER_SCRAPE__MAX_QUEUED="0",
        ) as server,
    ):
        load = Load(server, site)
        await load.warm_up(_AT_ONCE)
        idle, before = await load.measure_idle(_IDLE_REQUESTS), load.memory_bytes()
        per_second = _AT_ONCE / _PAGE_SECONDS
        measured = await load.run(per_second=10 * per_second, seconds=seconds)
    return Overload(
        idle=idle, measured=measured, before_bytes=before, capacity=per_second * seconds
    )
