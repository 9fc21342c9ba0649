"""Scrapes one URL: from the cache where it is fresh enough, else from the web."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, Self
from weakref import WeakValueDictionary

from cinder.errors import CinderError, ScrapeFailed, ScrapeTimeout
from cinder.fetch.base import FetchTask
from cinder.fetch.escalation import AttemptLog, EngineEscalation, EngineStep, check_mode
from cinder.metrics import Metrics
from cinder.models.document import Document, FetchedPage, FetchSource, Validators, VerdictKind
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.models.saved import PageChange, SavedDocument
from cinder.sandbox.sandbox import Sandboxes
from cinder.services.auth import AccessPolicy, TokenService, require_domain
from cinder.services.scraping.admission import Admission, SingleFlight
from cinder.services.scraping.cache_key import RequestKeyCache, RequestKeys
from cinder.services.scraping.change_tracking import ChangeTracker, is_comparable
from cinder.services.scraping.document_builder import (
    BrandReader,
    ContentDefaults,
    DocumentBuilder,
    with_warnings,
)
from cinder.services.scraping.outcome import (
    BuildCommit,
    ScrapeOutcome,
    as_requested,
    authorize,
    is_failure,
)
from cinder.services.summary import Summarizer
from cinder.store import EntryKey, Store
from cinder.store.ledger import PageCommit
from cinder.verdicts.verdict import NOT_MODIFIED

# By how much the clocks of servers that share a database may differ.
_SKEW_MS = 5_000
_FAILURES = (VerdictKind.HTTP_ERROR, VerdictKind.BLOCKED)
_GOOD_ONE_STAYS = "This was not saved: a good copy of the page is kept, and "
_GOOD_ONE_BY_AGE = "a longer maxAge returns that one."
_GOOD_ONE_UNTRACKED = "a scrape without changeTracking, with a long maxAge, returns that one."


class PageExtraction(Protocol):
    """Takes what a prompt wants out of scraped pages."""

    async def extract(self, document: Document, prompt: str, until: float, caller: str) -> Document:
        """Return the document with what was extracted, or with a warning that says why not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentProcessors:
    """What makes content of fetched pages: parses them, and, where wanted, extracts and sums up."""

    sandboxes: Sandboxes
    extraction: PageExtraction
    summarizer: Summarizer | None = None
    """None where summaries are made of a page's own sentences."""
    admission: Admission = field(default_factory=Admission)
    """How many pages that somebody waits for may be under way."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    """By which content is dated, and its age told."""


class ScrapeService:
    """Scrapes URLs. All surfaces and all jobs come through here."""

    def __init__(
        self,
        *,
        store: Store,
        callers: TokenService,
        ladder: EngineEscalation,
        makers: ContentProcessors,
        metrics: Metrics,
        defaults: ContentDefaults,
    ) -> None:
        self._store = store
        self._callers = callers
        self._ladder = ladder
        sandboxes = makers.sandboxes
        brands = BrandReader(ladder.engine(EngineStep.STATIC), sandboxes.pages)
        self._documents = DocumentBuilder(sandboxes, brands, defaults, makers.clock)
        self._changes = ChangeTracker(store, sandboxes.pages)
        self._metrics = metrics
        self._extraction = makers.extraction
        self._summarizer = makers.summarizer
        self._admission = makers.admission
        self._clock = makers.clock
        self._defaults = defaults
        self._keys = RequestKeyCache(defaults.describe())
        self._flights: SingleFlight[ScrapeOutcome] = SingleFlight()
        # Of the flights under way: kept alive by those who fly and those who wait.
        self._logs: WeakValueDictionary[Hashable, AttemptLog] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        await self._flights.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._flights.__aexit__()

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return a URL's content, fresh enough for the request and kept if it says so.

        Raises:
            CinderError: it could not be had; with diagnostics where anything was tried.
        """
        started = time.monotonic()
        outcome = await self._scrape(request)
        if self._summarizer is None or not _wants_summary(outcome, request):
            return outcome
        seconds = request.timeout_ms / 1000 - (time.monotonic() - started)
        summary = await self._summarizer.summarize(outcome.document, seconds, request.caller)
        return replace(outcome, summary=summary)

    async def _scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        require_supported(request)
        access_policy = AccessPolicy(await self._callers.permit(request))
        keys = self._keys.of(request)
        flight = (
            *(keys.cache, request.result_handling, request.timeout_ms, request.cache),
            *(Format.CHANGE_TRACKING in request.formats, access_policy.policy.domains),
        )
        # Only of a flight under way: whoever keeps an error keeps its log alive as well.
        joined = self._logs.get(flight) if self._flights.is_in_flight(flight) else None
        log = joined or AttemptLog(request.timeout_ms, self._metrics.count_attempt)
        self._logs[flight] = log
        origin, started = "web", time.monotonic()
        try:
            async with _within_timeout(request, log):
                kept, is_fresh = await self._find(request, keys.cache)
                if kept is not None and is_fresh:
                    origin = "cache"
                    return authorize(self._answer_from_cache(kept, request), access_policy)
                work = partial(self._scrape_web, request, keys, kept, log, access_policy)
                found = await self._fly(flight, work, request)
                return authorize(as_requested(found, request), access_policy)
        finally:
            self._metrics.scrape_seconds.labels(origin).observe(time.monotonic() - started)

    async def scrape_for_job(
        self,
        request: ScrapeRequest,
        settle: BuildCommit,
        *,
        may_land: Callable[[str], bool] | None = None,
    ) -> ScrapeOutcome:
        """Do the same for a page of a job, whose fate is written down together with the page.

        Nobody else's scrape is shared: the fate must be written once, by who holds the claim.

        Raises:
            CinderError: it could not be had, and nothing was written down.
        """
        require_supported(request)
        access_policy = AccessPolicy(await self._callers.permit(request), may_land)
        keys = self._keys.of(request)
        log = AttemptLog(request.timeout_ms, self._metrics.count_attempt)
        async with _within_timeout(request, log):
            kept, is_fresh = await self._find(request, keys.cache)
            if kept is not None and is_fresh:
                outcome = authorize(self._answer_from_cache(kept, request), access_policy)
            else:
                found = await self._scrape_web(request, keys, kept, log, access_policy, settle)
                outcome = as_requested(found, request)
        if not outcome.is_committed:
            await self._store.ledger.settle(settle(outcome), outcome.saved)
        return outcome

    async def _fly(
        self,
        flight: Hashable,
        work: Callable[[], Awaitable[ScrapeOutcome]],
        request: ScrapeRequest,
    ) -> ScrapeOutcome:
        while True:
            is_joining = self._flights.is_in_flight(flight)
            try:
                return await self._flights.run(flight, partial(self._admitted, work, request))
            except ScrapeTimeout:
                # The time of the caller who began it ran out. This one came later and has more.
                if not is_joining:
                    raise

    async def _admitted(
        self, work: Callable[[], Awaitable[ScrapeOutcome]], request: ScrapeRequest
    ) -> ScrapeOutcome:
        task = _fetch_task(request, None)
        async with self._admission.admit(
            request.caller,
            patience_seconds=task.queue_seconds,
            is_rendered=self._ladder.starts_in_browser(task),
        ):
            return await work()

    async def _find(self, request: ScrapeRequest, key: str) -> tuple[SavedDocument | None, bool]:
        """Return what is kept, if anything is, and whether it is fresh enough."""
        if request.cache.force_rescrape:
            self._metrics.cache.labels("bypass").inc()
            return None, False
        kept = await self._store.find(key)
        is_fresh = kept is not None and self._is_fresh(kept, request)
        result = "miss" if kept is None else "hit" if is_fresh else "stale"
        self._metrics.cache.labels(result).inc()
        return kept, is_fresh

    def _is_fresh(self, kept: SavedDocument, request: ScrapeRequest) -> bool:
        if Format.CHANGE_TRACKING in request.formats:
            return False  # what is kept tells nothing of what has changed since
        if kept.document.is_cut:
            return False  # the next try may bring the rest
        # What comes from the future tells nothing of its age: the clock was set back since.
        return -_SKEW_MS <= self._age_ms(kept.document) <= request.cache.max_age_ms

    def _age_ms(self, document: Document) -> int:
        return round((self._clock() - document.scraped_at).total_seconds() * 1000)

    def _answer_from_cache(self, kept: SavedDocument, request: ScrapeRequest) -> ScrapeOutcome:
        return ScrapeOutcome(
            document=replace(kept.document, url=request.url),
            saved=None if request.result_handling is ResultHandling.RETURN_ONLY else kept,
            cached=True,
            age_ms=max(0, self._age_ms(kept.document)),
        )

    async def _scrape_web(
        self,
        request: ScrapeRequest,
        keys: RequestKeys,
        stale: SavedDocument | None,
        log: AttemptLog,
        access_policy: AccessPolicy,
        settle: BuildCommit | None = None,
    ) -> ScrapeOutcome:
        with _explaining(request, log), access_policy.explaining_refusal():
            await self._callers.spend_page(request.caller, access_policy.policy)
            started = time.monotonic()
            stale = stale if stale is not None and _may_be_confirmed(stale.document) else None
            task = replace(
                _fetch_task(request, stale),
                is_for_job=settle is not None,
                may_land=access_policy.landing_check,
                may_connect=access_policy.connection_check(request),
            )
            page = await self._ladder.fetch(task, log)
            for _ in range(page.pages_taken - 1 if request.render.actions else 0):
                await self._callers.spend_page(request.caller, access_policy.policy)
            if stale is not None and _is_confirmed(stale.document, page):
                change = await self._track(stale.document, request, keys, access_policy)
                answer = await self._answer_revalidated(stale, request, log)
                return replace(answer, change=change)
            # A page may still call itself by another address than the one it was asked for by.
            require_domain(access_policy.policy, page.final_url)
            document = await self._documents.make(page, request, started, task.claimant)
            if request.extract is not None and not is_failure(document, request):
                until = started + request.timeout_ms / 1000
                document = await self._extraction.extract(
                    document, request.extract, until, request.caller
                )
            change = await self._track(document, request, keys, access_policy)
            outcome = ScrapeOutcome(document=document, diagnostics=log.diagnostics, change=change)
            if outcome.is_removed or not _is_to_be_kept(document, request):
                return outcome
            page_commit = settle(outcome) if settle is not None else None
            document, saved = await self._keep(document, request, keys, page_commit)
            return replace(
                outcome, document=document, saved=saved, is_committed=page_commit is not None
            )

    async def _track(
        self,
        document: Document,
        request: ScrapeRequest,
        keys: RequestKeys,
        access_policy: AccessPolicy,
    ) -> PageChange | None:
        if Format.CHANGE_TRACKING not in request.formats:
            return None
        return await self._changes.track(document, request, keys.content, access_policy.policy)

    async def _answer_revalidated(
        self, stale: SavedDocument, request: ScrapeRequest, log: AttemptLog
    ) -> ScrapeOutcome:
        now = self._clock()
        current = replace(stale, document=replace(stale.document, scraped_at=now))
        if request.result_handling is not ResultHandling.RETURN_ONLY:
            expires_at = now + self._defaults.retention
            await self._store.mark_revalidated(stale, now, expires_at)
        return replace(self._answer_from_cache(current, request), diagnostics=log.diagnostics)

    async def _keep(
        self,
        document: Document,
        request: ScrapeRequest,
        keys: RequestKeys,
        page_commit: PageCommit | None,
    ) -> tuple[Document, SavedDocument | None]:
        """Save a document, but never over a better one."""
        entry = EntryKey(
            cache_key=keys.cache,
            options=keys.options,
            owner=request.caller if keys.is_own else None,
            expires_at=document.scraped_at + self._defaults.retention,
            extract_query=request.extract,
            content_key=keys.content if is_comparable(document, request) else None,
        )
        if document.verdict.kind is VerdictKind.OK:
            return document, await self._store.save(document, entry, page_commit)
        saved = await self._store.save_unless_good(document, entry, page_commit)
        if saved is None:
            is_tracking = Format.CHANGE_TRACKING in request.formats
            way = _GOOD_ONE_UNTRACKED if is_tracking else _GOOD_ONE_BY_AGE
            content = with_warnings(document.content, (_GOOD_ONE_STAYS + way,))
            document = replace(document, content=content)
        return document, saved


def require_supported(request: ScrapeRequest) -> None:
    """Return if what is asked for can be done at all.

    Raises:
        Unsupported: it cannot.
        InvalidRequest: its options contradict each other.
    """
    check_mode(request)


def _is_to_be_kept(document: Document, request: ScrapeRequest) -> bool:
    is_answer = document.verdict.kind not in _FAILURES
    return is_answer and request.result_handling is not ResultHandling.RETURN_ONLY


def _wants_summary(outcome: ScrapeOutcome, request: ScrapeRequest) -> bool:
    is_shown = request.result_handling is not ResultHandling.SAVE_ONLY or outcome.saved is None
    return Format.SUMMARY in request.formats and is_shown and outcome.document.media is None


def _fetch_task(request: ScrapeRequest, stale: SavedDocument | None) -> FetchTask:
    return FetchTask(
        url=request.url,
        timeout_seconds=request.timeout_ms / 1000,
        headers=request.headers,
        validators=stale.document.validators if stale else Validators(),
        validated_url=stale.document.final_url if stale else None,
        caller=request.caller,
        is_private=request.is_private,
        render=request.render,
        screenshot=request.screenshot,
        wants_images=Format.IMAGES in request.formats,
        wants_styles=Format.BRANDING in request.formats,
    )


def _may_be_confirmed(document: Document) -> bool:
    """Whether a document that the origin calls unchanged is as good as a new one.

    What a browser rendered is not: unchanged HTML says nothing of what its scripts bring. Nor is
    what is no whole page: that the page is unchanged would keep it so for ever.
    """
    return document.source is FetchSource.NATIVE and document.verdict.kind is VerdictKind.OK


def _is_confirmed(document: Document, page: FetchedPage) -> bool:
    """Whether the origin, asked by the document's validators, said that it has not changed."""
    was_asked = bool(document.validators) and page.final_url == document.final_url
    return was_asked and page.status_code == NOT_MODIFIED


@asynccontextmanager
async def _within_timeout(request: ScrapeRequest, log: AttemptLog) -> AsyncIterator[None]:
    """Bound the work by the request's timeout."""
    try:
        async with asyncio.timeout(request.timeout_ms / 1000):
            yield
    except TimeoutError:
        raise ScrapeTimeout(
            f"Failed to scrape {request.url}: Timed out after {request.timeout_ms}ms. "
            "Try again with a longer timeout.",
            url=request.url,
            diagnostics=log.diagnostics,
        ) from None


@contextmanager
def _explaining(request: ScrapeRequest, log: AttemptLog) -> Iterator[None]:
    """Give every failure its URL and the way that was taken."""
    try:
        yield
    except CinderError as error:
        error.url = error.url or request.url
        error.diagnostics = error.diagnostics or log.diagnostics
        if isinstance(error, ScrapeFailed | ScrapeTimeout):
            error.message = f"Failed to scrape {request.url}: {error.message}"
        raise
