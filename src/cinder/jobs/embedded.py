"""The job engine within one process: its messages are in memory, the ledger is durable."""

import asyncio
from contextlib import suppress
from typing import NamedTuple, Self

import structlog

from cinder.jobs.base import RunSlice

log = structlog.get_logger()


class WorkerSlot(NamedTuple):
    """One of the seats at a job, each for one worker."""

    job_id: str
    number: int


class EmbeddedEngine:
    """Wakes workers of this process. See `cinder.jobs.base.Engine`."""

    def __init__(self) -> None:
        self._due: dict[WorkerSlot, float] = {}
        self._taken: set[WorkerSlot] = set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._due.clear()

    async def wake(self, *job_ids: str, times: int = 1, after_seconds: float = 0) -> None:
        """Have up to `times` workers look after each job at once, as soon as `after_seconds`."""
        due = _now() + after_seconds
        for job_id in job_ids:
            for number in range(times):
                self._put(WorkerSlot(job_id, number), due)
        self._tell_workers()

    async def run(self, run_slice: RunSlice, *, slots: int) -> None:
        """Look after jobs as they are woken, `slots` at once, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(slots):
                group.create_task(self._work(run_slice))

    async def check(self) -> None:
        """Return: memory is always there."""

    def knows(self, job_id: str) -> bool:
        """Whether a job is looked after here, or is going to be."""
        return any(seat.job_id == job_id for seat in (*self._taken, *self._due))

    def list_at_work(self) -> list[str]:
        """Return the jobs that are looked after here at this moment."""
        return sorted({seat.job_id for seat in self._taken})

    async def _work(self, run_slice: RunSlice) -> None:
        while True:
            seat = await self._take()
            again_after: float | None = 0  # who is cancelled leaves the job to others
            try:
                again_after = await run_slice(seat.job_id)
            except Exception:
                log.exception("looking after a job failed", job=seat.job_id)
                again_after = None
            finally:
                self._leave(seat, again_after)

    async def _take(self) -> WorkerSlot:
        """Wait for the free seat that is due first, and take it."""
        while True:
            changed = self._changed
            free = (seat for seat in self._due if seat not in self._taken)
            seat = min(free, key=self._due.__getitem__, default=None)
            if seat is None:
                await changed.wait()
            elif (seconds := self._due[seat] - _now()) <= 0:
                del self._due[seat]
                self._taken.add(seat)
                return seat
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await changed.wait()

    def _leave(self, seat: WorkerSlot, again_after: float | None) -> None:
        self._taken.discard(seat)
        if again_after is None:
            self._due.pop(seat, None)
        else:
            self._put(seat, _now() + again_after)
            self._tell_workers()

    def _put(self, seat: WorkerSlot, due: float) -> None:
        self._due[seat] = min(due, self._due.get(seat, due))

    def _tell_workers(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _now() -> float:
    return asyncio.get_running_loop().time()
