"""The URLs that a site's sitemaps name, with bounds on how many sitemaps are read."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

import structlog

from cinder.crawl.addresses import Address
from cinder.crawl.sitemaps import MAX_ADDRESSES, Sitemap, read_sitemap
from cinder.errors import CinderError
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.model.url import origin_of
from cinder.services.jobs.robots import RobotsKeeper
from cinder.shares import NOBODY

_MAX_SITEMAPS = 50
_TIMEOUT_SECONDS = 30
# After this no further sitemap is asked for: the crawl goes on with what it has.
_MAX_SECONDS = 60
_USUAL_PLACE = "/sitemap.xml"

log = structlog.get_logger()


class SitemapReader:
    """Reads the sitemaps that a site's robots.txt names, or else the one in the usual place."""

    def __init__(
        self,
        robots: RobotsKeeper,
        fetcher: Fetcher,
        rest: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Take what waits, after each request, for as long as a host wants it."""
        self._robots = robots
        self._fetcher = fetcher
        self._rest = rest

    async def read(self, start: Address) -> list[str]:
        """Return the URLs that a site's sitemaps name, each once."""
        origin = origin_of(start.url)
        rules = await self._robots.rules(origin)
        if rules.must_wait:
            log.info("no sitemap was asked for, since robots.txt cannot be had", origin=origin)
            return []
        until = time.monotonic() + _MAX_SECONDS
        waiting = list(rules.sitemaps) or [origin + _USUAL_PLACE]
        asked: set[str] = set()
        urls: dict[str, None] = {}
        while waiting and len(asked) < _MAX_SITEMAPS and len(urls) < MAX_ADDRESSES:
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
        return list(urls)[:MAX_ADDRESSES]

    async def _fetch(self, url: str) -> Sitemap:
        try:
            task = FetchTask(
                url=url, timeout_seconds=_TIMEOUT_SECONDS, caller=NOBODY, is_for_job=True
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
