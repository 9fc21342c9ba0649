"""Starts scheduled jobs when they are due, and sweeps for jobs that no worker runs."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import structlog

from cinder.errors import CacheFailed, FieldProblem, InvalidRequest
from cinder.jobs.base import JobEngine
from cinder.models.document import Json
from cinder.models.job import JobKind, Schedule
from cinder.store.ledger import Ledger

# Starts a job for an owner, of this kind and spec; the same key starts only one.
StartJob: TypeAlias = Callable[[str, JobKind, dict[str, Json], str], Awaitable[object]]

# How long starting a job may take before another process tries.
START_SECONDS = 60
CRON_FIELDS = 5

# Extensions of croniter: random times, which differ on every call.
_RANDOM = re.compile(r"\b[hr]\b", re.IGNORECASE)

log = structlog.get_logger()


class Schedules:
    """The schedules in a ledger. Several missed times start one job."""

    def __init__(
        self,
        ledger: Ledger,
        start: StartJob,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._ledger = ledger
        self._start = start
        self._clock = clock

    async def add(
        self, owner: str, name: str, cron: str, kind: JobKind, spec: dict[str, Json]
    ) -> Schedule:
        """Store a schedule; it replaces the owner's schedule of the same name.

        Raises:
            InvalidRequest: the cron expression is invalid, or another owner uses the name.
        """
        schedule = Schedule(
            name=name,
            owner=owner,
            kind=kind,
            cron=cron,
            spec=spec,
            next_at=next_time(cron, self._clock()),
        )
        if not await self._ledger.add_schedule(schedule):
            problem = FieldProblem("name", f"the name {name!r} is taken; choose another")
            raise InvalidRequest(problems=(problem,))
        return schedule

    async def list(self, owner: str) -> list[Schedule]:
        """Return an owner's schedules, by name."""
        return await self._ledger.list_schedules(owner)

    async def remove(self, owner: str, name: str) -> bool:
        """Delete an owner's schedule; False if there is none."""
        return await self._ledger.remove_schedule(owner, name)

    async def start_due(self) -> int:
        """Start the jobs that are due and that no other process starts; return their number."""
        started = 0
        for schedule in await self._ledger.list_due_schedules():
            now = self._clock()
            after = next_time(schedule.cron, now)
            # The process that moves it may start it. If that process dies, it is due again.
            until = min(after, now + timedelta(seconds=START_SECONDS))
            if not await self._ledger.move_schedule(schedule, until):
                continue
            try:
                # The latest time that was due identifies this start.
                latest = _find_time(schedule.cron, now + timedelta(seconds=1), is_next=False)
                key = f"schedule {schedule.name} {latest:%Y-%m-%dT%H:%MZ}"
                await self._start(schedule.owner, schedule.kind, schedule.spec, key)
            except Exception:
                log.exception("a scheduled job could not be started", schedule=schedule.name)
                continue
            await self._ledger.move_schedule(replace(schedule, next_at=until), after)
            started += 1
        return started


def next_time(cron: str, after: datetime) -> datetime:
    """Return the first time of a cron expression after another time.

    Raises:
        InvalidRequest: the expression is invalid, or never matches.
    """
    return _find_time(cron, after, is_next=True)


def _find_time(cron: str, origin: datetime, *, is_next: bool) -> datetime:
    # Imported here since it takes as long as all other imports of a start.
    from croniter import croniter  # noqa: PLC0415
    from croniter.croniter import CroniterError  # noqa: PLC0415

    try:
        # croniter also accepts seconds, years and aliases such as @daily.
        if len(cron.split()) != CRON_FIELDS or _RANDOM.search(cron):
            raise CroniterError(f"it takes {CRON_FIELDS} fields of numbers and names")
        times = croniter(cron, origin)
        time: datetime = times.get_next(datetime) if is_next else times.get_prev(datetime)
    except (CroniterError, ValueError) as exc:
        message = f"{cron!r} is not a cron expression: {exc}. Write one such as '0 6 * * 1'"
        raise InvalidRequest(problems=(FieldProblem("cron", message),)) from exc
    return time


SWEEP_SECONDS = 3


class Sweeper:
    """Wakes jobs whose worker died, whose message was lost, or whose server was restarted.

    Any number of processes may sweep at once: waking a job twice has no further effect.
    """

    def __init__(
        self,
        ledger: Ledger,
        engine: JobEngine,
        *,
        workers: int = 1,
        seconds: float = SWEEP_SECONDS,
        schedules: Schedules | None = None,
    ) -> None:
        """Wake up to `workers` workers for a job, and sweep every `seconds`."""
        self._ledger = ledger
        self._engine = engine
        self._workers = workers
        self._seconds = seconds
        self._schedules = schedules

    async def wake(self, job_id: str) -> None:
        """Wake workers for a job; if that fails, the next sweep does."""
        try:
            await self._engine.wake(job_id, times=self._workers)
        except CacheFailed as exc:
            log.warning("a job waits for the next sweep", job=job_id, error=str(exc))

    async def sweep(self) -> None:
        """Wake the jobs that no worker runs, and start scheduled jobs that are due."""
        idle = await self._ledger.list_unattended()
        await self._engine.wake(*idle, times=self._workers)
        if self._schedules is not None:
            await self._schedules.start_due()

    async def sweep_forever(self) -> None:
        """Sweep at once and then regularly, until cancelled."""
        while True:
            try:
                await self.sweep()
            # The outermost loop of a worker: the next sweep may succeed.
            except Exception as exc:  # noqa: BLE001
                log.warning("sweeping for jobs failed", error=str(exc) or type(exc).__name__)
            # The jitter spreads the sweeps of several processes.
            await asyncio.sleep(self._seconds * random.uniform(0.8, 1.2))  # noqa: S311 - not a secret
