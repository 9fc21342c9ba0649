"""Attendants: looking after jobs whatever happens, by whichever engine wakes them."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from cinder.errors import CacheFailed, CinderError, DatabaseAway, StorageFull
from cinder.jobs.base import Attend, Engine
from cinder.jobs.slot_shares import SlotShares
from cinder.jobs.sweeper import Sweeper
from cinder.model.job import Job, JobStatus
from cinder.store.dialect import scrub
from cinder.store.ledger_base import Ledger
from cinder.store.outbox_base import Teller

MAX_ERROR_LENGTH = 2000
MAX_DOUBLINGS = 30
# How soon a seat at a job comes back that another process might take meanwhile.
SECOND_SEAT_SECONDS = 1

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
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


class Attendants:
    """Those who look after jobs in this process."""

    def __init__(
        self,
        ledger: Ledger,
        engine: Engine,
        attend: Attend,
        *,
        sweeper: Sweeper,
        patience: Patience | None = None,
        teller_of: Callable[[Job], Teller | None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._engine = engine
        self._attend = attend
        self._sweeper = sweeper
        self._patience = patience or Patience()
        self._teller_of = teller_of
        self._shares = SlotShares(ledger, slots=1)
        # Those that were worked on here and are not over.
        self._begun: set[str] = set()
        self._at_work: set[str] = set()

    async def run(self, *, slots: int) -> None:
        """Look after jobs, `slots` at once, and sweep, until cancelled."""
        self._shares = SlotShares(self._ledger, slots)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._engine.run(self.look_after, slots=slots))
                group.create_task(self._sweeper.sweep_forever())
        finally:
            await self._leave()

    async def look_after(self, job_id: str) -> float | None:
        """Work on a job for a while, if it is not over; return when to look again.

        A job has one seat here: a second would take a slot from another job, and claim the pages
        that the first could have.
        """
        if job_id in self._at_work:
            return SECOND_SEAT_SECONDS
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
            return self._patience.first_wait_seconds

    async def _leave(self) -> None:
        """Have whoever comes next go on at once."""
        try:
            if self._begun:
                await self._ledger.leave_jobs(self._begun)
        except CacheFailed as exc:
            log.warning("jobs go on only once their leases have run out", error=str(exc))

    async def _look_after(self, job: Job) -> float | None:
        limit = asyncio.timeout(self._patience.slice_seconds)
        try:
            async with limit:
                seconds = await self._attend(job.id)
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
        wait = self._patience.wait_seconds(job.attempts + 1)
        failures = await self._ledger.note_failure(job.id, error, round(wait * 1000))
        if failures == 0:  # it is over: cancelled, perhaps
            return None
        if failures < self._patience.max_failures:
            return wait
        teller = self._teller_of(job)
        await self._ledger.finish_job(job.id, JobStatus.FAILED, error, teller=teller)
        log.error("a job has failed for good", job=job.id, failures=failures, error=error)
        return None

    def _describe_hang(self) -> str:
        seconds = self._patience.slice_seconds
        return f"A look at the job took longer than {seconds:g} seconds and was broken off"


def _describe(exc: Exception) -> str:
    if isinstance(exc, CinderError):
        return scrub(str(exc))[:MAX_ERROR_LENGTH]
    # The job's caller reads this, and what a library says may name the owner's servers.
    return f"It failed unexpectedly ({type(exc).__name__}); the server's log has the details"
