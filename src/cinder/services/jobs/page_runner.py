"""Leases the pages of a job, scrapes them concurrently, and isolates pages that crash a process."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

import structlog

from cinder.background import BackgroundTasks
from cinder.errors import CacheFailed, CinderError, Overloaded
from cinder.fetch.base import RedirectRefused
from cinder.models.job import (
    Job,
    JobStatus,
    LeaseBatch,
    LeaseLimits,
    PageLease,
    PageResult,
    PageStatus,
)
from cinder.services.jobs.handlers import JobHandler, PageOutcome, uris_of
from cinder.services.jobs.throttle import HostThrottle, RetryLater
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.scraping.service import ScrapeService
from cinder.services.webhooks import JobEvents
from cinder.store.ledger import Ledger
from cinder.store.ledger.page_commits import LeaseLost, PageCommit

_MAX_WAIT_SECONDS = 5.0
_NO_ROOM_SECONDS = 1.0
# How long other jobs have to start after a job with suspects has kept them waiting.
_OTHERS_FIRST_SECONDS = 2.0
# A free slot waits at most this long for others, so that several pages are leased at once.
_FILL_SECONDS = 0.25
_MAX_REASON_CHARS = 1_000

# Not a time to wait: only suspects are left, which are fetched alone.
_SUSPECTS_LEFT = -1.0

log = structlog.get_logger()

FindHandler: TypeAlias = Callable[[Job], Awaitable[JobHandler]]


class CrashIsolation:
    """Decides whether the jobs of one process may fetch pages at the same time.

    When a process dies, a page is known to be the cause only if it was the only one.
    """

    def __init__(self) -> None:
        self._running = 0
        self._left = asyncio.Event()
        self.is_wanted = False
        """Whether a job runs alone, or waits to: no other may lease further pages."""
        self.is_waited_for = False
        """Whether another job was refused while one ran alone, or waited to."""

    @contextmanager
    def beside_others(self) -> Iterator[bool]:
        """Run a job together with others until the exit; False where one runs alone."""
        if self.is_wanted:
            self.is_waited_for = True
            yield False
            return
        self._running += 1
        try:
            yield True
        finally:
            self._running -= 1
            self._left.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Wait until no job runs, and refuse others until the exit; False where one runs alone.

        The wait lasts until the running pages are done.
        """
        if self.is_wanted:
            self.is_waited_for = True
            yield False
            return
        self.is_wanted, self.is_waited_for = True, False
        try:
            while self._running:
                self._left.clear()
                await self._left.wait()
            yield True
        finally:
            self.is_wanted = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How many pages one process fetches at once, and how long a slice lasts."""

    concurrency: int = 8
    """Pages of one job at once."""
    host_concurrency: int = 4
    """Pages of one host at once, in all processes together."""
    lease_seconds: float = 30
    crash_tries: int = 3
    """How often a page that crashed a process is fetched alone before it fails."""
    slice_seconds: float = 10
    look_seconds: float = 1
    """How often a job is checked for cancellation and for its limits."""
    max_bytes: int = 10 * 1024**3
    """The total size of a job's pages; the job ends with the page that exceeds it."""


class PageRunner:
    """Runs jobs in slices: leases pages, scrapes them, and commits their outcomes."""

    def __init__(
        self,
        ledger: Ledger,
        scraper: ScrapeService,
        throttle: HostThrottle,
        find_handler: FindHandler,
        limits: RunLimits,
        *,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """Fetch pages only while `has_room` says that they can be stored."""
        self._ledger = ledger
        self._has_room = has_room
        self._scraper = scraper
        self._throttle = throttle
        self._find_handler = find_handler
        self._limits = limits
        self._isolation = CrashIsolation()

    async def run_slice(self, job_id: str) -> float | None:
        """Work on a job for a while; return the seconds to wait, or None when it has ended."""
        job = await self._ledger.find_job(job_id)
        if job is None or job.status.is_over or await self._has_enough(job):
            return None
        if not self._has_room():
            return _NO_ROOM_SECONDS
        handler = await self._find_handler(job)
        with self._isolation.beside_others() as may_run:
            again = await self._work_on(job, handler) if may_run else _NO_ROOM_SECONDS
        if again != _SUSPECTS_LEFT:
            return again
        # Pages that crashed a process are fetched one by one, while no other job runs here.
        async with self._isolation.alone() as is_alone:
            if not is_alone:
                return _NO_ROOM_SECONDS
            again = await self._work_on(job, handler, is_alone=True)
            if again is not None and self._isolation.is_waited_for:
                return max(again, _OTHERS_FIRST_SECONDS)
            return again

    async def _work_on(
        self, job: Job, handler: JobHandler, *, is_alone: bool = False
    ) -> float | None:
        limits = replace(self._limits, concurrency=1) if is_alone else self._limits
        async with BackgroundTasks() as tasks:
            session = _Session(job, handler, limits, tasks, is_alone=is_alone)
            try:
                return await self._run(session)
            finally:
                # Other workers need not wait for leases of a worker that stops normally.
                await self._ledger.release(await session.stop())

    async def _run(self, session: "_Session") -> float | None:
        batch = LeaseBatch()
        while True:
            # A page that must be alone waits for the running ones, and no others join them.
            if session.wants_more and (session.is_alone or not self._isolation.is_wanted):
                batch = await self._lease(session)
                for lease in batch.claims:
                    session.start(lease, self._process(lease, session))
                session.leased((batch.wait_ms or 0) / 1000)
            if batch.is_over and not session.running:
                await session.handler.end()
                return None
            if not session.running:
                wait_seconds = min((batch.wait_ms or 0) / 1000, _MAX_WAIT_SECONDS)
                return _SUSPECTS_LEFT if batch.has_suspects else wait_seconds
            await session.wait()
            if session.is_stale:
                log.warning(
                    "work on a job paused for longer than its leases last: others take its pages",
                    job=session.job.id,
                )
                return 0
            batch = LeaseBatch()  # pages leased or found since may have changed the state
            if time.monotonic() >= session.next_check and not await self._check_job(session):
                return None

    async def _lease(self, session: "_Session") -> LeaseBatch:
        """Lease pages; on cancellation, the pages of a lease under way are released."""
        leasing = asyncio.ensure_future(  # noqa: TID251 - it is awaited in every case
            self._ledger.lease(session.job.id, session.lease_limits, emitter=session.emitter)
        )
        try:
            return await asyncio.shield(leasing)
        except asyncio.CancelledError:
            with suppress(CacheFailed):
                await self._ledger.release((await leasing).claims)
            raise

    async def _check_job(self, session: "_Session") -> bool:
        """Renew the leases, and return whether the job is still to be worked on."""
        started = time.monotonic()
        # Two more tries fit into the rest of the leases' time.
        if started - session.renewed_at >= self._limits.lease_seconds / 3:
            await self._ledger.renew(list(session.running.values()), self._limits.lease_seconds)
            session.renewed_at = started
        session.next_check = time.monotonic() + self._limits.look_seconds
        job = await self._ledger.find_job(session.job.id)
        return job is not None and not job.status.is_over and not await self._has_enough(job)

    async def _has_enough(self, job: Job) -> bool:
        """End a job whose pages have reached the limit of bytes; return whether they have."""
        if job.bytes_fetched < self._limits.max_bytes:
            return False
        error = f"the job has fetched {self._limits.max_bytes} bytes, as many as one may"
        error += " (setting jobs.max-bytes)"
        await self._ledger.finish_job(job.id, JobStatus.COMPLETED, error, emitter=JobEvents.of(job))
        return True

    async def _process(self, lease: PageLease, session: "_Session") -> None:
        """Scrape one page, and record its outcome or its failure."""
        try:
            await self._scrape(lease, session)
        except RedirectRefused as refused:
            result = self._refuse_landing(lease, session.handler, refused.target)
            await self._commit(lease, result or PageResult(fate=PageStatus.OUTSIDE), session)
        except RetryLater as retry:
            await self._throttle.requeue(lease, retry)
        except Overloaded:
            await self._ledger.release([lease])
        except LeaseLost as lost:
            log.info("a page's lease was lost", job=lease.job_id, url=lease.url, error=str(lost))
        except CacheFailed:
            raise  # nothing can be recorded: the slice ends, and is tried again
        except CinderError as error:
            reason = error.message[:_MAX_REASON_CHARS]
            result = PageResult(
                fate=PageStatus.FAILED,
                reason=reason,
                verdict=error.verdict,
                status_code=error.status_code,
            )
            await self._commit(lease, result, session)
        # The outermost loop of a worker: the error concerns this page, and the others go on.
        except Exception as error:
            log.exception("work on a page failed", job=lease.job_id, url=lease.url)
            reason = f"an error of cinder's, which its log explains ({type(error).__name__})"
            await self._commit(lease, PageResult(fate=PageStatus.FAILED, reason=reason), session)

    async def _scrape(self, lease: PageLease, session: "_Session") -> None:
        """Scrape one page; its outcome is committed together with the saved page."""
        handler = session.handler
        request = handler.request(lease)
        reason = await self._throttle.judge(lease, request.render.proxy_pool)
        await session.seed(lease)
        if reason:
            result = PageResult(fate=PageStatus.DISALLOWED, reason=reason)
            await self._commit(lease, result, session)
            return
        await self._throttle.begin(lease)
        if session.is_stale:
            raise LeaseLost(url=lease.url)
        pages: list[PageOutcome] = []

        def build_commit(outcome: ScrapeOutcome) -> PageCommit:
            self._throttle.check(lease, outcome)
            refused = self._refuse_landing(lease, handler, outcome.document.final_url)
            page = PageOutcome(result=refused) if refused else handler.read(lease, outcome)
            pages.append(page)
            return self._ledger.page_commit(
                lease,
                lambda saved: replace(page.result, uris=uris_of(saved)),
                page.found,
                is_near=page.is_near,
                emitter=session.emitter,
            )

        outcome = await self._scraper.scrape_for_job(
            request,
            build_commit,
            may_land=lambda url: self._refuse_landing(lease, handler, url) is None,
        )
        if pages:
            handler.committed(pages[-1])
        await self._throttle.note(lease, outcome)

    def _refuse_landing(self, lease: PageLease, handler: JobHandler, url: str) -> PageResult | None:
        """Return the result of a page that redirects to where the job may not go; else None."""
        if url == lease.url:
            return None
        if reason := handler.refuse_landing(lease, url):
            return PageResult(fate=PageStatus.OUTSIDE, reason=f"it redirects to {url}: {reason}")
        if reason := self._throttle.refuse_landing(url):
            return PageResult(fate=PageStatus.DISALLOWED, reason=f"it redirects to {url}: {reason}")
        return None

    async def _commit(self, lease: PageLease, result: PageResult, session: "_Session") -> None:
        page_commit = self._ledger.page_commit(lease, lambda _: result, emitter=session.emitter)
        with suppress(LeaseLost):
            await self._ledger.commit(page_commit)


class _Session:
    """The running pages of one job in this process, and when to lease more."""

    def __init__(
        self,
        job: Job,
        handler: JobHandler,
        limits: RunLimits,
        tasks: BackgroundTasks,
        *,
        is_alone: bool,
    ) -> None:
        now = time.monotonic()
        self.job = job
        self.handler = handler
        self.is_alone = is_alone
        """Whether it fetches suspects, one at a time, while no other job runs in this process."""
        self.emitter = JobEvents.of(job)
        self.running: dict[asyncio.Task[None], PageLease] = {}
        self.renewed_at = now
        self.next_check = now + limits.look_seconds
        self._limits = limits
        self._tasks = tasks
        self._until = now + limits.slice_seconds
        self._next_lease = 0.0
        self._fill_at = 0.0
        self._is_seeded = job.is_seeded
        self._failure: Exception | None = None

    @property
    def is_stale(self) -> bool:
        """Whether the leases may have expired, as after a process was suspended."""
        return time.monotonic() - self.renewed_at >= self._limits.lease_seconds

    @property
    def wants_more(self) -> bool:
        """Whether it is time to lease pages."""
        return self._has_room and self._lease_at <= time.monotonic() < self._until

    @property
    def lease_limits(self) -> LeaseLimits:
        """How many pages may be leased now."""
        return LeaseLimits(
            count=self._limits.concurrency - len(self.running),
            seconds=self._limits.lease_seconds,
            host_concurrency=self._limits.host_concurrency,
            least_delay_ms=self.handler.least_delay_ms,
            is_alone=self.is_alone,
            crash_tries=self._limits.crash_tries,
        )

    def start(self, lease: PageLease, work: Coroutine[None, None, None]) -> None:
        """Process a page in the background; `wait` raises its error."""

        async def guard() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - raised by `wait`
                self._failure = error

        self.running[self._tasks.start(guard())] = lease

    async def seed(self, lease: PageLease) -> None:
        """Add the URLs that the job starts with, once, where the lease is of its start page.

        No other page can be leased until the start page is done, so a single worker seeds, and the
        host's limits apply to its sitemaps as well.
        """
        if lease.depth == 1 and not self._is_seeded:
            await self.handler.seed()
            self._is_seeded = True

    def leased(self, pause_seconds: float) -> None:
        """Note that pages were leased; lease none for some time, or until a page is done.

        A session that found no page leases less often while it has running ones.
        """
        now = time.monotonic()
        self._fill_at = now + _FILL_SECONDS
        is_waiting = pause_seconds > 0 and bool(self.running)
        self._next_lease = max(now + pause_seconds, self._fill_at if is_waiting else 0)

    async def wait(self) -> None:
        """Return when a page is done, or when it is time to check the job or to lease.

        Raises:
            Exception: the error of a page's task.
        """
        now = time.monotonic()
        may_lease = self._has_room and self._lease_at < self._until
        wake = min(self.next_check, self._lease_at) if may_lease else self.next_check
        done, _ = await asyncio.wait(
            self.running, timeout=max(wake - now, 0.01), return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            self.running.pop(task, None)
            self._next_lease = 0
        if self._failure is not None:
            raise self._failure

    @property
    def _has_room(self) -> bool:
        return len(self.running) < self._limits.concurrency

    @property
    def _lease_at(self) -> float:
        """When to lease pages: several at once, since each lease is a transaction."""
        is_half_done = len(self.running) <= self._limits.concurrency // 2
        return self._next_lease if is_half_done else max(self._next_lease, self._fill_at)

    async def stop(self) -> list[PageLease]:
        """Cancel the running pages; return their leases."""
        leases, tasks = list(self.running.values()), [*self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.running.clear()
        return leases
