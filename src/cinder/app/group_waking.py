"""Waking the other workers of a server on SQLite, whose engine knows its own process alone."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cinder.background import BackgroundTasks
from cinder.jobs.embedded import EmbeddedEngine
from cinder.jobs.sweeper import Sweeper
from cinder.worker_group import WorkerGroup

Wake: TypeAlias = Callable[[str], Awaitable[None]]

_WAKE = "wake"
_REMIND = "remind"


class GroupWaking:
    """Has every worker look after a job, this one at once."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        sweeper: Sweeper,
        group: WorkerGroup,
        tasks: BackgroundTasks,
    ) -> None:
        self._engine = engine
        self._sweeper = sweeper
        self._group = group
        self._tasks = tasks
        group.handle(_WAKE, self._wake_here)
        group.handle(_REMIND, self._wake_unknown)

    async def wake(self, job_id: str) -> None:
        """Have all workers look after a job now."""
        await self._sweeper.wake(job_id)
        self._tasks.start(self._group.ask_others(_WAKE, job_id.encode()))

    async def remind_forever(self, seconds: float) -> None:
        """Tell the others again and again what is worked on here: one may be new, and take part."""
        while True:
            await asyncio.sleep(seconds)
            if at_work := self._engine.list_at_work():
                await self._group.ask_others(_REMIND, "\n".join(at_work).encode())

    async def _wake_here(self, job_id: bytes) -> bytes:
        await self._sweeper.wake(job_id.decode())
        return b""

    async def _wake_unknown(self, job_ids: bytes) -> bytes:
        for job_id in job_ids.decode().split("\n"):
            # A job that waits for a later moment is not to be looked after sooner.
            if not self._engine.knows(job_id):
                await self._sweeper.wake(job_id)
        return b""
