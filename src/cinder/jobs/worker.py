"""The job worker: runs jobs in slices, retries failures, and shares its slots between callers."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from cinder.errors import CacheFailed, CinderError, DatabaseAway, StorageFull
from cinder.fair_queue import slots_without_reserve
from cinder.jobs.base import JobEngine, RunSlice
from cinder.jobs.schedules import Sweeper
from cinder.models.job import Job, JobStatus
from cinder.models.request import OWNER
from cinder.store.database import scrub
from cinder.store.ledger import EventEmitter, Ledger

# How long what is known of the callers holds.
_OWNERS_FRESH_SECONDS = 0.5
_PUT_OFF_SECONDS = 4


def share_of_slots(slots: int, owners: Collection[str]) -> int:
    """Return how many slots the jobs of one caller may have, given who has jobs under way.

    As long as that is the owner alone, all of them.
    """
    most = slots if set(owners) <= {OWNER} else slots_without_reserve(slots)
    return max(1, min(most, slots // max(1, len(owners))))


class WorkerSlots:
    """Tells whether a job may have a slot now, or has to wait for others of its caller's."""

    def __init__(self, ledger: Ledger, slots: int) -> None:
        self._ledger = ledger
        self._slots = slots
        self._at_work: Counter[str] = Counter()
        # Whose the jobs are that were put off, which come back before they have their turn.
        self._put_off: dict[str, str] = {}
        self._share = slots
        self._known_until = 0.0

    async def is_put_off(self, job_id: str) -> bool:
        """Whether a job that had to wait has to go on waiting."""
        owner = self._put_off.get(job_id)
        return owner is not None and not await self._has_room_for(owner)

    @contextmanager
    def work_on(self, job_id: str, owner: str) -> Iterator[None]:
        """Have a job of somebody's at work until the exit."""
        self._put_off.pop(job_id, None)
        self._at_work[owner] += 1
        try:
            yield
        finally:
            self._at_work[owner] -= 1
            self._at_work += Counter()  # drops those who have none

    async def must_wait(self, job_id: str, owner: str) -> bool:
        """Whether the caller has his share of slots already; then the job is to come back."""
        if await self._has_room_for(owner):
            return False
        self._put_off[job_id] = owner
        return True

    def wait_seconds(self) -> float:
        """Return in how many seconds a job that has to wait is to come back."""
        # Those that were put off together are not to come back together.
        return _PUT_OFF_SECONDS * random.uniform(0.5, 1)  # noqa: S311 - no secret

    def forget(self, job_id: str) -> None:
        """Note that a job is over."""
        self._put_off.pop(job_id, None)

    async def _has_room_for(self, owner: str) -> bool:
        if time.monotonic() >= self._known_until:
            owners = await self._ledger.list_open_owners()
            self._share = share_of_slots(self._slots, owners)
            self._known_until = time.monotonic() + _OWNERS_FRESH_SECONDS
        return self._at_work[owner] < self._share


MAX_ERROR_LENGTH = 2000
MAX_DOUBLINGS = 30
# How soon a seat at a job comes back that another process might take meanwhile.
SECOND_SLOT_SECONDS = 1

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRetryPolicy:
    """How often, and how soon, work on a job is tried again."""

    max_failures: int = 8
    """In a row; then the job has failed."""
    first_wait_seconds: float = 1
    max_wait_seconds: float = 300
    slice_seconds: float = 600
    """How long one look may take at most; one that hangs must not hold its seat for good."""

    def wait_seconds(self, failures: int) -> float:
        """Return how long to wait after so many failures: about twice as long each time."""
        doublings = min(failures - 1, MAX_DOUBLINGS)
        wait = min(self.first_wait_seconds * (1 << doublings), self.max_wait_seconds)
        # Jobs that failed together are not to come back together.
        return wait * random.uniform(0.5, 1)  # noqa: S311 - no secret


class JobWorker:
    """Those who look after jobs in this process."""

    def __init__(
        self,
        ledger: Ledger,
        engine: JobEngine,
        run_slice: RunSlice,
        *,
        sweeper: Sweeper,
        patience: JobRetryPolicy | None = None,
        emitter_of: Callable[[Job], EventEmitter | None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._engine = engine
        self._run_slice = run_slice
        self._sweeper = sweeper
        self._retry_policy = patience or JobRetryPolicy()
        self._emitter_of = emitter_of
        self._shares = WorkerSlots(ledger, slots=1)
        # Those that were worked on here and are not over.
        self._begun: set[str] = set()
        self._at_work: set[str] = set()

    async def run(self, *, slots: int) -> None:
        """Look after jobs, `slots` at once, and sweep, until cancelled."""
        self._shares = WorkerSlots(self._ledger, slots)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._engine.run(self.run_job, slots=slots))
                group.create_task(self._sweeper.sweep_forever())
        finally:
            await self._leave()

    async def run_job(self, job_id: str) -> float | None:
        """Work on a job for a while, if it is not over; return when to look again.

        A job has one seat here: a second would take a slot from another job, and claim the pages
        that the first could have.
        """
        if job_id in self._at_work:
            return SECOND_SLOT_SECONDS
        self._at_work.add(job_id)
        try:
            return await self._look_after_alone(job_id)
        finally:
            self._at_work.discard(job_id)

    async def _look_after_alone(self, job_id: str) -> float | None:
        try:
            if await self._shares.is_put_off(job_id):
                return self._shares.wait_seconds()
            job = await self._ledger.find_job(job_id)
            if job is None or job.status.is_over:
                self._shares.forget(job_id)
                return None
            if await self._shares.must_wait(job_id, job.owner):
                return self._shares.wait_seconds()
            self._begun.add(job_id)
            with self._shares.work_on(job_id, job.owner):
                seconds = await self._look_after(job)
            if seconds is None:
                self._begun.discard(job_id)
            return seconds
        # What is left is the ledger's: the job stays as it is until that can be had again.
        except CacheFailed as exc:
            log.warning("a job cannot be looked after now", job=job_id, error=str(exc))
            return self._retry_policy.first_wait_seconds

    async def _leave(self) -> None:
        """Have whoever comes next go on at once."""
        try:
            if self._begun:
                await self._ledger.leave_jobs(self._begun)
        except CacheFailed as exc:
            log.warning("jobs go on only once their leases have run out", error=str(exc))

    async def _look_after(self, job: Job) -> float | None:
        limit = asyncio.timeout(self._retry_policy.slice_seconds)
        try:
            async with limit:
                seconds = await self._run_slice(job.id)
        except (DatabaseAway, StorageFull):
            raise  # no fault of the job's: it waits, however long that takes
        # A worker's outermost loop: whatever it was, the job is to be told of it.
        except Exception as exc:
            log.warning("work on a job failed", job=job.id, exc_info=exc)
            error = self._describe_hang() if limit.expired() else _describe(exc)
            return await self._note_failure(job, error)
        if job.attempts:
            await self._ledger.forget_failures(job.id)
        return seconds

    async def _note_failure(self, job: Job, error: str) -> float | None:
        wait = self._retry_policy.wait_seconds(job.attempts + 1)
        failures = await self._ledger.note_failure(job.id, error, round(wait * 1000))
        if failures == 0:  # it is over: cancelled, perhaps
            return None
        if failures < self._retry_policy.max_failures:
            return wait
        emitter = self._emitter_of(job)
        await self._ledger.finish_job(job.id, JobStatus.FAILED, error, emitter=emitter)
        log.error("a job has failed for good", job=job.id, failures=failures, error=error)
        return None

    def _describe_hang(self) -> str:
        seconds = self._retry_policy.slice_seconds
        return f"A look at the job took longer than {seconds:g} seconds and was broken off"


def _describe(exc: Exception) -> str:
    if isinstance(exc, CinderError):
        return scrub(str(exc))[:MAX_ERROR_LENGTH]
    # The job's caller reads this, and what a library says may name the owner's servers.
    return f"It failed unexpectedly ({type(exc).__name__}); the server's log has the details"
