"""Maps a site: lists its URLs from sitemaps, feeds, robots.txt, its start page and the store."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from cinder.background import run_in_thread
from cinder.crawl.robots import RobotsRules, may_follow_links
from cinder.crawl.scope import ScopeKind, registered_domain
from cinder.crawl.site_map import UrlCollector
from cinder.crawl.sitemaps import Sitemap, SitemapUse, read_sitemap
from cinder.crawl.urls import canonicalize_url
from cinder.errors import CinderError, InvalidRequest
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.html.links import scan_feeds
from cinder.models.caller import CallerPolicy, is_url_within, require_domain
from cinder.models.document import Document
from cinder.models.request import Format, RenderOptions, ScrapeRequest
from cinder.models.saved import format_timestamp
from cinder.models.site_map import MAX_URLS, MappedUrl, MapSource, SiteMap
from cinder.models.url import AssumedHttps, host_and_port, origin_of
from cinder.services.jobs.site_files import RobotsCache, refuses_https
from cinder.services.jobs.specs import MapRequest
from cinder.services.kept_maps import KeptMaps, MadeMap
from cinder.services.scraping.service import ScrapeService
from cinder.store.index.page_index import PageIndex
from cinder.text.url_ranking import rank_urls

_MAX_FEEDS = 5
_FETCH_SECONDS = 30.0
_NAMED_FAILURES = 3
_CHARS_PER_URL = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLimits:
    """What one map may cost its site."""

    max_sitemaps: int
    """Feeds included."""
    max_bytes: int
    """Of all sitemaps and feeds together."""
    concurrency: int
    """How many sitemaps of a site are fetched at once."""
    delay_seconds: float
    """The least time between two requests; a site's crawl-delay may make it longer."""


class MapService:
    """Maps sites, for all surfaces."""

    def __init__(
        self,
        *,
        scraper: ScrapeService,
        robots: RobotsCache,
        fetcher: Fetcher,
        index: PageIndex,
        policy_of: Callable[[str], Awaitable[CallerPolicy]],
        limits: MapLimits,
    ) -> None:
        self._scraper = scraper
        self._robots = robots
        self._fetcher = fetcher
        self._index = index
        self._policy_of = policy_of
        self._limits = limits
        self._kept = KeptMaps()

    async def map(self, request: MapRequest) -> SiteMap:
        """Return URLs of a site.

        Raises:
            CinderError: the site cannot be reached, and nothing of it is saved.
        """
        self._scraper.check(_start_request(request, request.timeout_ms))
        policy = await self._policy_of(request.caller)
        require_domain(policy, request.url)
        kept = self._kept.find(request)
        if kept is None:
            kept = await self._make(request, policy)
            self._kept.keep(request, kept)
        end = request.offset + request.limit
        shown = kept.urls[request.offset : end]
        has_more = len(kept.urls) > end or not kept.is_whole
        return SiteMap(
            urls=shown,
            next_offset=request.offset + len(shown) if has_more and shown else None,
            warnings=kept.warnings,
        )

    async def _make(self, request: MapRequest, policy: CallerPolicy) -> MadeMap:
        warnings = []
        origin = origin_of(request.url)
        if isinstance(request.url, AssumedHttps):
            url = str(request.url)
            if await refuses_https(self._fetcher, request.proxy_pool, origin):
                url = f"http{url.removeprefix('https')}"
                warnings.append(f"{origin} makes no secure connection: http:// was used.")
            request = replace(request, url=url)
        start = canonicalize_url(request.url)
        if start is None:
            raise InvalidRequest.at("url", f"Not a web address: {request.url}")
        # One more than is returned tells that there are more.
        most = MAX_URLS if request.search else min(request.offset + request.limit + 1, MAX_URLS)
        collector = UrlCollector(start, request.scope, most)
        visit = _SiteVisit(
            request,
            policy,
            collector,
            self._fetcher,
            self._limits,
            _Deadline(request.timeout_ms),
            warnings,
        )
        page_error: CinderError | None = None
        rules = await self._robots.rules(origin_of(request.url), request.proxy_pool)
        if rules.must_wait:
            reason = rules.judge(request.url)
            visit.warnings.append(f"Nothing was fetched from the site: {reason}.")
        else:
            collector.rules = rules
            page_error = await visit.collect(rules, self._scraper)
        if request.sitemap is not SitemapUse.ONLY:
            await self._add_saved(request, policy, collector)
        if page_error is not None and not collector.urls:
            raise page_error
        urls = collector.urls
        if request.search:
            ranked = await run_in_thread(
                len(urls) * _CHARS_PER_URL, rank_urls, urls, request.search
            )
            if urls and not ranked:
                visit.warnings.append(
                    f"None of the {len(urls)} URLs has a word of the search: try other words, or "
                    "search the pages themselves after a crawl."
                )
            urls = ranked
        # Without a search, the map ends where the request does.
        is_whole = bool(request.search) or len(urls) < most or most == MAX_URLS
        return MadeMap(urls, tuple(visit.warnings_of_all()), is_whole)

    async def _add_saved(
        self, request: MapRequest, policy: CallerPolicy, collector: UrlCollector
    ) -> None:
        host, _ = host_and_port(request.url)
        site = registered_domain(host) if request.scope is ScopeKind.DOMAIN else host
        pages = await self._index.list_site(site, request.caller, limit=MAX_URLS)
        saved = (
            MappedUrl(
                page.url,
                MapSource.SAVED,
                page.title,
                "" if page.published_at is None else format_timestamp(page.published_at),
            )
            for page in pages
            if is_url_within(page.url, policy.domains)
        )
        await run_in_thread(len(pages) * _CHARS_PER_URL, collector.add, saved)


def _start_request(request: MapRequest, timeout_ms: int) -> ScrapeRequest:
    return ScrapeRequest(
        url=request.url,
        formats=(Format.MARKDOWN, Format.LINKS_DETAIL),
        timeout_ms=timeout_ms,
        render=RenderOptions(proxy_pool=request.proxy_pool),
        caller=request.caller,
    )


class _Deadline:
    def __init__(self, timeout_ms: int) -> None:
        self._until = time.monotonic() + timeout_ms / 1000
        self.timeout_ms = timeout_ms

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - time.monotonic())


@dataclass(slots=True)
class _SiteVisit:
    """The requests of one map to its site, and the warnings for its caller."""

    request: MapRequest
    policy: CallerPolicy
    collector: UrlCollector
    fetcher: Fetcher
    limits: MapLimits
    deadline: _Deadline
    warnings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    requested: set[str] = field(default_factory=set)
    bytes_fetched: int = 0

    async def collect(self, rules: RobotsRules, scraper: ScrapeService) -> CinderError | None:
        """Collect what the site itself names; return why its start page could not be read."""
        delay = max(rules.crawl_delay_seconds or 0.0, self.limits.delay_seconds)
        use = self.request.sitemap
        wants_page, wants_sitemaps = use is not SitemapUse.ONLY, use is not SitemapUse.SKIP
        found: list[Sitemap] = []
        outcome: Document | CinderError | None = None
        if delay and wants_page:
            outcome = await self._scrape_start(rules, scraper)
            await self._rest(delay)
        async with asyncio.TaskGroup() as tasks:
            if wants_page and not delay:
                page_task = tasks.create_task(self._scrape_start(rules, scraper))
            if wants_sitemaps:
                found = await self._read_sitemaps(rules, delay)
        if wants_page and not delay:
            outcome = page_task.result()
        if isinstance(outcome, Document):
            await self._add_page(outcome, rules, delay)
        for sitemap in found:
            await self._add_entries(sitemap)
        if wants_page:
            named = (MappedUrl(url, MapSource.ROBOTS) for url in rules.named_pages)
            self.collector.add(named)
        return outcome if isinstance(outcome, CinderError) else None

    async def _scrape_start(
        self, rules: RobotsRules, scraper: ScrapeService
    ) -> Document | CinderError | None:
        url = self.request.url
        if reason := rules.judge(url):
            self.warnings.append(f"The links of {url} were not read: {reason}.")
            return None
        try:
            timeout_ms = max(1, int(self.deadline.seconds_left * 1000))
            outcome = await scraper.scrape(_start_request(self.request, timeout_ms))
        except CinderError as error:
            self.warnings.append(f"The links of {url} were not read: {error.message}")
            return error
        return outcome.document

    async def _add_page(self, document: Document, rules: RobotsRules, delay: float) -> None:
        content, final_url = document.content, document.final_url
        title = content.metadata.title or ""
        self.collector.add([MappedUrl(final_url, MapSource.PAGE, title)])
        if not self.collector.is_inside(final_url):
            self.warnings.append(
                f"{self.request.url} redirects to {final_url}, which is outside the scope "
                f"{self.request.scope}: map that URL."
            )
        if may_follow_links(content.metadata.robots):
            links = content.links_detail or ()
            self.collector.add(
                MappedUrl(link.url, MapSource.PAGE, link_text=link.text) for link in links
            )
        else:
            self.warnings.append(f"The links of {final_url} were not read: it says nofollow.")
        text = content.text or ""
        feeds = await run_in_thread(len(text), scan_feeds, text, final_url)
        inside = [url for url in feeds if self.collector.is_inside(url) and not rules.judge(url)]
        for sitemap in await self._fetch_all(inside[:_MAX_FEEDS], delay):
            await self._add_entries(replace(sitemap, is_feed=True))

    async def _add_entries(self, sitemap: Sitemap) -> None:
        source = MapSource.FEED if sitemap.is_feed else MapSource.SITEMAP
        notes = sitemap.notes
        entries = (
            MappedUrl(url, source, note.title, note.modified)
            if (note := notes.get(url))
            else MappedUrl(url, source)
            for url in sitemap.pages
        )
        await run_in_thread(len(sitemap.pages) * _CHARS_PER_URL, self.collector.add, entries)

    async def _read_sitemaps(self, rules: RobotsRules, delay: float) -> list[Sitemap]:
        """Return the site's sitemaps in order, until they have as many URLs as are needed."""
        guess = f"{origin_of(self.request.url)}/sitemap.xml"
        queue = list(rules.sitemaps) or [guess]
        found: list[Sitemap] = []
        pages = 0
        while queue and pages < self.collector.most and self._may_go_on(len(queue)):
            room = self.limits.max_sitemaps - len(self.requested)
            wave = min(room, 1 if delay else self.limits.concurrency)
            batch, queue = queue[:wave], queue[wave:]
            new = [url for url in dict.fromkeys(batch) if url not in self.requested]
            is_guess = new == [guess] and not rules.sitemaps
            read = await self._fetch_all(new, delay, is_guess=is_guess)
            found += read
            pages += sum(len(sitemap.pages) for sitemap in read)
            queue += [url for sitemap in read for url in sitemap.sitemaps]
        return found

    def _may_go_on(self, left: int) -> bool:
        """Whether another sitemap may be fetched; if not, say so."""
        why = None
        if len(self.requested) >= self.limits.max_sitemaps:
            why = f"a map reads at most {self.limits.max_sitemaps}"
        elif self.bytes_fetched >= self.limits.max_bytes:
            why = f"those before them have {self.bytes_fetched} bytes"
        elif not self.deadline.seconds_left:
            why = f"the time was up ({self.deadline.timeout_ms} ms); a longer timeout reads more"
        if why is not None:
            self.warnings.append(f"{left} or more sitemaps were not read: {why}.")
        return why is None

    async def _fetch_all(
        self, urls: Sequence[str], delay: float, *, is_guess: bool = False
    ) -> list[Sitemap]:
        """Return the sitemaps and feeds at these URLs, without those that cannot be read."""
        self.requested.update(urls)
        if delay:
            found = []
            for url in urls:
                found.append(await self._fetch(url, is_guess=is_guess))
                await self._rest(delay)
        else:
            async with asyncio.TaskGroup() as tasks:
                started = [tasks.create_task(self._fetch(url, is_guess=is_guess)) for url in urls]
            found = [task.result() for task in started]
        return [sitemap for sitemap in found if sitemap is not None]

    async def _rest(self, delay: float) -> None:
        await asyncio.sleep(min(delay, self.deadline.seconds_left))

    async def _fetch(self, url: str, *, is_guess: bool) -> Sitemap | None:
        domains = self.policy.domains
        seconds = min(_FETCH_SECONDS, self.deadline.seconds_left)
        if not is_url_within(url, domains) or not seconds:
            why = "the token is for other domains" if seconds else "the time was up"
            self.failures.append(f"{url} ({why})")
            return None
        task = FetchTask(
            url=url,
            timeout_seconds=seconds,
            render=RenderOptions(proxy_pool=self.request.proxy_pool),
            caller=self.request.caller,
            may_land=lambda landing: is_url_within(landing, domains),
        )
        try:
            async with asyncio.timeout(seconds):
                page = await self.fetcher.fetch(task)
        except (CinderError, FileFound, TimeoutError) as error:
            self.failures.append(f"{url} ({str(error) or 'the time was up'})")
            return None
        if page.status_code >= 400:
            if not is_guess:
                self.failures.append(f"{url} (HTTP {page.status_code})")
            return None
        self.bytes_fetched += len(page.body)
        sitemap = await run_in_thread(
            len(page.body), read_sitemap, page.body, page.final_url, with_notes=True
        )
        if sitemap.is_cut or page.is_cut:
            self.warnings.append(f"Only the beginning of {url} was read: it is too long or broken.")
        return sitemap

    def warnings_of_all(self) -> list[str]:
        """Return what the caller should know, the counts included."""
        warnings, collector = list(self.warnings), self.collector
        if self.failures:
            named = "; ".join(self.failures[:_NAMED_FAILURES])
            rest = len(self.failures) - _NAMED_FAILURES
            more = f"; and {rest} more" if rest > 0 else ""
            warnings.append(f"These sitemaps or feeds could not be read: {named}{more}.")
        if collector.disallowed:
            warnings.append(f"{collector.disallowed} URLs are left out: robots.txt disallows them.")
        if collector.unjudged:
            warnings.append(
                f"{collector.unjudged} URLs were not compared with robots.txt: it has too many "
                "rules. A scrape or a crawl does so."
            )
        if collector.outside:
            warnings.append(
                f"{collector.outside} URLs of sitemaps and feeds are outside the scope "
                f"{self.request.scope}, or no pages."
            )
        if collector.is_cut and collector.most == MAX_URLS:
            warnings.append(f"There are more than {MAX_URLS} URLs; the others are not listed.")
        return warnings
