"""A server of cinder's under load beside a bare one: CPU a request of each, in the same run."""

import itertools
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.cpu import exact_cpu_seconds
from bench.load import a_post, send
from bench.serving import Website, run_module
from bench.website import path_of, run_website
from tests.api.running import RunningServer, run_server

DOCUMENT_BYTES = 30_000
HEADINGS = (3, 64)
# Each has a body, a document and an answer of its own.
PAGES = 16
# What a server answers first is not measured: it fills its memory and finds its pace.
WARM_UP = 8 * PAGES


@dataclass(frozen=True, slots=True)
class Contest:
    """A server of cinder's, a bare server, and the website that cinder scrapes."""

    server: RunningServer
    bare: Website
    website: Website
    unseen: Iterator[int] = field(default_factory=lambda: itertools.count(1_000_000))
    """Numbers of pages that were never scraped."""

    async def cached_ms(self, headings: int, requests: int) -> float:
        """Return the CPU of a cached answer, of pages that are asked for again and again."""
        scrapes = self._scrapes(headings, range(PAGES))
        # One after the other: nothing is refused, however busy the machine is.
        await send(self.server.url, scrapes, PAGES, connections=1)
        await send(self.server.url, scrapes, WARM_UP)
        return await _cost(self.server.process.pid, self.server.url, scrapes, requests)

    async def first_cached_ms(self, headings: int, pages: int) -> float:
        """Return the CPU of a cached answer that this server process gives for the first time."""
        scrapes = self._scrapes(headings, range(pages))
        return await _cost(self.server.process.pid, self.server.url, scrapes, pages, connections=1)

    async def fresh_ms(self, pages: int) -> float:
        """Return the CPU of scraping a page for the first time, that of parsing it included."""
        scrapes = self._scrapes(HEADINGS[0], itertools.islice(self.unseen, pages))
        return await _cost(self.server.process.pid, self.server.url, scrapes, pages, connections=1)

    async def bare_ms(self, requests: int) -> float:
        """Return the CPU that the bare server takes to answer."""
        url = f"http://{self.bare.address}/"
        posts = [a_post(url, "none", {"url": url, "formats": ["markdown"]})]
        await send(url, posts, WARM_UP)
        return await _cost(self.bare.pid, url, posts, requests)

    def _scrapes(self, headings: int, pages: Iterable[int]) -> list[bytes]:
        target = f"{self.server.url}/api/v2/scrape"
        urls = [f"http://{self.website.address}{path_of(page, headings)}" for page in pages]
        bodies = [{"url": url, "formats": ["markdown"]} for url in urls]
        return [a_post(target, self.server.token, body) for body in bodies]


async def _cost(
    pid: int, url: str, requests: list[bytes], count: int, *, connections: int = 32
) -> float:
    before = exact_cpu_seconds(pid)
    await send(url, requests, count, connections=connections)
    return (exact_cpu_seconds(pid) - before) / count * 1000


@asynccontextmanager
async def run_contest(data_dir: Path, website: Website) -> AsyncIterator[Contest]:
    """Run both servers until the exit; what cinder keeps is in the folder, its log beside it."""
    log = f"{data_dir}.log"
    async with (
        run_server(data_dir, log=log, CINDER_EGRESS__ALLOW=website.address) as server,
        run_module("bench.bare_server") as bare,
    ):
        yield Contest(server, bare, website)


@asynccontextmanager
async def open_contest() -> AsyncIterator[Contest]:
    """Run both servers and a website until the exit."""
    async with run_website(DOCUMENT_BYTES) as website:
        with tempfile.TemporaryDirectory() as folder:
            async with run_contest(Path(folder) / "served", website) as contest:
                yield contest
