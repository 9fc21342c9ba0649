"""Starts, reports on and cancels batches and crawls."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from cinder.background import run_in_thread
from cinder.crawl.scope import CrawlScope
from cinder.crawl.urls import FINGERPRINT_BYTES, CanonicalUrl, canonicalize_url
from cinder.errors import (
    BatchExpired,
    BatchNotFound,
    CrawlExpired,
    CrawlNotFound,
    FieldProblem,
    InvalidRequest,
    Overloaded,
    RateLimited,
)
from cinder.fetch.escalation import check_mode, check_proxy_pool
from cinder.models.document import Json
from cinder.models.job import (
    ERROR_STATUSES,
    Job,
    JobCounts,
    JobKind,
    JobStatus,
    LedgerPage,
    NewJob,
    NewPage,
    PageStatus,
)
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.models.url import AssumedHttps, origin_of, parse_requested_url
from cinder.models.webhook import WebhookTarget, write_target
from cinder.services.extraction.stages import read_schema_of_scrape
from cinder.services.jobs.handlers import new_page
from cinder.services.jobs.specs import CrawlSpec, batch_request, crawl_request
from cinder.services.scraping.cache_key import without_fragment
from cinder.services.webhooks import SPEC_KEY, JobEvents
from cinder.store.ledger import Ledger

NOTICE_KEY = "notice"
"""The key of a sentence for the caller in a job's specification."""

_FORMATS = "formats"
_ID_BYTES = 12
# Of URLs without a scheme; further ones are fetched over https.
_MAX_PROBED_ORIGINS = 50
_MAX_SHOWN_ORIGINS = 5
_SCHEME_CHARS = len("https://")
_NOT_FOUND = {JobKind.BATCH: BatchNotFound, JobKind.CRAWL: CrawlNotFound}
_EXPIRED = {JobKind.BATCH: BatchExpired, JobKind.CRAWL: CrawlExpired}


# Refuses a webhook that the caller may not use, or that cannot be reached.
CheckWebhook: TypeAlias = Callable[[WebhookTarget, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """How many jobs and pages are accepted, and how long jobs are kept."""

    retention: timedelta = timedelta(hours=24)
    max_open: int = 1_000
    """Open jobs; further ones are refused."""
    max_open_per_caller: int = 200
    """Open jobs of one caller."""
    max_batch_urls: int = 10_000
    max_pages: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStart:
    """A started batch, and the problems of its list of URLs."""

    job: Job
    duplicates: int = 0
    invalid: tuple[FieldProblem, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """The progress of a job."""

    job: Job
    counts: JobCounts

    @property
    def found(self) -> int:
        """The number of pages of the job: all URLs without those outside its scope."""
        counts = self.counts
        others = (PageStatus.OUTSIDE, PageStatus.TRAP, PageStatus.DUPLICATE)
        done = sum(number for fate, number in counts.fates.items() if fate not in others)
        return counts.queued + counts.leased + done

    @property
    def finished(self) -> int:
        """The number of pages that are done, including failures."""
        return self.fetched + self.errors

    @property
    def fetched(self) -> int:
        """The number of pages fetched."""
        return self.counts.fates.get(PageStatus.FETCHED, 0)

    @property
    def errors(self) -> int:
        """The number of pages that could not be fetched."""
        return sum(self.counts.fates.get(fate, 0) for fate in ERROR_STATUSES)

    @property
    def progress(self) -> float:
        """The percentage of the known pages that is done."""
        if self.job.status is JobStatus.COMPLETED:
            return 100.0
        total = min(self.found, self.job.max_pages + self.counts.fates.get(PageStatus.FAILED, 0))
        return min(100.0, round(100 * self.finished / total, 1)) if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkChecks:
    """What a job is checked against before it starts."""

    check_webhook: CheckWebhook | None = None
    refuses_https: Callable[[str | None, str], Awaitable[bool]] | None = None
    """Whether an origin makes no secure connection, as seen through a pool of proxies or none."""
    proxy_pools: Collection[str] = ()
    """The names of the pools that a job may use."""


class JobControl:
    """Starts, lists and cancels the jobs of callers."""

    def __init__(
        self,
        ledger: Ledger,
        wake: Callable[[str], Awaitable[None]],
        limits: JobLimits,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        network: NetworkChecks | None = None,
    ) -> None:
        self._ledger = ledger
        self._network = network or NetworkChecks()
        self._wake = wake
        self._limits = limits
        self._clock = clock

    async def start_crawl(
        self,
        spec: CrawlSpec,
        caller: str,
        idempotency_key: str | None = None,
        webhook: WebhookTarget | None = None,
    ) -> Job:
        """Start a crawl.

        Raises:
            InvalidRequest: a pattern or the pool of proxies is invalid, or the page limit is too
                high.
            Overloaded: too many jobs are open.
            RateLimited: too many jobs of the caller are open.
            Forbidden: the caller's token does not allow the webhook.
            EgressBlocked: the egress policy refuses the webhook's address.
        """
        check_proxy_pool(spec.proxy_pool, self._network.proxy_pools)
        await self._require_room(caller)
        await self._require_reachable(webhook, caller)
        start = _canonicalize_start(spec.url)
        # Credentials are not sent unencrypted unless the caller writes http. So the origin that
        # gets secret headers is always the one that the caller named. The start's own request is
        # asked, because its URL may hold a secret as well.
        is_private = crawl_request(spec, start.url, caller, timeout_ms=0).is_private
        unencrypted = [] if is_private else [spec.url]
        plain = await self._find_plain_origins(unencrypted, spec.proxy_pool)
        spec = replace(spec, url=_with_scheme(spec.url, plain))
        start = _canonicalize_start(spec.url)
        # This validates the patterns. The first call loads the public suffixes, which takes long.
        await asyncio.to_thread(CrawlScope, start, spec.scope)
        if spec.max_pages > self._limits.max_pages:
            message = f"At most {self._limits.max_pages} (setting jobs.max-pages)"
            raise InvalidRequest(problems=(FieldProblem("maxPages", message),))
        page_request = crawl_request(spec, start.url, caller, timeout_ms=0)
        check_mode(page_request)
        read_schema_of_scrape(page_request)
        formats = spec.scrape_options.formats if spec.scrape_options else ()
        data = _with_webhook(_with_formats(msgspec.to_builtins(spec), formats), webhook)
        data |= {NOTICE_KEY: _describe_plain(plain)} if plain else {}
        job = self._new_job(JobKind.CRAWL, data, caller, idempotency_key, spec.max_pages)
        return await self._start(job, [new_page(start)], is_seeded=False)

    async def start_batch(
        self,
        urls: Sequence[str],
        request: ScrapeRequest,
        idempotency_key: str | None = None,
        webhook: WebhookTarget | None = None,
    ) -> BatchStart:
        """Start a batch: scrape many URLs with the options of one request.

        Raises:
            InvalidRequest: no URL is valid, there are too many, or nothing would be saved.
            Unsupported: these options are not supported.
            Overloaded: too many jobs are open.
            RateLimited: too many jobs of the caller are open.
            Forbidden: the caller's token does not allow the webhook.
            EgressBlocked: the egress policy refuses the webhook's address.
        """
        self._check_batch(urls, request)
        check_mode(request)
        read_schema_of_scrape(request)
        check_proxy_pool(request.render.proxy_pool, self._network.proxy_pools)
        await self._require_room(request.caller)
        await self._require_reachable(webhook, request.caller)
        # Credentials are not sent unencrypted unless the caller writes http.
        unencrypted = (
            [] if request.is_private else [url for url in urls if "://" not in url[:_SCHEME_CHARS]]
        )
        pool = request.render.proxy_pool
        plain = await self._find_plain_origins(_parse_valid(unencrypted), pool)
        pages, invalid = await run_in_thread(sum(map(len, urls)), _read_urls, urls, plain)
        if len(invalid) == len(urls):
            raise InvalidRequest(problems=tuple(invalid[:20]))
        # It includes headers until the job ends.
        stored = msgspec.to_builtins(batch_request(request))
        spec = _with_webhook(_with_formats({"request": stored}, request.formats), webhook)
        job = self._new_job(JobKind.BATCH, spec, request.caller, idempotency_key, len(pages))
        started = await self._start(job, list(pages.values()), is_seeded=True)
        return BatchStart(
            job=started,
            duplicates=len(urls) - len(pages),
            invalid=tuple(invalid),
            notice=_describe_plain(plain) if plain else "",
        )

    async def find(self, job_id: str, kind: JobKind, caller: str) -> Job:
        """Return a job of the caller.

        Raises:
            CinderError: it does not exist or has expired; the code depends on the kind.
        """
        # Databases refuse some characters, so only possible ids are looked up.
        is_possible = job_id.startswith(kind) and job_id.isascii() and job_id.isprintable()
        job = await self._ledger.find_job(job_id) if is_possible else None
        if job is None or job.kind is not kind or job.owner != caller:
            raise _NOT_FOUND[kind](f"There is no {kind} {job_id[:100]!r}")
        if job.is_expired or job.expires_at <= self._clock():
            raise _EXPIRED[kind](
                f"The {kind} {job_id} has expired: its pages are no longer listed. "
                "Saved pages can still be read by their URIs."
            )
        return job

    async def report(self, job: Job) -> JobReport:
        """Return the progress of a job."""
        return JobReport(job=job, counts=await self._ledger.count_pages(job.id))

    async def list_pages(
        self, job: Job, fates: Collection[PageStatus] | None, *, offset: int, limit: int
    ) -> list[LedgerPage]:
        """Return the URLs of a job with these statuses, oldest first; None for all URLs."""
        return await self._ledger.list_pages(job.id, fates, offset=offset, limit=limit)

    async def list_jobs(
        self, caller: str, kind: JobKind | None = None, *, limit: int = 100
    ) -> list[Job]:
        """Return the caller's jobs that have not expired, newest first, of one kind or of all."""
        jobs = await self._ledger.list_jobs(caller, kind, limit=limit)
        now = self._clock()
        return [job for job in jobs if not job.is_expired and job.expires_at > now]

    async def take_up(self, job: Job) -> None:
        """Resume a job at once, instead of after the leases of its last worker expire."""
        if not job.status.is_over:
            await self._wake(job.id)

    async def cancel(self, job: Job) -> Job:
        """Cancel a job; one that has ended does not change."""
        emitter = JobEvents.of(job)
        await self._ledger.finish_job(job.id, JobStatus.CANCELLED, emitter=emitter)
        return await self._ledger.find_job(job.id) or job

    def _check_batch(self, urls: Sequence[str], request: ScrapeRequest) -> None:
        field, message = "urls", ""
        if not urls:
            message = "At least one URL is needed"
        elif len(urls) > self._limits.max_batch_urls:
            message = f"At most {self._limits.max_batch_urls} URLs (setting jobs.max-batch-urls)"
        elif request.result_handling is ResultHandling.RETURN_ONLY:
            field = "resultHandling"
            message = "A batch keeps what it scrapes: use saveOnly or saveAndReturn"
        if message:
            raise InvalidRequest(problems=(FieldProblem(field, message),))

    async def _require_room(self, caller: str) -> None:
        """Return if another job may be started."""
        if await self._ledger.count_open() >= self._limits.max_open:
            raise Overloaded(
                f"{self._limits.max_open} jobs are under way, as many as this server takes on "
                "(setting jobs.max-open). Wait until one is done, or cancel one."
            )
        if await self._ledger.count_open(caller) >= self._limits.max_open_per_caller:
            raise RateLimited(
                f"{self._limits.max_open_per_caller} jobs of yours are under way, as many as one "
                "caller may have (setting jobs.max-open-per-caller). Wait until one is done, or "
                "cancel one."
            )

    async def _require_reachable(self, webhook: WebhookTarget | None, caller: str) -> None:
        if webhook is not None and self._network.check_webhook is not None:
            await self._network.check_webhook(webhook, caller)

    async def _find_plain_origins(self, urls: Iterable[str], pool: str | None) -> frozenset[str]:
        """Return the origins of URLs without a scheme that make no secure connection."""
        assumed = dict.fromkeys(origin_of(url) for url in urls if isinstance(url, AssumedHttps))
        origins = list(assumed)[:_MAX_PROBED_ORIGINS]
        refuses_https = self._network.refuses_https
        if refuses_https is None:
            return frozenset()
        refused = await asyncio.gather(*(refuses_https(pool, origin) for origin in origins))
        return frozenset(origin for origin, is_so in zip(origins, refused, strict=True) if is_so)

    def _new_job(
        self, kind: JobKind, spec: dict[str, Json], caller: str, key: str | None, max_pages: int
    ) -> NewJob:
        return NewJob(
            id=f"{kind}-{secrets.token_hex(_ID_BYTES)}",
            kind=kind,
            owner=caller,
            spec=spec,
            expires_at=self._clock() + self._limits.retention,
            max_pages=max_pages,
            idempotency_key=key,
        )

    async def _start(self, job: NewJob, pages: Sequence[NewPage], *, is_seeded: bool) -> Job:
        started = await self._ledger.add_job(job, pages, is_seeded=is_seeded)
        if started.id != job.id and started.expires_at <= self._clock():
            raise _EXPIRED[job.kind](
                f"The idempotency key is that of {started.id}, which has expired. Use another key."
            )
        if not started.status.is_over:
            await self._wake(started.id)
        return started


def formats_of(job: Job) -> tuple[Format, ...]:
    """Return the formats that a job was asked for, also when it has ended."""
    return tuple(map(Format, str(job.spec.get(_FORMATS) or "").split()))


def _with_formats(spec: dict[str, Json], formats: Sequence[Format]) -> dict[str, Json]:
    # A plain value, since the nested ones are deleted when the job ends.
    return {**spec, _FORMATS: " ".join(formats)} if formats else spec


def _with_webhook(spec: dict[str, Json], webhook: WebhookTarget | None) -> dict[str, Json]:
    return spec if webhook is None else {**spec, SPEC_KEY: write_target(webhook)}


def _parse_valid(urls: Iterable[str]) -> Iterator[str]:
    for text in urls:
        with suppress(ValueError):
            yield parse_requested_url(text)


def _canonicalize_start(url: str) -> CanonicalUrl:
    start = canonicalize_url(url)
    if start is None:
        raise InvalidRequest(problems=(FieldProblem("url", "Not a web address"),))
    return start


def _with_scheme(url: str, plain_origins: Collection[str]) -> str:
    """Return a URL; over http if it has none of its own and its origin is a plain one."""
    is_plain = isinstance(url, AssumedHttps) and origin_of(url) in plain_origins
    return f"http{url.removeprefix('https')}" if is_plain else str(url)


def _describe_plain(origins: Collection[str]) -> str:
    listed = ", ".join(sorted(origins)[:_MAX_SHOWN_ORIGINS])
    more = len(origins) - _MAX_SHOWN_ORIGINS
    shown = f"{listed} and {more} more" if more > 0 else listed
    verb = "makes" if len(origins) == 1 else "make"
    return f"{shown} {verb} no secure connection: http:// is used."


def _read_urls(
    urls: Sequence[str], plain_origins: Collection[str]
) -> tuple[dict[bytes, NewPage], list[FieldProblem]]:
    """Return the pages of a batch, each once, and the problems of invalid URLs."""
    pages: dict[bytes, NewPage] = {}
    invalid: list[FieldProblem] = []
    for number, text in enumerate(urls):
        try:
            url = without_fragment(_with_scheme(parse_requested_url(text), plain_origins))
            page = NewPage(url=url, fingerprint=_fingerprint(url), host=origin_of(url))
        except ValueError as error:
            invalid.append(FieldProblem(f"urls[{number}]", str(error)))
            page = NewPage(
                url=text,
                fingerprint=_fingerprint(text),
                host="",
                fate=PageStatus.FAILED,
                reason=str(error),
            )
        pages.setdefault(page.fingerprint, page)
    return pages, invalid


def _fingerprint(url: str) -> bytes:
    encoded = url.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=FINGERPRINT_BYTES).digest()
