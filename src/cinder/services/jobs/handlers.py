"""Job handlers of batches and crawls: how a page is scraped, and which links are followed."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import msgspec

from cinder.crawl.near_duplicates import (
    FAR_SHARE,
    LOOSE_FAR_SHARE,
    fingerprint_text,
    is_near_duplicate,
)
from cinder.crawl.robots import choose_links, may_follow_links
from cinder.crawl.scope import TOO_DEEP, CrawlScope
from cinder.crawl.traps import TemplateKind, TrapCounter, TrapLimits, template_of
from cinder.crawl.urls import CanonicalUrl, canonicalize_url
from cinder.models.document import Document, VerdictKind
from cinder.models.job import (
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
from cinder.services.jobs.specs import CrawlSpec, crawl_request, request_from_json
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.webhooks import JobEvents
from cinder.store.ledger import Ledger
from cinder.store.ledger.page_commits import IsNearDuplicate

_MAX_TITLE_CHARS = 500
# Shorter texts, such as "Please log in", appear on many different pages.
_MIN_WORDS = 10
_MAX_SEEN = 1_000_000
_LINK_TARGET = re.compile(r"\]\([^)\s]{0,2000}\)")
# URL spaces that a site can extend without end; there, pages that differ little are duplicates.
_ENDLESS = frozenset(
    (
        *(TemplateKind.CALENDAR, TemplateKind.DATED_PATH, TemplateKind.FACETS),
        *(TemplateKind.PAGE_NUMBERS, TemplateKind.COMBINATIONS),
    )
)
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
    address: CanonicalUrl, *, depth: int = 1, fate: PageStatus | None = None, reason: str = ""
) -> NewPage:
    """Return a URL as a page for the ledger."""
    return NewPage(
        url=address.url,
        fingerprint=address.fingerprint,
        host=origin_of(address.url),
        depth=depth,
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
        self._spec = msgspec.convert(job.spec, CrawlSpec)
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._timeout_ms = timeout_ms
        start = canonicalize_url(self._spec.url)
        if start is None:
            raise ValueError(f"Not a web address: {self._spec.url}")
        self._start = start
        self._scope = CrawlScope(start, self._spec.scope)
        self._traps = TrapCounter(TrapLimits(), templates)
        # The depth at which a URL in the ledger was too deep; 0 for a final decision.
        self._seen = {start.fingerprint: 0}
        # URLs that were judged but may not be in the ledger yet. Other pages that link to them
        # bring them as well, in case the first page could not be committed.
        self._pending: dict[bytes, NewPage] = {}

    @property
    def least_delay_ms(self) -> int:
        """The minimum delay between two requests to one host."""
        return self._spec.delay_ms or 0

    def request(self, lease: PageLease) -> ScrapeRequest:
        """Return the scrape request for a page."""
        return crawl_request(self._spec, lease.url, self._job.owner, self._timeout_ms)

    def read(self, lease: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        """Return what the ledger records of a page, and the URLs found on it."""
        content = outcome.document.content
        page = canonicalize_url(lease.url) or self._start
        landing = canonicalize_url(outcome.document.final_url) or page
        result = failure_of(outcome) or self._judge(outcome, landing)
        found: tuple[NewPage, ...] = ()
        if content.links and may_follow_links(content.metadata.robots):
            found = tuple(self._take(choose_links(content.links, landing), lease.depth + 1))
        if result.fate is PageStatus.DUPLICATE:
            found = (*self._take(_canonicalize([result.reason]), lease.depth), *found)
            return PageOutcome(result=result, found=found)
        template = template_of(landing)
        is_endless = template is not None and template.kind in _ENDLESS
        landed_on = new_page(landing, depth=lease.depth) if landing.key != page.key else None
        return PageOutcome(
            result=replace(result, landed_on=landed_on),
            found=found,
            is_near=partial(
                is_near_duplicate, far_share=LOOSE_FAR_SHARE if is_endless else FAR_SHARE
            ),
        )

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
        if self._spec.sitemaps and self._spec.scope.max_depth > 1:
            urls = await self._sitemaps.read(self._start)
            # They have the depth of links on the start page.
            pages = tuple(self._take(_canonicalize(urls), 2))
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
        if canonical is not None and is_other and self._scope.judge(canonical, 1) is None:
            return PageResult(
                fate=PageStatus.DUPLICATE, reason=canonical.url, status_code=status_code
            )
        # Link targets do not count: they are all that differs between the pages of a calendar.
        text = _LINK_TARGET.sub("]", document.content.markdown or "")
        has_text = len(text.split(None, _MIN_WORDS)) > _MIN_WORDS
        return fetched_page(outcome, fingerprint_text(text) if has_text else None)

    def _take(self, addresses: Iterable[CanonicalUrl], depth: int) -> Iterable[NewPage]:
        """Yield the URLs that may not be in the ledger yet, with their initial status."""
        for address in addresses:
            if self._seen.get(address.fingerprint, depth + 1) <= depth:
                continue
            page = self._pending.get(address.fingerprint)
            if page is None or (page.fate is PageStatus.OUTSIDE and depth < page.depth):
                page = self._judge_link(address, depth)
                if len(self._pending) < _MAX_SEEN:
                    self._pending[address.fingerprint] = page
            yield page

    def _note_stored(self, pages: Iterable[NewPage]) -> None:
        for page in pages:
            self._pending.pop(page.fingerprint, None)
            if len(self._seen) < _MAX_SEEN:
                is_too_deep = (
                    page.fate is PageStatus.OUTSIDE and page.depth > self._spec.scope.max_depth
                )
                self._seen[page.fingerprint] = page.depth if is_too_deep else 0

    def _judge_link(self, address: CanonicalUrl, depth: int) -> NewPage:
        if reason := self._scope.judge(address, depth):
            why = _without_status(reason)
            page = new_page(address, depth=depth, fate=PageStatus.OUTSIDE, reason=why)
            return replace(page, is_too_deep=reason == TOO_DEEP)
        if reason := self._traps.judge(address):
            why = _without_status(reason)
            return new_page(address, depth=depth, fate=PageStatus.TRAP, reason=why)
        template = template_of(address)
        page = new_page(address, depth=depth)
        return page if template is None else replace(page, template=template.key)


def _canonicalize(urls: Iterable[str]) -> Iterable[CanonicalUrl]:
    return (address for url in urls if (address := canonicalize_url(url)) is not None)


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
