"""Sweeping: finding the jobs that nobody looks after, and the schedules that are due."""

import asyncio
import random

import structlog

from cinder.errors import CacheFailed
from cinder.jobs.base import Engine
from cinder.jobs.schedules import Schedules
from cinder.store.ledger_base import Ledger

SWEEP_SECONDS = 3

log = structlog.get_logger()


class Sweeper:
    """Wakes jobs: whose worker died, whose message was lost, or whose server was restarted.

    Any number may sweep at once: a job that is woken twice is looked after no more for that.
    """

    def __init__(
        self,
        ledger: Ledger,
        engine: Engine,
        *,
        seats: int = 1,
        seconds: float = SWEEP_SECONDS,
        schedules: Schedules | None = None,
    ) -> None:
        """Take how many workers may look after a job at once, and how often to sweep."""
        self._ledger = ledger
        self._engine = engine
        self._seats = seats
        self._seconds = seconds
        self._schedules = schedules

    async def wake(self, job_id: str) -> None:
        """Have workers look after a job now; should that fail, a sweep will."""
        try:
            await self._engine.wake(job_id, times=self._seats)
        except CacheFailed as exc:
            log.warning("a job waits for the next sweep", job=job_id, error=str(exc))

    async def sweep(self) -> None:
        """Wake the jobs that nobody looks after, and start what is due."""
        unattended = await self._ledger.list_unattended()
        await self._engine.wake(*unattended, times=self._seats)
        if self._schedules is not None:
            await self._schedules.start_due()

    async def sweep_forever(self) -> None:
        """Sweep at once and then again and again, until cancelled."""
        while True:
            try:
                await self.sweep()
            # A worker's outermost loop: whatever it was, the next round may go better.
            except Exception as exc:  # noqa: BLE001
                log.warning("sweeping for jobs failed", error=str(exc) or type(exc).__name__)
            # Not in step with the other processes.
            await asyncio.sleep(self._seconds * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
