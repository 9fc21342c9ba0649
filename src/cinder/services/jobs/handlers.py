"""Job handlers of batches and crawls: how a page is scraped, and which links are followed."""

import re
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from cinder.crawl.near_duplicates import (
    FAR_SHARE,
    LOOSE_FAR_SHARE,
    TextFingerprint,
    fingerprint_text,
    is_near_duplicate,
)
from cinder.crawl.robots import choose_links, read_directives
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
from cinder.store.ledger import IsNearDuplicate, Ledger

_MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOutcome:
    """What a page's answer means for the ledger."""

    result: PageResult
    found: Sequence[NewPage] = ()
    is_near: IsNearDuplicate | None = None
    """Tells pages that are nearly the same; None where no two are."""


class JobHandler(Protocol):
    """A job's kind, as those who work on its pages see it."""

    @property
    def least_delay_ms(self) -> int:
        """The least time between two requests to one host that the job was started with."""
        ...

    def request(self, claim: PageLease) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        ...

    def read(self, claim: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        """Return what became of a page."""
        ...

    def settled(self, reading: PageOutcome) -> None:
        """Note that what was read stands in the ledger."""
        ...

    def refuse_landing(self, claim: PageLease, url: str) -> str | None:
        """Return why a page must not be redirected to, or None where it may."""
        ...

    def seed(self) -> Coroutine[None, None, None]:
        """Put all URLs that the job begins with into its ledger."""
        ...

    async def end(self) -> None:
        """Note that nothing is left to be done."""
        ...


def new_page(
    address: CanonicalUrl, *, depth: int = 1, fate: PageStatus | None = None, reason: str = ""
) -> NewPage:
    """Return an address as the ledger takes it."""
    return NewPage(
        url=address.url,
        fingerprint=address.fingerprint,
        host=origin_of(address.url),
        depth=depth,
        fate=fate,
        reason=reason,
    )


def fetched_page(outcome: ScrapeOutcome, content: ContentFingerprint | None = None) -> PageResult:
    """Return what the ledger keeps of a page that was got."""
    document = outcome.document
    length = len(document.content.markdown or document.content.text or "")
    title = document.content.metadata.title
    return PageResult(
        fate=PageStatus.FETCHED,
        status_code=document.status_code,
        verdict=document.verdict.kind,
        title=None if title is None else title[:_MAX_TITLE_CHARS],
        content_length=length,
        body_bytes=_body_bytes(document),
        content=content,
    )


def failure_of(outcome: ScrapeOutcome) -> PageResult | None:
    """Return what the ledger keeps of an answer that is none; None where it is one."""
    document = outcome.document
    if document.verdict.kind not in (VerdictKind.HTTP_ERROR, VerdictKind.SOFT_404):
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
    """Return where a page is saved, the body a reader most likely wants first."""
    if saved is None:
        return ()
    primary = saved.primary_uri
    return (primary, *(uri for uri in saved.uris.values() if uri != primary))


class BatchHandler:
    """One batch."""

    def __init__(self, job: Job, ledger: Ledger) -> None:
        self._job = job
        self._ledger = ledger
        self._request: Any = job.spec["request"]  # what `request_to_json` made

    @property
    def least_delay_ms(self) -> int:
        """Return none: a batch has no delay of its own."""
        return 0

    def request(self, claim: PageLease) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        return request_from_json(self._request, claim.url)

    def read(self, claim: PageLease, outcome: ScrapeOutcome) -> PageOutcome:  # noqa: ARG002 - as all work
        """Return what became of a page."""
        return PageOutcome(result=failure_of(outcome) or fetched_page(outcome))

    def settled(self, reading: PageOutcome) -> None:
        """Do nothing: no page of a batch leads to another."""

    def refuse_landing(self, claim: PageLease, url: str) -> str | None:  # noqa: ARG002 - the same
        """Return None: wherever a URL leads, that is its page."""
        return None

    async def seed(self) -> None:
        """Do nothing: a batch has all its URLs from the start."""

    async def end(self) -> None:
        """Note that every URL has been tried; those that failed do not fail the batch."""
        emitter = JobEvents.of(self._job)
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, emitter=emitter)


# Shorter texts say nothing about whether two pages are one: "Please log in" stands on many.
_MIN_WORDS = 10
_MAX_SEEN = 1_000_000
_LINK_TARGET = re.compile(r"\]\([^)\s]{0,2000}\)")
# What a site can make without end by one rule; there, pages that hardly differ are the same.
_ENDLESS = frozenset(
    (
        *(TemplateKind.CALENDAR, TemplateKind.DATED_PATH, TemplateKind.FACETS),
        *(TemplateKind.PAGE_NUMBERS, TemplateKind.COMBINATIONS),
    )
)
_REFUSALS = (PageStatus.FAILED, PageStatus.DISALLOWED, PageStatus.OUTSIDE)


class CrawlHandler:
    """One crawl in one process; what it knows is only there to spare the database questions."""

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
        self._spec = CrawlSpec.from_json(job.spec)
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._timeout_ms = timeout_ms
        start = canonicalize_url(self._spec.url)
        if start is None:
            raise ValueError(f"Not a web address: {self._spec.url}")
        self._start = start
        self._scope = CrawlScope(start, self._spec.scope)
        self._traps = TrapCounter(TrapLimits(), templates)
        # At what depth an address in the ledger was too deep; 0 for one that is judged for good.
        self._seen = {start.fingerprint: 0}
        # What was judged but may not be in the ledger yet: who meets it next brings it as well,
        # lest it is lost with a page whose fate could not be written down.
        self._pending: dict[bytes, NewPage] = {}

    @property
    def least_delay_ms(self) -> int:
        """The least time between two requests to one host."""
        return self._spec.delay_ms or 0

    def request(self, claim: PageLease) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        return crawl_request(self._spec, claim.url, self._job.owner, self._timeout_ms)

    def read(self, claim: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        """Return what became of a page, and the URLs found on it."""
        page = canonicalize_url(claim.url) or self._start
        landing = canonicalize_url(outcome.document.final_url) or page
        landed_on = new_page(landing, depth=claim.depth) if landing.key != page.key else None
        result = failure_of(outcome) or self._judge(outcome, landing)
        found = self._find(outcome.document, landing, claim.depth)
        if result.fate is PageStatus.DUPLICATE:
            found = (*self._take(_addresses([result.reason]), claim.depth), *found)
            return PageOutcome(result=result, found=found)
        return PageOutcome(
            result=replace(result, landed_on=landed_on), found=found, is_near=_nearness(landing)
        )

    def settled(self, reading: PageOutcome) -> None:
        """Note that the URLs that were found stand in the ledger."""
        self._note_kept(reading.found)

    def refuse_landing(self, claim: PageLease, url: str) -> str | None:
        """Return why a page must not be redirected to, or None where it may."""
        address = canonicalize_url(url)
        if address is None:
            return "no web address"
        reason = self._scope.judge(address, claim.depth)
        return None if reason is None else _bare(reason)

    async def seed(self) -> None:
        """Add the pages that the site's sitemaps name."""
        pages: tuple[NewPage, ...] = ()
        if self._spec.sitemaps and self._spec.scope.max_depth > 1:
            urls = await self._sitemaps.read(self._start)
            # As deep as what the start links to: a sitemap is a list of such links.
            pages = tuple(self._take(_addresses(urls), 2))
        await self._ledger.add_pages(self._job.id, pages, is_last=True)
        self._note_kept(pages)

    async def end(self) -> None:
        """Note that nothing is left; a crawl that got no page at all has failed, and says why."""
        emitter = JobEvents.of(self._job)
        job = await self._ledger.find_job(self._job.id)
        if job is not None and job.fetched == 0:
            tried = await self._ledger.list_pages(job.id, _REFUSALS, offset=0, limit=1)
            if tried:
                said = f"{tried[0].url} could not be fetched: {tried[0].reason}"
                await self._ledger.finish_job(job.id, JobStatus.FAILED, said, emitter=emitter)
                return
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, emitter=emitter)

    def _judge(self, outcome: ScrapeOutcome, page: CanonicalUrl) -> PageResult:
        document = outcome.document
        if document.media is not None:
            kind = document.media.mime
            reason = f"a file, not a page ({kind})"
            return PageResult(
                fate=PageStatus.OUTSIDE, reason=reason, status_code=document.status_code
            )
        canonical = self._canonical_of(document, page)
        if canonical is not None:
            return PageResult(
                fate=PageStatus.DUPLICATE, reason=canonical.url, status_code=document.status_code
            )
        return fetched_page(outcome, _print_of(document.content.markdown or ""))

    def _canonical_of(self, document: Document, page: CanonicalUrl) -> CanonicalUrl | None:
        """Return the address that a page says is its own, if it is another of the crawl's.

        A site's front page is never the other one of an inner page: it is what misconfigured sites
        name on all of theirs.
        """
        said = document.content.metadata.canonical
        address = canonicalize_url(said) if said else None
        if address is None or address.key == page.key or address.path == "/":
            return None
        return None if self._scope.judge(address, 1) else address

    def _find(self, document: Document, page: CanonicalUrl, depth: int) -> tuple[NewPage, ...]:
        directives = read_directives(document.content.metadata.robots, None)
        links = document.content.links or ()
        if not directives.may_follow or not links:
            return ()
        return tuple(self._take(choose_links(links, page), depth + 1))

    def _take(self, addresses: Iterable[CanonicalUrl], depth: int) -> Iterable[NewPage]:
        """Yield those that are not known to be in the ledger, with their fates at first sight."""
        for address in addresses:
            if self._seen.get(address.fingerprint, depth + 1) <= depth:
                continue
            page = self._pending.get(address.fingerprint)
            if page is None or (page.fate is PageStatus.OUTSIDE and depth < page.depth):
                page = self._judged(address, depth)
                if len(self._pending) < _MAX_SEEN:
                    self._pending[address.fingerprint] = page
            yield page

    def _note_kept(self, pages: Iterable[NewPage]) -> None:
        for page in pages:
            self._pending.pop(page.fingerprint, None)
            if len(self._seen) < _MAX_SEEN:
                is_too_deep = (
                    page.fate is PageStatus.OUTSIDE and page.depth > self._spec.scope.max_depth
                )
                self._seen[page.fingerprint] = page.depth if is_too_deep else 0

    def _judged(self, address: CanonicalUrl, depth: int) -> NewPage:
        if reason := self._scope.judge(address, depth):
            page = new_page(address, depth=depth, fate=PageStatus.OUTSIDE, reason=_bare(reason))
            return replace(page, is_too_deep=reason == TOO_DEEP)
        if reason := self._traps.judge(address):
            return new_page(address, depth=depth, fate=PageStatus.TRAP, reason=_bare(reason))
        template = template_of(address)
        page = new_page(address, depth=depth)
        return page if template is None else replace(page, template=template.key)


def _nearness(address: CanonicalUrl) -> IsNearDuplicate:
    template = template_of(address)
    is_endless = template is not None and template.kind in _ENDLESS
    return partial(_near_sketches, LOOSE_FAR_SHARE if is_endless else FAR_SHARE)


def _near_sketches(far_share: float, one: bytes, other: bytes) -> bool:
    # The exact prints were compared before.
    return is_near_duplicate(
        TextFingerprint(b"1", one), TextFingerprint(b"2", other), far_share=far_share
    )


def _print_of(markdown: str) -> ContentFingerprint | None:
    # Where links lead is not what a page says: on the pages of a calendar, only that differs.
    text = _LINK_TARGET.sub("]", markdown)
    if len(text.split(None, _MIN_WORDS)) <= _MIN_WORDS:
        return None
    found = fingerprint_text(text)
    return ContentFingerprint(found.exact, found.sketch, found.keys)


def _addresses(urls: Iterable[str]) -> Iterable[CanonicalUrl]:
    return (address for url in urls if (address := canonicalize_url(url)) is not None)


def _bare(reason: str) -> str:
    """Return a reason without the fate that it begins with."""
    return reason.partition(": ")[2] or reason


_MAX_KEPT = 50


class JobHandlers:
    """Finds the work of a job: what a crawl has met spares the database many questions."""

    def __init__(self, ledger: Ledger, sitemaps: SitemapReader, *, page_timeout_ms: int) -> None:
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._page_timeout_ms = page_timeout_ms
        self._kept: OrderedDict[str, JobHandler] = OrderedDict()

    async def of(self, job: Job) -> JobHandler:
        """Return the work of a job."""
        work = self._kept.pop(job.id, None) or await self._make(job)
        self._kept[job.id] = work
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return work

    async def _make(self, job: Job) -> JobHandler:
        if job.kind is JobKind.BATCH:
            return BatchHandler(job, self._ledger)
        templates = await self._ledger.count_templates(job.id)
        return CrawlHandler(
            job, self._ledger, self._sitemaps, templates, timeout_ms=self._page_timeout_ms
        )
