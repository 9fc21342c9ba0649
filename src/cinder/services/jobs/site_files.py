"""Fetches the robots.txt and the sitemaps of the sites that jobs crawl."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from weakref import WeakValueDictionary

import structlog

from cinder.crawl.robots import MAX_BYTES, RobotsAccess, RobotsFile, RobotsRules
from cinder.crawl.sitemaps import MAX_URLS, Sitemap, read_sitemap
from cinder.crawl.urls import CanonicalUrl
from cinder.errors import CinderError, DnsFailed, EgressBlocked
from cinder.fair_queue import NO_CALLER
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.models.job import HostState
from cinder.models.url import origin_of
from cinder.store.ledger import Ledger

_ROBOTS_TIMEOUT_SECONDS = 20
_MAX_REMEMBERED = 2_000
_NO_ANSWER = 0


class RobotsCache:
    """The robots.txt of hosts: kept in the ledger, and the rules made of them in memory."""

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

    async def rules(self, host: str) -> RobotsRules:
        """Return what a host (an origin) allows; while that cannot be known, they must wait.

        Raises:
            EgressBlocked: the host may not be connected to at all.
            DnsFailed: its name does not resolve.
        """
        known = self._known.get(host)
        if known is not None and self._is_current(known[0]):
            return known[1]
        # One question for all pages of the host that wait for its answer.
        lock = self._locks.setdefault(host, asyncio.Lock())
        async with lock:
            known = self._known.get(host)
            if known is None or not self._is_current(known[0]):
                known = await self._learn(host)
            return known[1]

    def _is_current(self, file: RobotsFile) -> bool:
        return file.access is not RobotsAccess.WAIT and file.is_fresh(self._clock())

    async def _learn(self, host: str) -> tuple[RobotsFile, RobotsRules]:
        file = _file_of(await self._ledger.find_host(host))
        if file is None or not self._is_current(file):
            file = await self._fetch(host)
            is_waiting = file.access is RobotsAccess.WAIT
            status = _NO_ANSWER if file.status_code is None else file.status_code
            await self._ledger.note_robots(host, status, file.body, failed=is_waiting)
        if len(self._known) >= _MAX_REMEMBERED:
            self._known.clear()
        self._known[host] = learned = (file, RobotsRules(file))
        return learned

    async def _fetch(self, host: str) -> RobotsFile:
        url = f"{host}/robots.txt"
        try:
            task = FetchTask(
                url=url, timeout_seconds=_ROBOTS_TIMEOUT_SECONDS, caller=NO_CALLER, is_for_job=True
            )
            page = await self._fetcher.fetch(task)
        except (CinderError, FileFound) as failure:
            if _is_about_host(failure, host):
                raise  # waiting would not help
            return RobotsFile(url=url, status_code=None, fetched_at=self._clock())
        return RobotsFile(
            url=page.final_url,
            status_code=page.status_code,
            fetched_at=self._clock(),
            body=page.body[:MAX_BYTES],
        )


def _is_about_host(failure: Exception, host: str) -> bool:
    """Whether it is the host itself that cannot be reached, rather than where it redirects to."""
    if not isinstance(failure, EgressBlocked | DnsFailed):
        return False
    return failure.url is None or origin_of(failure.url) == host


def _file_of(state: HostState) -> RobotsFile | None:
    if state.robots_status is None or state.robots_at is None:
        return None
    return RobotsFile(
        url=f"{state.host}/robots.txt",
        status_code=state.robots_status or None,
        fetched_at=state.robots_at,
        body=state.robots or b"",
    )


_MAX_SITEMAPS = 50
_SITEMAP_TIMEOUT_SECONDS = 30
# After this no further sitemap is asked for: the crawl goes on with what it has.
_MAX_SECONDS = 60
_DEFAULT_SITEMAP_PATH = "/sitemap.xml"

log = structlog.get_logger()


class SitemapReader:
    """Reads the sitemaps that a site's robots.txt names, or else the one in the usual place."""

    def __init__(
        self,
        robots: RobotsCache,
        fetcher: Fetcher,
        rest: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Take what waits, after each request, for as long as a host wants it."""
        self._robots = robots
        self._fetcher = fetcher
        self._rest = rest

    async def read(self, start: CanonicalUrl) -> list[str]:
        """Return the URLs that a site's sitemaps name, each once."""
        origin = origin_of(start.url)
        rules = await self._robots.rules(origin)
        if rules.must_wait:
            log.info("no sitemap was asked for, since robots.txt cannot be had", origin=origin)
            return []
        until = time.monotonic() + _MAX_SECONDS
        waiting = list(rules.sitemaps) or [origin + _DEFAULT_SITEMAP_PATH]
        asked: set[str] = set()
        urls: dict[str, None] = {}
        while waiting and len(asked) < _MAX_SITEMAPS and len(urls) < MAX_URLS:
            if time.monotonic() > until:
                break
            place = waiting.pop(0)
            if place in asked:
                continue
            asked.add(place)
            sitemap = await self._fetch(place)
            urls.update(dict.fromkeys(sitemap.pages))
            waiting += _new(sitemap.sitemaps, asked)
            if self._rest is not None:
                await self._rest(origin_of(place))
        return list(urls)[:MAX_URLS]

    async def _fetch(self, url: str) -> Sitemap:
        try:
            task = FetchTask(
                url=url, timeout_seconds=_SITEMAP_TIMEOUT_SECONDS, caller=NO_CALLER, is_for_job=True
            )
            page = await self._fetcher.fetch(task)
        except (CinderError, FileFound) as error:
            log.info("a sitemap could not be read", url=url, error=str(error))
            return Sitemap()
        if page.status_code >= 400:
            return Sitemap()
        return await asyncio.to_thread(read_sitemap, page.body, page.final_url)


def _new(places: Iterable[str], asked: set[str]) -> list[str]:
    return [place for place in places if place not in asked][:_MAX_SITEMAPS]
