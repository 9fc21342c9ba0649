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

from cinder.errors import (
    Blocked,
    CinderError,
    ConnectionFailed,
    ScrapeFailed,
    ScrapeTimeout,
    TlsFailed,
)
from cinder.fetch.base import FetchTask
from cinder.fetch.escalation import AttemptLog, EngineEscalation, EngineStep
from cinder.metrics import Metrics
from cinder.models.caller import require_domain
from cinder.models.document import Document, FetchSource, Validators, VerdictKind
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.models.saved import PageChange, SavedDocument
from cinder.models.url import AssumedHttps, origin_of
from cinder.sandbox.sandbox import Sandboxes
from cinder.services.auth import TokenService
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
    AccessPolicy,
    BuildCommit,
    ScrapeOutcome,
    as_requested,
    authorize,
    is_failure,
)
from cinder.services.summary import Summarizer
from cinder.store.document_rows import EntryKey
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import PageCommit
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.verdict import NOT_MODIFIED

# How much the clocks of servers that share a database may differ.
_SKEW_MS = 5_000
_FAILURES = (VerdictKind.HTTP_ERROR, VerdictKind.BLOCKED)
_GOOD_ONE_STAYS = "This was not saved: a good copy of the page is kept, and "
_GOOD_ONE_BY_AGE = "a longer maxAge returns that one."
_GOOD_ONE_UNTRACKED = "a scrape without changeTracking, with a long maxAge, returns that one."


class PageExtraction(Protocol):
    """Extracts data from scraped pages by a prompt or a schema."""

    def check(self, request: ScrapeRequest) -> None:
        """Raise `InvalidRequest` if the schema of a request is not valid."""
        ...

    async def extract(self, document: Document, request: ScrapeRequest, until: float) -> Document:
        """Return the document with the extracted data, or with a warning that gives the reason."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentProcessors:
    """The parts that process fetched pages: parsing, extraction, summaries and admission."""

    sandboxes: Sandboxes
    extraction: PageExtraction
    summarizer: Summarizer | None = None
    """None if summaries consist of a page's own sentences."""
    admission: Admission = field(default_factory=Admission)
    """Limits the pages of waiting callers that are processed at once."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The time that documents are dated with."""


class ScrapeService:
    """Scrapes URLs, for all surfaces and all jobs."""

    def __init__(
        self,
        *,
        store: Store,
        callers: TokenService,
        escalation: EngineEscalation,
        processors: ContentProcessors,
        metrics: Metrics,
        defaults: ContentDefaults,
    ) -> None:
        self._store = store
        self._callers = callers
        self._escalation = escalation
        sandboxes = processors.sandboxes
        brands = BrandReader(escalation.engine(EngineStep.STATIC), sandboxes.pages)
        self._documents = DocumentBuilder(
            sandboxes, brands, defaults, processors.clock, stored_form=store.stored_form
        )
        self._changes = ChangeTracker(store, sandboxes.pages)
        self._metrics = metrics
        self._extraction = processors.extraction
        self._summarizer = processors.summarizer
        self._admission = processors.admission
        self._clock = processors.clock
        self._defaults = defaults
        self._keys = RequestKeyCache(defaults.describe())
        self._flights: SingleFlight[ScrapeOutcome] = SingleFlight()
        # The logs of running flights, kept alive by the tasks that run or await them.
        self._logs: WeakValueDictionary[Hashable, AttemptLog] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        await self._flights.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._flights.__aexit__()

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return a URL's content, fresh enough for the request, and save it if requested.

        Raises:
            CinderError: the page could not be scraped; with diagnostics of the attempts.
        """
        started = time.monotonic()
        outcome = await self._scrape_either_scheme(request)
        is_shown = request.result_handling is not ResultHandling.SAVE_ONLY or outcome.saved is None
        wants_summary = Format.SUMMARY in request.formats and is_shown
        if self._summarizer is None or not wants_summary or outcome.document.media is not None:
            return outcome
        seconds = request.timeout_ms / 1000 - (time.monotonic() - started)
        summary = await self._summarizer.summarize(outcome.document, seconds, request.caller)
        return replace(outcome, summary=summary)

    async def _scrape_either_scheme(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Scrape a URL; over http if it was written without a scheme and https is refused."""
        started, is_assumed = time.monotonic(), isinstance(request.url, AssumedHttps)
        request = replace(request, url=str(request.url)) if is_assumed else request
        try:
            return await self._scrape(request)
        except (ConnectionFailed, TlsFailed) as refused:
            # What is private is not sent unencrypted unless the caller writes http.
            if not is_assumed or request.is_private:
                raise
            spent_ms = round((time.monotonic() - started) * 1000)
            plain = replace(
                request,
                url=f"http{request.url.removeprefix('https')}",
                timeout_ms=max(1, request.timeout_ms - spent_ms),
            )
            try:
                outcome = await self._scrape(plain)
            except (ConnectionFailed, TlsFailed):
                raise refused from None
            notice = f"{origin_of(request.url)} makes no secure connection: http:// was used."
            return replace(outcome, notices=(*outcome.notices, notice))

    def check(self, request: ScrapeRequest) -> None:
        """Return if the options of a request can be served.

        Raises:
            InvalidRequest: they cannot.
        """
        self._escalation.check(request)
        self._extraction.check(request)

    async def _scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        self.check(request)
        access_policy = AccessPolicy(await self._callers.authorize(request))
        keys = self._keys.of(request)
        flight = (
            *(keys.cache, request.result_handling, request.timeout_ms, request.cache),
            *(Format.CHANGE_TRACKING in request.formats, access_policy.policy.domains),
        )
        # Only of a running flight: an error that is still referenced keeps its log alive.
        joined = self._logs.get(flight) if self._flights.is_in_flight(flight) else None
        log = joined or self._open_log(request)
        self._logs[flight] = log
        origin, started = "web", time.monotonic()
        try:
            async with _within_timeout(request, log):
                kept, is_fresh = await self._find(request, keys.cache)
                if kept is not None and is_fresh:
                    origin = "cache"
                    return authorize(self._answer_from_cache(kept, request), access_policy)
                if kept is None and (derived := await self._derive(request, keys)) is not None:
                    origin = "cache"
                    return authorize(derived, access_policy)
                work = partial(self._scrape_web, request, keys, kept, log, access_policy)
                found = await self._fly(flight, work, request)
                return authorize(as_requested(found, request), access_policy)
        finally:
            self._metrics.scrape_seconds.labels(origin).observe(time.monotonic() - started)

    async def scrape_for_job(
        self,
        request: ScrapeRequest,
        build_commit: BuildCommit,
        *,
        may_land: Callable[[str], bool] | None = None,
    ) -> ScrapeOutcome:
        """Scrape a page of a job, and write its status in the transaction that saves it.

        No running scrape is joined: only the holder of the lease may write the status, once.

        Raises:
            CinderError: the page could not be scraped, and nothing was written.
        """
        self._escalation.check(request)
        access_policy = AccessPolicy(await self._callers.authorize(request), may_land)
        keys = self._keys.of(request)
        log = self._open_log(request)
        async with _within_timeout(request, log):
            kept, is_fresh = await self._find(request, keys.cache)
            if kept is not None and is_fresh:
                outcome = authorize(self._answer_from_cache(kept, request), access_policy)
            else:
                found = await self._scrape_web(
                    request, keys, kept, log, access_policy, build_commit
                )
                outcome = as_requested(found, request)
        if not outcome.is_committed:
            await self._store.ledger.commit(build_commit(outcome), outcome.saved)
        return outcome

    def _open_log(self, request: ScrapeRequest) -> AttemptLog:
        pool = request.render.proxy_pool
        return AttemptLog(request.timeout_ms, self._metrics.count_attempt, proxy_pool=pool)

    async def _fly(
        self,
        flight: Hashable,
        work: Callable[[], Awaitable[ScrapeOutcome]],
        request: ScrapeRequest,
    ) -> ScrapeOutcome:
        """Run the work once admitted, or wait for the flight that runs it already."""

        async def run_admitted() -> ScrapeOutcome:
            task = _fetch_task(request, None)
            async with self._admission.admit(
                request.caller,
                patience_seconds=task.queue_seconds,
                is_rendered=self._escalation.starts_in_browser(task),
            ):
                return await work()

        while True:
            is_joining = self._flights.is_in_flight(flight)
            try:
                return await self._flights.run(flight, run_admitted)
            except ScrapeTimeout:
                # The caller that started the flight timed out; this one joined later.
                if not is_joining:
                    raise

    async def _find(self, request: ScrapeRequest, key: str) -> tuple[SavedDocument | None, bool]:
        """Return the saved document, if there is one, and whether it is fresh enough."""
        if request.cache.force_rescrape:
            self._metrics.cache.labels("bypass").inc()
            return None, False
        kept = await self._store.find(key)
        # Changes are tracked with a new fetch.
        is_fresh = (
            kept is not None
            and Format.CHANGE_TRACKING not in request.formats
            and self._is_fresh(kept.document, request)
        )
        result = "miss" if kept is None else "hit" if is_fresh else "stale"
        self._metrics.cache.labels(result).inc()
        return kept, is_fresh

    async def _derive(self, request: ScrapeRequest, keys: RequestKeys) -> ScrapeOutcome | None:
        """Answer from the page that was saved for other formats, if it is fresh enough."""
        if request.cache.force_rescrape or Format.CHANGE_TRACKING in request.formats:
            return None
        saved = await self._store.find_comparable(request.url, keys.content, request.caller)
        if saved is None or not self._is_fresh(saved.document, request):
            return None
        if saved.document.verdict.kind is not VerdictKind.OK:
            return None
        who = _fetch_task(request, None).claimant
        document = await self._documents.derive(saved.document, request, who)
        if document is None:
            return None
        self._metrics.cache.labels("derived").inc()
        if request.result_handling is not ResultHandling.RETURN_ONLY:
            document, kept = await self._save(document, request, keys, None)
            saved = kept or saved
        return self._answer_from_cache(replace(saved, document=document), request)

    def _is_fresh(self, document: Document, request: ScrapeRequest) -> bool:
        """Whether a saved document may answer a request."""
        # An incomplete page is fetched again. A negative age, beyond the skew, means that the
        # clock was set back.
        is_whole = not (document.is_cut or document.content.is_out_of_time)
        return is_whole and -_SKEW_MS <= self._age_ms(document) <= request.cache.max_age_ms

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
        build_commit: BuildCommit | None = None,
    ) -> ScrapeOutcome:
        with _describing_failure(request, log), access_policy.explaining_refusal():
            await self._callers.spend_page(request.caller, access_policy.policy)
            started = time.monotonic()
            # Rendered pages are not revalidated: their HTML may be unchanged while its scripts
            # load new content. Incomplete pages would stay so until the page changes.
            if stale is not None and (
                stale.document.source is not FetchSource.NATIVE
                or stale.document.verdict.kind is not VerdictKind.OK
                or not stale.document.validators
            ):
                stale = None
            is_for_job = build_commit is not None
            task = _fetch_task(request, stale, access_policy, is_for_job=is_for_job)
            page = await self._escalation.fetch(task, log)
            for _ in range(page.pages_taken - 1 if request.render.actions else 0):
                await self._callers.spend_page(request.caller, access_policy.policy)
            is_unchanged = page.status_code == NOT_MODIFIED
            if stale is not None and is_unchanged and page.final_url == stale.document.final_url:
                change = await self._track(stale.document, request, keys, access_policy)
                return await self._answer_revalidated(stale, request, log, change)
            # A browser's page can change its URL without a request.
            require_domain(access_policy.policy, page.final_url)
            document = await self._documents.make(page, request, started, task.claimant)
            if request.wants_data and not is_failure(document, request):
                until = started + request.timeout_ms / 1000
                document = await self._extraction.extract(document, request, until)
            change = await self._track(document, request, keys, access_policy)
            outcome = ScrapeOutcome(document=document, diagnostics=log.diagnostics, change=change)
            is_failed = outcome.is_removed or document.verdict.kind in _FAILURES
            if is_failed or request.result_handling is ResultHandling.RETURN_ONLY:
                return outcome
            page_commit = build_commit(outcome) if build_commit is not None else None
            document, saved = await self._save(document, request, keys, page_commit)
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
        self,
        stale: SavedDocument,
        request: ScrapeRequest,
        log: AttemptLog,
        change: PageChange | None,
    ) -> ScrapeOutcome:
        now = self._clock()
        current = replace(stale, document=replace(stale.document, scraped_at=now))
        if request.result_handling is not ResultHandling.RETURN_ONLY:
            expires_at = now + self._defaults.retention
            await self._store.mark_revalidated(stale, now, expires_at)
        outcome = self._answer_from_cache(current, request)
        return replace(outcome, diagnostics=log.diagnostics, change=change)

    async def _save(
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
            extract_query=request.extract or request.extract_schema,
            content_key=keys.content if is_comparable(document, request) else None,
        )
        if document.verdict.kind is VerdictKind.OK:
            return document, await self._store.save(document, entry, page_commit)
        saved = await self._store.save_unless_good(document, entry, page_commit)
        if saved is None:
            is_tracking = Format.CHANGE_TRACKING in request.formats
            advice = _GOOD_ONE_UNTRACKED if is_tracking else _GOOD_ONE_BY_AGE
            content = with_warnings(document.content, (_GOOD_ONE_STAYS + advice,))
            document = replace(document, content=content)
        return document, saved


def _fetch_task(
    request: ScrapeRequest,
    stale: SavedDocument | None,
    policy: AccessPolicy | None = None,
    *,
    is_for_job: bool = False,
) -> FetchTask:
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
        is_for_job=is_for_job,
        may_land=None if policy is None else policy.landing_check,
        may_connect=None if policy is None else policy.connection_check(request),
    )


@asynccontextmanager
async def _within_timeout(request: ScrapeRequest, log: AttemptLog) -> AsyncIterator[None]:
    """Bound the work by the request's timeout."""
    try:
        async with asyncio.timeout(request.timeout_ms / 1000):
            yield
    except TimeoutError:
        if log.page is not None and (sign := find_block_signs(PageEvidence(log.page))):
            raise Blocked(
                f"Failed to scrape {request.url}: The site blocked the request ({sign})",
                url=request.url,
                diagnostics=log.diagnostics,
                verdict=VerdictKind.BLOCKED,
                status_code=log.page.status_code,
            ) from None
        raise ScrapeTimeout(
            f"Failed to scrape {request.url}: Timed out after {request.timeout_ms}ms. "
            "Try again with a longer timeout.",
            url=request.url,
            diagnostics=log.diagnostics,
        ) from None


@contextmanager
def _describing_failure(request: ScrapeRequest, log: AttemptLog) -> Iterator[None]:
    """Add the URL and the diagnostics to every error."""
    try:
        yield
    except CinderError as error:
        error.url = error.url or request.url
        error.diagnostics = error.diagnostics or log.diagnostics
        if isinstance(error, ScrapeFailed | ScrapeTimeout):
            error.message = f"Failed to scrape {request.url}: {error.message}"
        raise
