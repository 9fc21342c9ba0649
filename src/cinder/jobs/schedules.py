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

# Starts a job for an owner, of this kind and spec; the same key starts one only once.
StartJob: TypeAlias = Callable[[str, JobKind, dict[str, Json], str], Awaitable[object]]

# How long starting may take before another process tries.
START_SECONDS = 60
CRON_FIELDS = 5

# croniter's own: moments left to chance, which differ each time they are asked for.
_CHANCE = re.compile(r"\b[hr]\b", re.IGNORECASE)

log = structlog.get_logger()


class Schedules:
    """The schedules in a ledger. Times that passed while nobody was there are made up for once."""

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
        """Keep a schedule; one that this owner has under the name gives way.

        Raises:
            InvalidRequest: the times are not told as cron does, or the name is another's.
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
        """Return somebody's schedules, by name."""
        return await self._ledger.list_schedules(owner)

    async def remove(self, owner: str, name: str) -> bool:
        """Delete somebody's schedule; False if there is none."""
        return await self._ledger.remove_schedule(owner, name)

    async def start_due(self) -> int:
        """Start what is due and nobody else has begun to start; return how many jobs."""
        due = await self._ledger.list_due_schedules()
        return sum([await self._try_to_start(schedule) for schedule in due])

    async def _try_to_start(self, schedule: Schedule) -> bool:
        now = self._clock()
        after = next_time(schedule.cron, now)
        # Whoever moves it may start it. Should that process end first, it is due again.
        until = min(after, now + timedelta(seconds=START_SECONDS))
        if not await self._ledger.move_schedule(schedule, until):
            return False
        try:
            await self._start(schedule.owner, schedule.kind, schedule.spec, _key(schedule, now))
        except Exception:
            log.exception("a scheduled job could not be started", schedule=schedule.name)
            return False
        await self._ledger.move_schedule(replace(schedule, next_at=until), after)
        return True


def next_time(cron: str, after: datetime) -> datetime:
    """Return the first moment after another that a cron expression names.

    Raises:
        InvalidRequest: it is none, or names no moment.
    """
    return _parse_timestamp(cron, after, is_next=True)


def _key(schedule: Schedule, now: datetime) -> str:
    """Return what tells this start from others: the latest moment that was to be one."""
    moment = _parse_timestamp(schedule.cron, now + timedelta(seconds=1), is_next=False)
    return f"schedule {schedule.name} {moment:%Y-%m-%dT%H:%MZ}"


def _parse_timestamp(cron: str, origin: datetime, *, is_next: bool) -> datetime:
    # Imported where it is used: it takes as long as the rest of a start.
    from croniter import croniter  # noqa: PLC0415
    from croniter.croniter import CroniterError  # noqa: PLC0415

    try:
        # More fields would be seconds and years, and fewer are nicknames.
        if len(cron.split()) != CRON_FIELDS or _CHANCE.search(cron):
            raise CroniterError(f"it takes {CRON_FIELDS} fields of numbers and names")
        times = croniter(cron, origin)
        moment: datetime = times.get_next(datetime) if is_next else times.get_prev(datetime)
    except (CroniterError, ValueError) as exc:
        message = f"{cron!r} is not a cron expression: {exc}. Write one such as '0 6 * * 1'"
        raise InvalidRequest(problems=(FieldProblem("cron", message),)) from exc
    return moment


SWEEP_SECONDS = 3


class Sweeper:
    """Wakes jobs: whose worker died, whose message was lost, or whose server was restarted.

    Any number may sweep at once: a job that is woken twice is looked after no more for that.
    """

    def __init__(
        self,
        ledger: Ledger,
        engine: JobEngine,
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
