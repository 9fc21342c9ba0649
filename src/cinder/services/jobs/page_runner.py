"""Leases the pages of a job, scrapes them concurrently, and isolates pages that crash a process."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
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
from cinder.store.ledger import EventEmitter, LeaseLost, Ledger, PageCommit


class CrashIsolation:
    """Tells the jobs of one process whether they may fetch pages beside each other now.

    Where a process dies, only a page that was alone in it is known to be the cause.
    """

    def __init__(self) -> None:
        self._beside = 0
        self._left = asyncio.Event()
        self._is_taken = False
        self._is_waited_for = False

    @property
    def is_wanted(self) -> bool:
        """Whether a job is alone, or waits to be: no other may claim further pages."""
        return self._is_taken

    @property
    def is_waited_for(self) -> bool:
        """Whether another job would have worked while one was alone, or waited to be."""
        return self._is_waited_for

    @contextmanager
    def beside_others(self) -> Iterator[bool]:
        """Have a job work beside others until the exit; False where one is alone."""
        if self._is_taken:
            self._is_waited_for = True
            yield False
            return
        self._beside += 1
        try:
            yield True
        finally:
            self._beside -= 1
            self._left.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Wait until no job works, and have none begin until the exit; False where one is alone.

        The wait is as long as the pages under way take.
        """
        if self._is_taken:
            self._is_waited_for = True
            yield False
            return
        self._is_taken, self._is_waited_for = True, False
        try:
            while self._beside:
                self._left.clear()
                await self._left.wait()
            yield True
        finally:
            self._is_taken = False


_MAX_WAIT_SECONDS = 5.0
_NO_ROOM_SECONDS = 1.0
# How long other jobs have to begin when one that has suspects has kept them waiting.
_OTHERS_FIRST_SECONDS = 2.0
# A place is not kept empty for longer than this while others are waited for.
_FILL_SECONDS = 0.25
_MAX_REASON_CHARS = 1_000

# No time to wait, but that what is left is to be worked on alone.
_SUSPECTS_LEFT = -1.0

_STALE = "work on a job stood still for longer than its leases last: its pages are left to others"

log = structlog.get_logger()

FindHandler: TypeAlias = Callable[[Job], Awaitable[JobHandler]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How much one process does at once, and for how long before it looks up."""

    concurrency: int = 8
    """Pages of one job at once."""
    host_concurrency: int = 4
    """Pages of one host at once, by all processes together."""
    lease_seconds: float = 30
    crash_tries: int = 3
    """How often a page that a process died with is fetched alone before it has failed."""
    slice_seconds: float = 10
    look_seconds: float = 1
    """How often a job is looked at for having been cancelled, or having had enough."""
    max_bytes: int = 10 * 1024**3
    """What the pages of one job may have together; it ends with the page that is beyond it."""


class PageRunner:
    """Looks after jobs, a slice of time each."""

    def __init__(
        self,
        ledger: Ledger,
        scraper: ScrapeService,
        throttle: HostThrottle,
        work_of: FindHandler,
        limits: RunLimits,
        *,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take what works, and what tells whether there is room to keep what is fetched."""
        self._ledger = ledger
        self._has_room = has_room
        self._scraper = scraper
        self._throttle = throttle
        self._work_of = work_of
        self._limits = limits
        self._isolation = CrashIsolation()

    async def run_slice(self, job_id: str) -> float | None:
        """Work on a job for a while; return in how many seconds to go on, None when it is over."""
        job = await self._ledger.find_job(job_id)
        if job is None or job.status.is_over or await self._has_enough(job):
            return None
        if not self._has_room():
            return _NO_ROOM_SECONDS  # sites are not asked for what nobody could keep
        work = await self._work_of(job)
        with self._isolation.beside_others() as may_work:
            again = await self._work_on(job, work) if may_work else _NO_ROOM_SECONDS
        return again if again != _SUSPECTS_LEFT else await self._work_on_suspects(job, work)

    async def _work_on_suspects(self, job: Job, work: JobHandler) -> float | None:
        """Work on pages that processes died with, one by one, while no job has others here."""
        async with self._isolation.alone() as is_alone:
            if not is_alone:
                return _NO_ROOM_SECONDS
            again = await self._work_on(job, work, is_alone=True)
            if again is not None and self._isolation.is_waited_for:
                return max(again, _OTHERS_FIRST_SECONDS)
            return again

    async def _work_on(self, job: Job, work: JobHandler, *, is_alone: bool = False) -> float | None:
        limits = replace(self._limits, concurrency=1) if is_alone else self._limits
        async with BackgroundTasks() as tasks:
            session = _Session(job, work, limits, tasks, is_alone=is_alone)
            try:
                return await self._run(session)
            finally:
                # Others need not wait for the leases of a worker that ends in good order.
                await self._ledger.release(await session.stop())

    async def _run(self, session: "_Session") -> float | None:
        lease = LeaseBatch()
        while True:
            # A page that is to be alone waits for those under way, and no others join them.
            if session.wants_more and (session.is_alone or not self._isolation.is_wanted):
                lease = await self._lease(session)
                for claim in lease.claims:
                    session.start(claim, self._scrape(claim, session))
                session.leased((lease.wait_ms or 0) / 1000)
            if lease.is_over and not session.is_busy:
                await session.work.end()
                return None
            if lease.has_suspects and not session.is_busy:
                return _SUSPECTS_LEFT
            if not session.is_busy:
                return min((lease.wait_ms or 0) / 1000, _MAX_WAIT_SECONDS)
            await session.wait()
            if session.is_stale:
                log.warning(_STALE, job=session.job.id)
                return 0
            lease = LeaseBatch()  # what was claimed, or found, since may have changed what it said
            if session.is_time_to_look and not await self._look_after(session):
                return None

    async def _lease(self, session: "_Session") -> LeaseBatch:
        """Claim pages; who is told to stop meanwhile gives back what he would not know of."""
        limits = session.lease_limits
        leasing = asyncio.ensure_future(  # noqa: TID251 - it is waited for, whatever happens
            self._ledger.lease(session.job.id, limits, emitter=session.emitter)
        )
        try:
            return await asyncio.shield(leasing)
        except asyncio.CancelledError:
            with suppress(CacheFailed):
                await self._ledger.release((await leasing).claims)
            raise

    async def _look_after(self, session: "_Session") -> bool:
        """Keep the leases, and tell whether the job still is to be worked on."""
        started = time.monotonic()
        if session.is_time_to_renew:
            await self._ledger.renew(session.claims, self._limits.lease_seconds)
            session.renewed(started)
        session.looked()
        job = await self._ledger.find_job(session.job.id)
        return job is not None and not job.status.is_over and not await self._has_enough(job)

    async def _has_enough(self, job: Job) -> bool:
        """End a job whose pages had as many bytes as they may; tell whether it was one."""
        if job.bytes_fetched < self._limits.max_bytes:
            return False
        said = f"the job has had {self._limits.max_bytes} bytes, as many as one may"
        said += " (setting jobs.max-bytes)"
        await self._ledger.finish_job(job.id, JobStatus.COMPLETED, said, emitter=JobEvents.of(job))
        return True

    async def _scrape(self, claim: PageLease, session: "_Session") -> None:
        """Scrape one page and write down what became of it."""
        work, page = session.work, _Page(claim)
        try:
            reason = await self._throttle.judge(claim)
            await session.seed(claim)
            if reason:
                result = PageResult(fate=PageStatus.DISALLOWED, reason=reason)
                await self._settle(claim, result, session)
                return
            await self._throttle.begin(claim)
            session.require_lease(claim)
            outcome = await self._scraper.scrape_for_job(
                work.request(claim),
                partial(self._page_commit, page, session),
                may_land=lambda url: self._refuse_landing(claim, work, url) is None,
            )
            if page.reading is not None:
                work.settled(page.reading)
            await self._throttle.note(claim, outcome)
        except RedirectRefused as refused:
            where = self._refuse_landing(claim, work, refused.target)
            await self._settle(claim, where or PageResult(fate=PageStatus.OUTSIDE), session)
        except RetryLater as again:
            await self._throttle.requeue(claim, again)
        except Overloaded:
            await self._ledger.release([claim])
        except LeaseLost as lost:
            log.info("a page's lease was lost", job=claim.job_id, url=claim.url, error=str(lost))
        except CacheFailed:
            raise  # nothing can be written down: the whole slice ends, and is tried again
        except CinderError as error:
            reason = error.message[:_MAX_REASON_CHARS]
            result = PageResult(fate=PageStatus.FAILED, reason=reason, verdict=error.verdict)
            await self._settle(claim, result, session)
        # A worker's loop: whatever it was, it came of this page, and the others go on.
        except Exception as error:
            log.exception("work on a page failed", job=claim.job_id, url=claim.url)
            reason = f"an error of cinder's, which its log explains ({type(error).__name__})"
            await self._settle(claim, PageResult(fate=PageStatus.FAILED, reason=reason), session)

    def _page_commit(
        self, page: "_Page", session: "_Session", outcome: ScrapeOutcome
    ) -> PageCommit:
        claim, work = page.claim, session.work
        self._throttle.check(claim, outcome)
        refused = self._refuse_landing(claim, work, outcome.document.final_url)
        reading = PageOutcome(result=refused) if refused else work.read(claim, outcome)
        page.reading = reading
        return self._ledger.page_commit(
            claim,
            lambda saved: replace(reading.result, uris=uris_of(saved)),
            reading.found,
            is_near=reading.is_near,
            emitter=session.emitter,
        )

    def _refuse_landing(self, claim: PageLease, work: JobHandler, url: str) -> PageResult | None:
        """Return the fate of a page that redirects to where the job may not go; else None."""
        if url == claim.url:
            return None
        if reason := work.refuse_landing(claim, url):
            return PageResult(fate=PageStatus.OUTSIDE, reason=f"it redirects to {url}: {reason}")
        if reason := self._throttle.refuse_landing(url):
            return PageResult(fate=PageStatus.DISALLOWED, reason=f"it redirects to {url}: {reason}")
        return None

    async def _settle(self, claim: PageLease, result: PageResult, session: "_Session") -> None:
        page_commit = self._ledger.page_commit(claim, lambda _: result, emitter=session.emitter)
        with suppress(LeaseLost):
            await self._ledger.settle(page_commit)


@dataclass(slots=True)
class _Page:
    """A claimed page, and what was read on it once it was there."""

    claim: PageLease
    reading: PageOutcome | None = None


@dataclass(slots=True)
class _Session:
    """What of one job is under way in this process."""

    job: Job
    work: JobHandler
    limits: RunLimits
    tasks: BackgroundTasks
    is_alone: bool = False
    """Whether it has suspects, one at a time, and no other job has pages in this process."""
    emitter: EventEmitter | None = None
    """Who tells the job's webhook."""
    _running: dict[asyncio.Task[None], PageLease] = field(default_factory=dict)
    _failure: Exception | None = None
    _until: float = 0
    _next_lease: float = 0
    _fill_at: float = 0
    _next_look: float = 0
    _renewed_at: float = 0
    _is_seeded: bool = False

    def __post_init__(self) -> None:
        self._is_seeded = self.job.is_seeded
        self._until = time.monotonic() + self.limits.slice_seconds
        self.emitter = JobEvents.of(self.job)
        self.renewed(time.monotonic())
        self.looked()

    @property
    def is_stale(self) -> bool:
        """Whether the leases may have run out, as after a process was frozen: others ask now."""
        return time.monotonic() - self._renewed_at >= self.limits.lease_seconds

    @property
    def is_time_to_renew(self) -> bool:
        """Whether so much of the leases' time is over that two more tries fit into the rest."""
        return time.monotonic() - self._renewed_at >= self.limits.lease_seconds / 3

    def require_lease(self, claim: PageLease) -> None:
        """Return if a page may still be asked for.

        Raises:
            LeaseLost: its lease may have run out.
        """
        if self.is_stale:
            raise LeaseLost(url=claim.url)

    @property
    def claims(self) -> list[PageLease]:
        """The pages under way."""
        return list(self._running.values())

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._running)

    @property
    def wants_more(self) -> bool:
        """Whether it is time to claim pages."""
        now = time.monotonic()
        return self._has_room and self._claim_at <= now < self._until

    @property
    def is_time_to_look(self) -> bool:
        """Whether the job is to be looked at again."""
        return time.monotonic() >= self._next_look

    @property
    def lease_limits(self) -> LeaseLimits:
        """What may be claimed now."""
        return LeaseLimits(
            count=self.limits.concurrency - len(self._running),
            seconds=self.limits.lease_seconds,
            host_concurrency=self.limits.host_concurrency,
            least_delay_ms=self.work.least_delay_ms,
            is_alone=self.is_alone,
            crash_tries=self.limits.crash_tries,
        )

    def start(self, claim: PageLease, work: Coroutine[None, None, None]) -> None:
        """Work on a page beside the others."""
        self._running[self.tasks.start(self._guarded(work))] = claim

    async def seed(self, claim: PageLease) -> None:
        """Look for the URLs that the job begins with, where the claim is its start's, and once.

        Whoever holds the start page does it: until that has its fate there is nothing else to
        claim, so that one worker seeds, and the site's limits hold for its sitemaps as well.
        """
        if claim.depth == 1 and not self._is_seeded:
            await self.work.seed()
            self._is_seeded = True

    def leased(self, pause_seconds: float) -> None:
        """Note that pages were claimed; claim none for some time, or until a page is done.

        Who found none and has some under way need not look as often as who has nothing to do.
        """
        now = time.monotonic()
        self._fill_at = now + _FILL_SECONDS
        is_waiting = pause_seconds > 0 and bool(self._running)
        self._next_lease = max(now + pause_seconds, self._fill_at if is_waiting else 0)

    def renewed(self, at: float) -> None:
        """Note when the leases were renewed."""
        self._renewed_at = at

    def looked(self) -> None:
        """Note that the job was looked at."""
        self._next_look = time.monotonic() + self.limits.look_seconds

    async def wait(self) -> None:
        """Return when something is done, or it is time to look or to claim.

        Raises:
            Exception: what a page's task could not handle.
        """
        now = time.monotonic()
        may_claim = self._has_room and self._claim_at < self._until
        wake = min(self._next_look, self._claim_at) if may_claim else self._next_look
        done, _ = await asyncio.wait(
            self._running, timeout=max(wake - now, 0.01), return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            self._running.pop(task, None)
            self._next_lease = 0
        if self._failure is not None:
            raise self._failure

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - whoever waits for the session raises it
            self._failure = error

    @property
    def _has_room(self) -> bool:
        return len(self._running) < self.limits.concurrency

    @property
    def _claim_at(self) -> float:
        """When to claim pages: not one by one, which would cost a claim for each."""
        is_half_done = len(self._running) <= self.limits.concurrency // 2
        return self._next_lease if is_half_done else max(self._next_lease, self._fill_at)

    async def stop(self) -> list[PageLease]:
        """End what is under way; return the pages that were."""
        claims, tasks = self.claims, [*self._running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._running.clear()
        return claims
