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
from cinder.store.ledger import Ledger
from cinder.store.ledger.outbox import EventEmitter

MAX_ERROR_LENGTH = 2000
MAX_DOUBLINGS = 30
# When a second slot of a job returns, which another process might take meanwhile.
SECOND_SLOT_SECONDS = 1
# How long the list of callers with open jobs is cached.
_OWNERS_FRESH_SECONDS = 0.5
_WAIT_SECONDS = 4

log = structlog.get_logger()


def share_of_slots(slots: int, owners: Collection[str]) -> int:
    """Return how many slots the jobs of one caller may have, by the callers with open jobs.

    The owner alone may have all of them.
    """
    most = slots if set(owners) <= {OWNER} else slots_without_reserve(slots)
    return max(1, min(most, slots // max(1, len(owners))))


class WorkerSlots:
    """Limits how many slots of this process the jobs of one caller hold.

    A job beyond its caller's share leaves its slot and returns later. It cannot wait in a
    `FairQueue`: it would hold the slot that it waits for.
    """

    def __init__(self, ledger: Ledger, slots: int) -> None:
        self._ledger = ledger
        self._slots = slots
        self._running: Counter[str] = Counter()
        # The owners of waiting jobs, which spare the database a query when the jobs return.
        self._waiting: dict[str, str] = {}
        self._share = slots
        self._fresh_until = 0.0

    async def wait_seconds(self, job_id: str, owner: str | None = None) -> float | None:
        """Return in how many seconds a job must return; None where it may have a slot.

        Without the owner, only a job that is already waiting is checked.
        """
        owner = owner or self._waiting.get(job_id)
        if owner is None:
            return None
        if time.monotonic() >= self._fresh_until:
            self._share = share_of_slots(self._slots, await self._ledger.list_open_owners())
            self._fresh_until = time.monotonic() + _OWNERS_FRESH_SECONDS
        if self._running[owner] < self._share:
            return None
        self._waiting[job_id] = owner
        # The jitter keeps jobs that wait together from returning together.
        return _WAIT_SECONDS * random.uniform(0.5, 1)  # noqa: S311 - not a secret

    @contextmanager
    def hold(self, job_id: str, owner: str) -> Iterator[None]:
        """Count a slot for a job of a caller until the exit."""
        self.forget(job_id)
        self._running[owner] += 1
        try:
            yield
        finally:
            self._running[owner] -= 1
            self._running += Counter()  # drops callers without a slot

    def forget(self, job_id: str) -> None:
        """Note that a job no longer waits."""
        self._waiting.pop(job_id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRetryPolicy:
    """How often, and how soon, a failed slice of a job is retried."""

    max_failures: int = 8
    """In a row; then the job has failed."""
    first_wait_seconds: float = 1
    max_wait_seconds: float = 300
    slice_seconds: float = 600
    """The timeout of one slice, so that one that hangs does not hold its slot forever."""

    def wait_seconds(self, failures: int) -> float:
        """Return the time to wait after a number of failures: it about doubles each time."""
        doublings = min(failures - 1, MAX_DOUBLINGS)
        wait = min(self.first_wait_seconds * (1 << doublings), self.max_wait_seconds)
        # The jitter keeps jobs that failed together from returning together.
        return wait * random.uniform(0.5, 1)  # noqa: S311 - not a secret


class JobWorker:
    """Runs the jobs of this process."""

    def __init__(
        self,
        ledger: Ledger,
        engine: JobEngine,
        run_slice: RunSlice,
        *,
        sweeper: Sweeper,
        retry_policy: JobRetryPolicy | None = None,
        emitter_of: Callable[[Job], EventEmitter | None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._engine = engine
        self._run_slice = run_slice
        self._sweeper = sweeper
        self._retry_policy = retry_policy or JobRetryPolicy()
        self._emitter_of = emitter_of
        self._slots = WorkerSlots(ledger, slots=1)
        # Open jobs that this process has worked on.
        self._begun: set[str] = set()
        self._running: set[str] = set()

    async def run(self, *, slots: int) -> None:
        """Run jobs, `slots` at once, and sweep, until cancelled."""
        self._slots = WorkerSlots(self._ledger, slots)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._engine.run(self.run_job, slots=slots))
                group.create_task(self._sweeper.sweep_forever())
        finally:
            try:
                if self._begun:
                    # Other processes continue them at once.
                    await self._ledger.leave_jobs(self._begun)
            except CacheFailed as exc:
                log.warning("jobs continue only after their leases expire", error=str(exc))

    async def run_job(self, job_id: str) -> float | None:
        """Work on a job for a while; return the seconds to wait, or None when it has ended.

        A job has one slot here: a second one would take a slot from another job, and lease the
        pages that the first could lease.
        """
        if job_id in self._running:
            return SECOND_SLOT_SECONDS
        self._running.add(job_id)
        try:
            return await self._run_alone(job_id)
        # Other errors are handled: the job stays as it is until the ledger can be reached again.
        except CacheFailed as exc:
            log.warning("a job cannot be run now", job=job_id, error=str(exc))
            return self._retry_policy.first_wait_seconds
        finally:
            self._running.discard(job_id)

    async def _run_alone(self, job_id: str) -> float | None:
        if (wait := await self._slots.wait_seconds(job_id)) is not None:
            return wait
        job = await self._ledger.find_job(job_id)
        if job is None or job.status.is_over:
            self._slots.forget(job_id)
            return None
        if (wait := await self._slots.wait_seconds(job_id, job.owner)) is not None:
            return wait
        self._begun.add(job_id)
        with self._slots.hold(job_id, job.owner):
            seconds = await self._try_slice(job)
        if seconds is None:
            self._begun.discard(job_id)
        return seconds

    async def _try_slice(self, job: Job) -> float | None:
        limit = asyncio.timeout(self._retry_policy.slice_seconds)
        try:
            async with limit:
                seconds = await self._run_slice(job.id)
        except (DatabaseAway, StorageFull):
            raise  # not the job's fault: it waits, however long that takes
        # The outermost loop of a worker: the job records the error.
        except Exception as exc:
            log.warning("work on a job failed", job=job.id, exc_info=exc)
            if limit.expired():
                timeout = self._retry_policy.slice_seconds
                error = f"Work on the job took longer than {timeout:g} seconds and was cancelled"
            elif isinstance(exc, CinderError):
                error = scrub(str(exc))[:MAX_ERROR_LENGTH]
            else:
                # The caller reads this, and a library's message may name the owner's servers.
                name = type(exc).__name__
                error = f"It failed unexpectedly ({name}); the server's log has the details"
            return await self._note_failure(job, error)
        if job.attempts:
            await self._ledger.forget_failures(job.id)
        return seconds

    async def _note_failure(self, job: Job, error: str) -> float | None:
        wait = self._retry_policy.wait_seconds(job.attempts + 1)
        failures = await self._ledger.note_failure(job.id, error, round(wait * 1000))
        if failures == 0:  # it has ended, perhaps by cancellation
            return None
        if failures < self._retry_policy.max_failures:
            return wait
        emitter = self._emitter_of(job)
        await self._ledger.finish_job(job.id, JobStatus.FAILED, error, emitter=emitter)
        log.error("a job has failed for good", job=job.id, failures=failures, error=error)
        return None
