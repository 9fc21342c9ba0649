"""Schedules: starting jobs by the clock, each time once, whoever is there to do it."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import structlog

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.model.schedule import Schedule
from cinder.store.ledger_base import Ledger

# Starts a job for an owner, of this kind and spec; the same key starts one only once.
Start: TypeAlias = Callable[[str, JobKind, dict[str, Json], str], Awaitable[object]]

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
        start: Start,
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
    return _moment(cron, after, is_next=True)


def _key(schedule: Schedule, now: datetime) -> str:
    """Return what tells this start from others: the latest moment that was to be one."""
    moment = _moment(schedule.cron, now + timedelta(seconds=1), is_next=False)
    return f"schedule {schedule.name} {moment:%Y-%m-%dT%H:%MZ}"


def _moment(cron: str, origin: datetime, *, is_next: bool) -> datetime:
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
