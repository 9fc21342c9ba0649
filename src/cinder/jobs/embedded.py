"""The job engine within one process: its messages are in memory, the ledger is durable."""

import asyncio
from contextlib import suppress
from typing import NamedTuple, Self

import structlog

from cinder.jobs.base import RunSlice

log = structlog.get_logger()


class WorkerSlot(NamedTuple):
    """A slot of a job, for one worker at a time."""

    job_id: str
    number: int


class EmbeddedEngine:
    """Wakes workers of this process. See `cinder.jobs.base.JobEngine`."""

    def __init__(self) -> None:
        self._due: dict[WorkerSlot, float] = {}
        self._taken: set[WorkerSlot] = set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._due.clear()

    async def wake(self, *job_ids: str, times: int = 1, after_seconds: float = 0) -> None:
        """Have up to `times` workers run each job, in `after_seconds` at the earliest."""
        slots = (WorkerSlot(job_id, number) for job_id in job_ids for number in range(times))
        self._schedule(*slots, after_seconds=after_seconds)

    async def run(self, run_slice: RunSlice, *, slots: int) -> None:
        """Run jobs as they are woken, `slots` at once, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(slots):
                group.create_task(self._work(run_slice))

    async def check(self) -> None:
        """Return: the process can always wake its own workers."""

    def knows(self, job_id: str) -> bool:
        """Whether a job runs here, or is going to."""
        return any(slot.job_id == job_id for slot in (*self._taken, *self._due))

    def list_at_work(self) -> list[str]:
        """Return the jobs that are running here."""
        return sorted({slot.job_id for slot in self._taken})

    async def _work(self, run_slice: RunSlice) -> None:
        while True:
            slot = await self._take()
            again_after: float | None = 0  # a cancelled worker leaves the job to others
            try:
                again_after = await run_slice(slot.job_id)
            except Exception:
                log.exception("running a job failed", job=slot.job_id)
                again_after = None
            finally:
                self._taken.discard(slot)
                if again_after is None:
                    self._due.pop(slot, None)
                else:
                    self._schedule(slot, after_seconds=again_after)

    async def _take(self) -> WorkerSlot:
        """Wait for the free slot that is due first, and take it."""
        while True:
            changed = self._changed
            free = (slot for slot in self._due if slot not in self._taken)
            slot = min(free, key=self._due.__getitem__, default=None)
            if slot is None:
                await changed.wait()
            elif (seconds := self._due[slot] - asyncio.get_running_loop().time()) <= 0:
                del self._due[slot]
                self._taken.add(slot)
                return slot
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await changed.wait()

    def _schedule(self, *slots: WorkerSlot, after_seconds: float) -> None:
        due = asyncio.get_running_loop().time() + after_seconds
        for slot in slots:
            self._due[slot] = min(due, self._due.get(slot, due))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
