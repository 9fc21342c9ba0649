"""A website with a page that ends every process that asks for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psutil

from cinder.crawl.sitemaps import SitemapUse
from cinder.services.jobs.specs import CrawlSpec
from tests.crawled_site import CrawledSite
from tests.crawls.processes import Crew, run_crew, worker_settings
from tests.crawls.stages import Stage
from tests.crawls.watching import Watch, open_watched

POISON = "/poison"
_PAGES = 15
# Among the first, so that it is asked for beside others.
_PLACE = 2
_LATENCY_SECONDS = 0.2
_LEASE_SECONDS = 2.0


@dataclass(slots=True)
class PoisonedSite:
    """The running website."""

    base: str = ""
    crew: Crew | None = None
    died_alone: list[bool] = field(default_factory=list)
    """Of each death, whether the process had no other page under way."""
    _under_way: Counter[int] = field(default_factory=Counter)

    @property
    def pages(self) -> list[str]:
        """The pages that do no harm."""
        return ["/", *(f"/{number}" for number in range(_PAGES))]

    @property
    def deaths(self) -> int:
        """How many processes it has ended."""
        return len(self.died_alone)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        port = writer.get_extra_info("peername")[1]
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ")[1].decode()
                if path == POISON:
                    await self._end(port)
                    break
                if path in self.pages:
                    await self._dwell(port)
                body = self._body(path)
                kind = b"text/html" if path in self.pages else b"text/plain"
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                    % (kind, len(body), body)
                )
                await writer.drain()
        writer.close()

    def _body(self, path: str) -> bytes:
        if path == "/":
            links = self.pages[1:]
            links.insert(_PLACE, POISON)
            return "".join(f'<p><a href="{link}">To {link}</a></p>' for link in links).encode()
        if path in self.pages:
            return f"<title>{path}</title><p>Number {path} says so, and says no more.".encode()
        return b""

    async def _dwell(self, port: int) -> None:
        process = self._visitor(port)
        pid = process.pid if process else 0
        self._under_way[pid] += 1
        try:
            await asyncio.sleep(_LATENCY_SECONDS)
        finally:
            self._under_way[pid] -= 1

    async def _end(self, port: int) -> None:
        visitor = self._visitor(port)
        assert visitor is not None, "nobody is known to have asked"
        assert self.crew is not None
        # As a page does that takes all the memory: not at once.
        await asyncio.sleep(_LATENCY_SECONDS / 2)
        self.died_alone.append(self._under_way[visitor.pid] == 0)
        await self.crew.kill(visitor)

    def _visitor(self, port: int) -> asyncio.subprocess.Process | None:
        """Return the process whose end of a connection has this port."""
        for process in self.crew.processes if self.crew else ():
            with suppress(psutil.Error):
                for each in psutil.Process(process.pid).net_connections("tcp"):
                    if each.laddr and each.laddr.port == port:
                        return process
        return None


@dataclass(frozen=True, slots=True)
class PoisonedCrawl:
    """A crawl of the website under way."""

    site: PoisonedSite
    watch: Watch


@asynccontextmanager
async def crawl_poisoned_site(stage: Stage, *, crash_tries: int) -> AsyncIterator[PoisonedCrawl]:
    """Crawl the website on a stage; at the exit every process is ended."""
    site = PoisonedSite()
    server = await asyncio.start_server(site.converse, "127.0.0.1", 0)
    site.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    settings = worker_settings(
        CrawledSite(site.base),
        stage.folder,
        stage.store_url,
        lease_seconds=_LEASE_SECONDS,
        crash_tries=crash_tries,
    )
    async with (
        server,
        open_watched(stage.store_url) as store,
        run_crew(settings, stage.folder / "workers.log", stage.workers) as crew,
    ):
        site.crew = crew
        spec = CrawlSpec(url=f"{site.base}/", sitemap=SitemapUse.SKIP, max_pages=100)
        yield PoisonedCrawl(site, await Watch.start(store, spec))
