"""The work of a crawl: which links of a page to follow, and which pages are the same."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from cinder.crawl.addresses import Address, read_address
from cinder.crawl.fingerprints import (
    FAR_SHARE,
    LOOSE_FAR_SHARE,
    Fingerprint,
    fingerprint_text,
    is_near,
)
from cinder.crawl.links import choose_links, read_directives
from cinder.crawl.scope import TOO_DEEP, Scope
from cinder.crawl.templates import TemplateKind, template_of
from cinder.crawl.traps import TrapBounds, TrapCounter
from cinder.model.document import Document
from cinder.model.job import Claim, ContentPrint, Fate, Job, JobStatus, NewPage, PageResult
from cinder.model.request import ScrapeRequest
from cinder.services.jobs.seeds import SitemapReader
from cinder.services.jobs.specs import CrawlSpec, crawl_request
from cinder.services.jobs.work import Reading, failure_of, fetched_page, new_page
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.webhook_events import JobEvents
from cinder.store.ledger_base import IsNear, Ledger

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
_REFUSALS = (Fate.FAILED, Fate.DISALLOWED, Fate.OUTSIDE)


class CrawlWork:
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
        start = read_address(self._spec.url)
        if start is None:
            raise ValueError(f"Not a web address: {self._spec.url}")
        self._start = start
        self._scope = Scope(start, self._spec.scope)
        self._traps = TrapCounter(TrapBounds(), templates)
        # At what depth an address in the ledger was too deep; 0 for one that is judged for good.
        self._seen = {start.fingerprint: 0}
        # What was judged but may not be in the ledger yet: who meets it next brings it as well,
        # lest it is lost with a page whose fate could not be written down.
        self._pending: dict[bytes, NewPage] = {}

    @property
    def least_delay_ms(self) -> int:
        """The least time between two requests to one host."""
        return self._spec.delay_ms or 0

    def request(self, claim: Claim) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        return crawl_request(self._spec, claim.url, self._job.owner, self._timeout_ms)

    def read(self, claim: Claim, outcome: ScrapeOutcome) -> Reading:
        """Return what became of a page, and the URLs found on it."""
        page = read_address(claim.url) or self._start
        landing = read_address(outcome.document.final_url) or page
        landed_on = new_page(landing, depth=claim.depth) if landing.key != page.key else None
        result = failure_of(outcome) or self._judge(outcome, landing)
        found = self._find(outcome.document, landing, claim.depth)
        if result.fate is Fate.DUPLICATE:
            found = (*self._take(_addresses([result.reason]), claim.depth), *found)
            return Reading(result=result, found=found)
        return Reading(
            result=replace(result, landed_on=landed_on), found=found, is_near=_nearness(landing)
        )

    def settled(self, reading: Reading) -> None:
        """Note that the URLs that were found stand in the ledger."""
        self._note_kept(reading.found)

    def refuse_landing(self, claim: Claim, url: str) -> str | None:
        """Return why a page must not be redirected to, or None where it may."""
        address = read_address(url)
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
        teller = JobEvents.of(self._job)
        job = await self._ledger.find_job(self._job.id)
        if job is not None and job.fetched == 0:
            tried = await self._ledger.list_pages(job.id, _REFUSALS, offset=0, limit=1)
            if tried:
                said = f"{tried[0].url} could not be fetched: {tried[0].reason}"
                await self._ledger.finish_job(job.id, JobStatus.FAILED, said, teller=teller)
                return
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, teller=teller)

    def _judge(self, outcome: ScrapeOutcome, page: Address) -> PageResult:
        document = outcome.document
        if document.media is not None:
            kind = document.media.mime
            reason = f"a file, not a page ({kind})"
            return PageResult(fate=Fate.OUTSIDE, reason=reason, status_code=document.status_code)
        canonical = self._canonical_of(document, page)
        if canonical is not None:
            return PageResult(
                fate=Fate.DUPLICATE, reason=canonical.url, status_code=document.status_code
            )
        return fetched_page(outcome, _print_of(document.content.markdown or ""))

    def _canonical_of(self, document: Document, page: Address) -> Address | None:
        """Return the address that a page says is its own, if it is another of the crawl's.

        A site's front page is never the other one of an inner page: it is what misconfigured sites
        name on all of theirs.
        """
        said = document.content.metadata.canonical
        address = read_address(said) if said else None
        if address is None or address.key == page.key or address.path == "/":
            return None
        return None if self._scope.judge(address, 1) else address

    def _find(self, document: Document, page: Address, depth: int) -> tuple[NewPage, ...]:
        directives = read_directives(document.content.metadata.robots, None)
        links = document.content.links or ()
        if not directives.may_follow or not links:
            return ()
        return tuple(self._take(choose_links(links, page), depth + 1))

    def _take(self, addresses: Iterable[Address], depth: int) -> Iterable[NewPage]:
        """Yield those that are not known to be in the ledger, with their fates at first sight."""
        for address in addresses:
            if self._seen.get(address.fingerprint, depth + 1) <= depth:
                continue
            page = self._pending.get(address.fingerprint)
            if page is None or (page.fate is Fate.OUTSIDE and depth < page.depth):
                page = self._judged(address, depth)
                if len(self._pending) < _MAX_SEEN:
                    self._pending[address.fingerprint] = page
            yield page

    def _note_kept(self, pages: Iterable[NewPage]) -> None:
        for page in pages:
            self._pending.pop(page.fingerprint, None)
            if len(self._seen) < _MAX_SEEN:
                is_too_deep = page.fate is Fate.OUTSIDE and page.depth > self._spec.scope.max_depth
                self._seen[page.fingerprint] = page.depth if is_too_deep else 0

    def _judged(self, address: Address, depth: int) -> NewPage:
        if reason := self._scope.judge(address, depth):
            page = new_page(address, depth=depth, fate=Fate.OUTSIDE, reason=_bare(reason))
            return replace(page, is_too_deep=reason == TOO_DEEP)
        if reason := self._traps.judge(address):
            return new_page(address, depth=depth, fate=Fate.TRAP, reason=_bare(reason))
        template = template_of(address)
        page = new_page(address, depth=depth)
        return page if template is None else replace(page, template=template.key)


def _nearness(address: Address) -> IsNear:
    template = template_of(address)
    is_endless = template is not None and template.kind in _ENDLESS
    return partial(_near_sketches, LOOSE_FAR_SHARE if is_endless else FAR_SHARE)


def _near_sketches(far_share: float, one: bytes, other: bytes) -> bool:
    # The exact prints were compared before.
    return is_near(Fingerprint(b"1", one), Fingerprint(b"2", other), far_share=far_share)


def _print_of(markdown: str) -> ContentPrint | None:
    # Where links lead is not what a page says: on the pages of a calendar, only that differs.
    text = _LINK_TARGET.sub("]", markdown)
    if len(text.split(None, _MIN_WORDS)) <= _MIN_WORDS:
        return None
    found = fingerprint_text(text)
    return ContentPrint(found.exact, found.sketch, found.keys)


def _addresses(urls: Iterable[str]) -> Iterable[Address]:
    return (address for url in urls if (address := read_address(url)) is not None)


def _bare(reason: str) -> str:
    """Return a reason without the fate that it begins with."""
    return reason.partition(": ")[2] or reason
