"""Fetches the robots.txt and the sitemaps of the sites that jobs crawl."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from weakref import WeakValueDictionary

import structlog

from cinder.crawl.robots import MAX_BYTES, RobotsAccess, RobotsFile, RobotsRules
from cinder.crawl.sitemaps import MAX_URLS, Sitemap, read_sitemap
from cinder.crawl.urls import CanonicalUrl
from cinder.errors import CinderError, ConnectionFailed, DnsFailed, EgressBlocked, TlsFailed
from cinder.fair_queue import NO_CALLER
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.models.request import RenderOptions
from cinder.models.url import origin_of
from cinder.store.ledger import Ledger

_ROBOTS_TIMEOUT_SECONDS = 20
_PROBE_TIMEOUT_SECONDS = 5
_MAX_CACHED_HOSTS = 2_000
_NO_RESPONSE = 0
_MAX_SITEMAPS = 50
_SITEMAP_TIMEOUT_SECONDS = 30
# No further sitemap is requested after this; the crawl continues with the URLs found.
_MAX_SITEMAP_SECONDS = 60

log = structlog.get_logger()


async def refuses_https(fetcher: Fetcher, proxy_pool: str | None, origin: str) -> bool:
    """Whether a host makes no secure connection; `origin` is its https origin."""
    task = FetchTask(
        url=f"{origin}/robots.txt",
        timeout_seconds=_PROBE_TIMEOUT_SECONDS,
        render=RenderOptions(proxy_pool=proxy_pool),
        caller=NO_CALLER,
        is_for_job=True,
    )
    try:
        await fetcher.fetch(task)
    except (ConnectionFailed, TlsFailed) as failure:
        # A redirect's target says nothing about the host.
        return failure.url is None or origin_of(failure.url) == origin
    except (CinderError, FileFound):
        return False
    return False


class RobotsCache:
    """The robots.txt of hosts: stored in the ledger, with the parsed rules in memory."""

    def __init__(
        self,
        ledger: Ledger,
        fetcher: Fetcher,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._ledger = ledger
        self._fetcher = fetcher
        self._clock = clock
        self._known: dict[str, tuple[RobotsFile, RobotsRules]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def rules(self, host: str, proxy_pool: str | None = None) -> RobotsRules:
        """Return the rules of a host (an origin); `must_wait` is set while they are unknown.

        If they are to be fetched, they come through the proxies of the job's pages.

        Raises:
            EgressBlocked: the egress policy refuses the host.
            DnsFailed: its name does not resolve.
        """
        known = self._known.get(host)
        if known is not None and self._is_current(known[0]):
            return known[1]
        # One request serves all pages of the host that wait for its rules.
        lock = self._locks.setdefault(host, asyncio.Lock())
        async with lock:
            known = self._known.get(host)
            if known is None or not self._is_current(known[0]):
                known = await self._load(host, proxy_pool)
            return known[1]

    def _is_current(self, file: RobotsFile) -> bool:
        return file.access is not RobotsAccess.WAIT and file.is_fresh(self._clock())

    async def _load(self, host: str, proxy_pool: str | None) -> tuple[RobotsFile, RobotsRules]:
        state = await self._ledger.find_host(host)
        file = None
        if state.robots_status is not None and state.robots_at is not None:
            file = RobotsFile(
                url=f"{host}/robots.txt",
                status_code=state.robots_status or None,
                fetched_at=state.robots_at,
                body=state.robots or b"",
            )
        if file is None or not self._is_current(file):
            file = await self._fetch(host, proxy_pool)
            is_waiting = file.access is RobotsAccess.WAIT
            status = _NO_RESPONSE if file.status_code is None else file.status_code
            await self._ledger.note_robots(host, status, file.body, failed=is_waiting)
        if len(self._known) >= _MAX_CACHED_HOSTS:
            self._known.clear()
        self._known[host] = loaded = (file, RobotsRules(file))
        return loaded

    async def _fetch(self, host: str, proxy_pool: str | None) -> RobotsFile:
        url = f"{host}/robots.txt"
        try:
            task = FetchTask(
                url=url,
                timeout_seconds=_ROBOTS_TIMEOUT_SECONDS,
                caller=NO_CALLER,
                is_for_job=True,
                render=RenderOptions(proxy_pool=proxy_pool),
            )
            page = await self._fetcher.fetch(task)
        except (CinderError, FileFound) as failure:
            # Waiting does not help where the host itself, not a redirect's target, is unreachable.
            if isinstance(failure, EgressBlocked | DnsFailed) and (
                failure.url is None or origin_of(failure.url) == host
            ):
                raise
            return RobotsFile(url=url, status_code=None, fetched_at=self._clock())
        return RobotsFile(
            url=page.final_url,
            status_code=page.status_code,
            fetched_at=self._clock(),
            body=page.body[:MAX_BYTES],
        )


class SitemapReader:
    """Reads the sitemaps that a site's robots.txt names, or else `/sitemap.xml`."""

    def __init__(
        self,
        robots: RobotsCache,
        fetcher: Fetcher,
        rest: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Call `rest` after each request, to wait for the delay of the host."""
        self._robots = robots
        self._fetcher = fetcher
        self._rest = rest

    async def read(self, start: CanonicalUrl, proxy_pool: str | None = None) -> list[str]:
        """Return the URLs in a site's sitemaps, each once."""
        origin = origin_of(start.url)
        rules = await self._robots.rules(origin, proxy_pool)
        if rules.must_wait:
            log.info("sitemaps are skipped: robots.txt cannot be fetched", origin=origin)
            return []
        until = time.monotonic() + _MAX_SITEMAP_SECONDS
        queue = list(rules.sitemaps) or [f"{origin}/sitemap.xml"]
        requested: set[str] = set()
        urls: dict[str, None] = {}
        while queue and len(requested) < _MAX_SITEMAPS and len(urls) < MAX_URLS:
            if time.monotonic() > until:
                break
            url = queue.pop(0)
            if url in requested:
                continue
            requested.add(url)
            sitemap = await self._fetch(url, proxy_pool)
            urls.update(dict.fromkeys(sitemap.pages))
            queue += [other for other in sitemap.sitemaps if other not in requested][:_MAX_SITEMAPS]
            if self._rest is not None:
                await self._rest(origin_of(url))
        return list(urls)[:MAX_URLS]

    async def _fetch(self, url: str, proxy_pool: str | None) -> Sitemap:
        try:
            task = FetchTask(
                url=url,
                timeout_seconds=_SITEMAP_TIMEOUT_SECONDS,
                caller=NO_CALLER,
                is_for_job=True,
                render=RenderOptions(proxy_pool=proxy_pool),
            )
            page = await self._fetcher.fetch(task)
        except (CinderError, FileFound) as error:
            log.info("a sitemap could not be fetched", url=url, error=str(error))
            return Sitemap()
        if page.status_code >= 400:
            return Sitemap()
        return await asyncio.to_thread(read_sitemap, page.body, page.final_url)
