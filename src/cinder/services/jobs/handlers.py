"""Job handlers of batches and crawls: how a page is scraped, and which links are followed."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from cinder.crawl.near_duplicates import (
    LOOSE_FAR_SHARE,
    fingerprint_text,
    is_near_duplicate,
)
from cinder.crawl.robots import choose_links, may_follow_links
from cinder.crawl.scope import TOO_DEEP, CrawlScope
from cinder.crawl.sitemaps import SitemapUse
from cinder.crawl.traps import TemplateKind, TrapCounter, TrapLimits, template_of
from cinder.crawl.urls import CanonicalUrl, canonicalize_url, without_index_file
from cinder.models.document import Document, VerdictKind
from cinder.models.job import (
    NOT_FOLLOWED_RANK,
    ContentFingerprint,
    Job,
    JobKind,
    JobStatus,
    NewPage,
    PageLease,
    PageResult,
    PageStatus,
)
from cinder.models.request import ScrapeRequest
from cinder.models.saved import SavedDocument
from cinder.models.url import origin_of
from cinder.services.jobs.site_files import SitemapReader
from cinder.services.jobs.specs import (
    Deduplication,
    Following,
    crawl_request,
    crawl_spec_from_json,
    request_from_json,
)
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.webhooks import JobEvents
from cinder.store.ledger import Ledger
from cinder.store.ledger.page_commits import IsNearDuplicate

_MAX_TITLE_CHARS = 500
# Shorter texts, such as "Please log in", appear on many different pages.
_MIN_WORDS = 10
_MAX_SEEN = 1_000_000
_LINK_TARGET = re.compile(r"\]\([^)\s]{0,2000}\)")
# URL spaces that a site can fill without end with pages that differ by a date or an order; there,
# pages that differ little are always duplicates.
_BOILERPLATE = frozenset((TemplateKind.CALENDAR, TemplateKind.FACETS))
# Spaces that may be endless, too, but usually have contents of their own.
_ENDLESS = _BOILERPLATE | {
    TemplateKind.DATED_PATH,
    TemplateKind.PAGE_NUMBERS,
    TemplateKind.COMBINATIONS,
}
_NOFOLLOW = "only links marked nofollow lead to it (option follow: nofollow)"
_REFUSALS = (PageStatus.FAILED, PageStatus.DISALLOWED, PageStatus.OUTSIDE)
_MAX_CACHED_HANDLERS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOutcome:
    """What the ledger records of a scraped page."""

    result: PageResult
    found: Sequence[NewPage] = ()
    is_near: IsNearDuplicate | None = None
    """Detects near-duplicates of the page; None where none are looked for."""


class JobHandler(Protocol):
    """The part of a job that depends on its kind."""

    @property
    def least_delay_ms(self) -> int:
        """The minimum delay between two requests to one host, from the job's request."""
        ...

    def request(self, lease: PageLease) -> ScrapeRequest:
        """Return the scrape request for a page."""
        ...

    def read(self, lease: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        """Return what the ledger records of a page."""
        ...

    def committed(self, page: PageOutcome) -> None:
        """Note that the outcome of a page is in the ledger."""
        ...

    def refuse_landing(self, lease: PageLease, url: str) -> str | None:
        """Return why a page may not redirect to a URL, or None where it may."""
        ...

    async def seed(self) -> None:
        """Add the URLs that the job starts with to the ledger."""
        ...

    async def end(self) -> None:
        """End the job, all of whose pages are done."""
        ...


def new_page(
    address: CanonicalUrl,
    *,
    depth: int = 1,
    rank: int = 0,
    fate: PageStatus | None = None,
    reason: str = "",
) -> NewPage:
    """Return a URL as a page for the ledger."""
    return NewPage(
        url=address.url,
        fingerprint=address.fingerprint,
        host=origin_of(address.url),
        depth=depth,
        rank=rank,
        fate=fate,
        reason=reason,
    )


def fetched_page(outcome: ScrapeOutcome, content: ContentFingerprint | None = None) -> PageResult:
    """Return the ledger's record of a fetched page."""
    document = outcome.document
    title = document.content.metadata.title
    return PageResult(
        fate=PageStatus.FETCHED,
        status_code=document.status_code,
        verdict=document.verdict.kind,
        title=None if title is None else title[:_MAX_TITLE_CHARS],
        content_length=len(document.content.markdown or document.content.text or ""),
        body_bytes=_body_bytes(document),
        content=content,
    )


def failure_of(outcome: ScrapeOutcome) -> PageResult | None:
    """Return the ledger's record of an error page; None for other pages."""
    document = outcome.document
    failures = (VerdictKind.HTTP_ERROR, VerdictKind.SOFT_404, VerdictKind.BLOCKED)
    if document.verdict.kind not in failures:
        return None
    return PageResult(
        fate=PageStatus.FAILED,
        reason=document.verdict.evidence or f"HTTP {document.status_code}",
        status_code=document.status_code,
        verdict=document.verdict.kind,
        body_bytes=_body_bytes(document),
    )


def _body_bytes(document: Document) -> int:
    file = document.media or document.original
    return len(file.data) if file else len((document.content.text or "").encode(errors="replace"))


def uris_of(saved: SavedDocument | None) -> tuple[str, ...]:
    """Return the URIs of a saved page, the primary body first."""
    if saved is None:
        return ()
    primary = saved.primary_uri
    return (primary, *(uri for uri in saved.uris.values() if uri != primary))


class BatchHandler:
    """The handler of a batch."""

    least_delay_ms = 0

    def __init__(self, job: Job, ledger: Ledger) -> None:
        self._job = job
        self._ledger = ledger

    def request(self, lease: PageLease) -> ScrapeRequest:
        """Return the scrape request for a page."""
        return request_from_json(self._job.spec["request"], lease.url)

    def read(self, lease: PageLease, outcome: ScrapeOutcome) -> PageOutcome:  # noqa: ARG002 - the protocol's
        """Return what the ledger records of a page."""
        return PageOutcome(result=failure_of(outcome) or fetched_page(outcome))

    def committed(self, page: PageOutcome) -> None:
        """Do nothing: a batch follows no links."""

    def refuse_landing(self, lease: PageLease, url: str) -> str | None:  # noqa: ARG002 - the same
        """Return None: a batch follows all redirects."""
        return None

    async def seed(self) -> None:
        """Do nothing: a batch has all its URLs from the start."""

    async def end(self) -> None:
        """Complete the batch, whether or not some of its URLs failed."""
        emitter = JobEvents.of(self._job)
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, emitter=emitter)


class CrawlHandler:
    """The handler of a crawl in one process; what it remembers only saves database queries."""

    def __init__(
        self,
        job: Job,
        ledger: Ledger,
        sitemaps: SitemapReader,
        templates: Mapping[str, int],
        *,
        timeout_ms: int,
    ) -> None:
        self._job = job
        self._spec = crawl_spec_from_json(job.spec)
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._timeout_ms = timeout_ms
        start = canonicalize_url(self._spec.url)
        if start is None:
            raise ValueError(f"Not a web address: {self._spec.url}")
        self._start = start
        self._origin = origin_of(self._spec.url)
        # Requests differ by their URL, and by whether it has the start's origin.
        self._requests: dict[bool, ScrapeRequest] = {}
        self._scope = CrawlScope(start, self._spec.scope)
        self._traps = TrapCounter(TrapLimits(), templates)
        # The rank of URLs in the ledger, by which a better way to them is noticed; 0 for a final
        # decision.
        self._seen = {start.fingerprint: 0}
        # URLs that are counted by their template.
        self._taken: set[bytes] = set()
        # URLs that were judged but may not be in the ledger yet. Other pages that link to them
        # bring them as well, in case the first page could not be committed.
        self._pending: dict[bytes, NewPage] = {}

    @property
    def least_delay_ms(self) -> int:
        """The minimum delay between two requests to one host."""
        return self._spec.delay_ms or 0

    def request(self, lease: PageLease) -> ScrapeRequest:
        """Return the scrape request for a page."""
        is_home = origin_of(lease.url) == self._origin
        request = self._requests.get(is_home)
        if request is None:
            owner, timeout_ms = self._job.owner, self._timeout_ms
            request = crawl_request(self._spec, lease.url, owner, timeout_ms)
            self._requests[is_home] = request
        return replace(request, url=lease.url)

    def read(self, lease: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        """Return what the ledger records of a page, and the URLs found on it."""
        page = canonicalize_url(lease.url) or self._start
        landing = canonicalize_url(outcome.document.final_url) or page
        result = failure_of(outcome) or self._judge(outcome, landing)
        found = tuple(self._find_links(outcome.document, landing, lease.depth + 1))
        if result.canonical is not None:
            canonical = _canonicalize([result.canonical.url])
            found = (*self._take(canonical, lease.depth), *found)
        rank = self._scope.rank(landing, lease.depth)
        if landing.key != page.key:
            landed_on = new_page(landing, depth=lease.depth, rank=rank)
            result = replace(result, landed_on=landed_on)
        return PageOutcome(
            result=result,
            found=found,
            is_near=self._measure(landing),
        )

    def _find_links(self, document: Document, page: CanonicalUrl, depth: int) -> Iterable[NewPage]:
        """Yield the URLs that a page leads to and that may not be in the ledger yet."""
        content, hints = document.content, document.content.hints
        if self._spec.sitemap is SitemapUse.ONLY:
            return
        links = [*hints.pages, *(content.links or ())]
        for kind, urls in ((Following.LANGUAGES, hints.languages), (Following.FEEDS, hints.feeds)):
            links += urls if kind in self._spec.follow else ()
        addresses = choose_links(links, page)
        if Following.NOFOLLOW in self._spec.follow:
            yield from self._take(addresses, depth)
        elif not may_follow_links(content.metadata.robots):
            yield from self._take(addresses, depth, is_followed=False)
        else:
            marked = {address.key for address in choose_links(hints.nofollow, page)}
            yield from self._take((each for each in addresses if each.key not in marked), depth)
            others = (each for each in addresses if each.key in marked)
            yield from self._take(others, depth, is_followed=False)

    def _measure(self, page: CanonicalUrl) -> IsNearDuplicate | None:
        """Return how a page is compared with others; None where it is not."""
        way, template = self._spec.deduplicate, template_of(page)
        if way is Deduplication.OFF:
            return None
        kind = None if template is None else template.kind
        if kind in _BOILERPLATE or (way is Deduplication.NEAR and kind in _ENDLESS):
            return partial(is_near_duplicate, far_share=LOOSE_FAR_SHARE)
        return is_near_duplicate if way is Deduplication.NEAR else _is_never_near

    def committed(self, page: PageOutcome) -> None:
        """Note that the URLs found on a page are in the ledger."""
        self._note_stored(page.found)

    def refuse_landing(self, lease: PageLease, url: str) -> str | None:
        """Return why a page may not redirect to a URL, or None where it may."""
        address = canonicalize_url(url)
        if address is None:
            return "no web address"
        reason = self._scope.judge(address, lease.depth)
        return None if reason is None else _without_status(reason)

    async def seed(self) -> None:
        """Add the pages of the site's sitemaps."""
        pages: tuple[NewPage, ...] = ()
        if self._spec.sitemap is not SitemapUse.SKIP and self._spec.scope.max_depth > 1:
            urls = await self._sitemaps.read(self._start, self._spec.proxy_pool)
            # They have the depth of links on the start page.
            pages = tuple(self._take(_canonicalize(urls), 2, is_listed=True))
        await self._ledger.add_pages(self._job.id, pages, is_last=True)
        self._note_stored(pages)

    async def end(self) -> None:
        """Complete the crawl; one that fetched no page has failed, with the reason."""
        emitter = JobEvents.of(self._job)
        job = await self._ledger.find_job(self._job.id)
        if job is not None and job.fetched == 0:
            tried = await self._ledger.list_pages(job.id, _REFUSALS, offset=0, limit=1)
            if tried:
                error = f"{tried[0].url} could not be fetched: {tried[0].reason}"
                await self._ledger.finish_job(job.id, JobStatus.FAILED, error, emitter=emitter)
                return
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, emitter=emitter)

    def _judge(self, outcome: ScrapeOutcome, page: CanonicalUrl) -> PageResult:
        document = outcome.document
        status_code = document.status_code
        if document.media is not None:
            reason = f"a file, not a page ({document.media.mime})"
            return PageResult(fate=PageStatus.OUTSIDE, reason=reason, status_code=status_code)
        canonical = canonicalize_url(document.content.metadata.canonical or "")
        # Misconfigured sites name their front page as the canonical one of all their pages.
        is_other = canonical is not None and canonical.key != page.key and canonical.path != "/"
        named = None
        if canonical is not None and is_other and self._scope.judge(canonical, 1) is None:
            named = new_page(canonical)
        # Link targets do not count: they are all that differs between the pages of a calendar.
        text = _LINK_TARGET.sub("]", document.content.markdown or "")
        result = fetched_page(outcome, self._fingerprint(text, page))
        return result if named is None else replace(result, canonical=named)

    def _fingerprint(self, text: str, page: CanonicalUrl) -> ContentFingerprint | None:
        measure = self._measure(page)
        if measure is None:
            return None
        if len(text.split(None, _MIN_WORDS)) <= _MIN_WORDS:
            # So short a text shows only that a folder and its index file are one page.
            folder = f"{page.authority}{without_index_file(page.path)}?{page.query}"
            return fingerprint_text(f"{folder} {text}", with_sketch=False)
        return fingerprint_text(text, with_sketch=measure is not _is_never_near)

    def _take(
        self,
        addresses: Iterable[CanonicalUrl],
        depth: int,
        *,
        is_listed: bool = False,
        is_followed: bool = True,
    ) -> Iterable[NewPage]:
        """Yield the URLs that may not be in the ledger yet, or that this is a better way to."""
        best_rank = self._scope.best_rank(depth)
        for address in addresses:
            known_rank = self._seen.get(address.fingerprint)
            # Most links of a page are known by a way that none at this depth is better than.
            if known_rank is not None and (not is_followed or known_rank <= best_rank):
                continue
            rank = self._scope.rank(address, depth, is_listed=is_listed)
            if known_rank is not None and known_rank <= rank:
                continue
            page = self._pending.get(address.fingerprint)
            if page is None or (is_followed and rank < page.rank):
                page = self._judge_link(address, depth, rank, is_followed=is_followed)
                if len(self._pending) < _MAX_SEEN:
                    self._pending[address.fingerprint] = page
            yield page

    def _judge_link(
        self, address: CanonicalUrl, depth: int, rank: int, *, is_followed: bool
    ) -> NewPage:
        page = new_page(address, depth=depth, rank=rank)
        if reason := self._scope.judge(address, depth):
            is_too_deep = reason == TOO_DEEP
            page = replace(page, rank=rank if is_too_deep else 0, is_too_deep=is_too_deep)
            return replace(page, fate=PageStatus.OUTSIDE, reason=_without_status(reason))
        if not is_followed:
            page = replace(page, rank=NOT_FOLLOWED_RANK)
            return replace(page, fate=PageStatus.OUTSIDE, reason=_NOFOLLOW)
        template = template_of(address)
        if template is not None:
            page = replace(page, template=template.key)
        # A better way to a URL that is taken already does not count again.
        if address.fingerprint not in self._taken and (reason := self._traps.judge(address)):
            why = _without_status(reason)
            return replace(page, rank=0, template="", fate=PageStatus.TRAP, reason=why)
        if template is not None and len(self._taken) < _MAX_SEEN:
            self._taken.add(address.fingerprint)
        return page

    def _note_stored(self, pages: Iterable[NewPage]) -> None:
        for page in pages:
            self._pending.pop(page.fingerprint, None)
            if len(self._seen) < _MAX_SEEN:
                self._seen[page.fingerprint] = page.rank


def _canonicalize(urls: Iterable[str]) -> Iterable[CanonicalUrl]:
    return (address for url in urls if (address := canonicalize_url(url)) is not None)


def _is_never_near(one: bytes, other: bytes) -> bool:  # noqa: ARG001 - the protocol's
    return False


def _without_status(reason: str) -> str:
    """Return a reason without the status that it begins with."""
    return reason.partition(": ")[2] or reason


class JobHandlers:
    """Creates the handlers of jobs, and caches them for what a crawl's handler remembers."""

    def __init__(self, ledger: Ledger, sitemaps: SitemapReader, *, page_timeout_ms: int) -> None:
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._page_timeout_ms = page_timeout_ms
        self._cached: OrderedDict[str, JobHandler] = OrderedDict()

    async def of(self, job: Job) -> JobHandler:
        """Return the handler of a job."""
        handler = self._cached.pop(job.id, None)
        if handler is None and job.kind is JobKind.BATCH:
            handler = BatchHandler(job, self._ledger)
        elif handler is None:
            templates = await self._ledger.count_templates(job.id)
            timeout_ms = self._page_timeout_ms
            handler = CrawlHandler(
                job, self._ledger, self._sitemaps, templates, timeout_ms=timeout_ms
            )
        self._cached[job.id] = handler
        if len(self._cached) > _MAX_CACHED_HANDLERS:
            self._cached.popitem(last=False)
        return handler
