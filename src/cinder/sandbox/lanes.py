"""Lanes: the order in which sandbox jobs run, so that slow ones delay no others.

A job begins in the quick lane and moves to the slow one when it has run for long. No site takes all
slots of the slow lane, nor, while one of its jobs is slow, all slots of the quick lane. Callers
take turns.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cinder.errors import Overloaded
from cinder.fair_queue import OWNER_REQUESTER, FairScheduler, Requester


class Lane(StrEnum):
    """Where a job runs: with ordinary pages, or with those that take long."""

    QUICK = "quick"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimits:
    """How many jobs each lane takes at once, and how many may wait for the slow one."""

    quick: int
    slow: int
    slow_waiting: int


@dataclass(slots=True, eq=False)
class LaneSlot:
    """A job's slot in a lane."""

    lane: Lane
    site: str
    who: Requester = OWNER_REQUESTER
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.who.site != self.site:
            self.who = replace(self.who, site=self.site)


def may_start(slot: LaneSlot, running: Iterable[LaneSlot], limits: LaneLimits) -> bool:
    """Whether there is room for a job in addition to the running ones."""
    lanes = [(other.lane, other.site == slot.site) for other in running]
    taken = sum(lane is slot.lane for lane, _ in lanes)
    own = lanes.count((slot.lane, True))
    if slot.lane is Lane.SLOW:
        return taken < limits.slow and own < _share(limits.slow)
    is_suspect = (Lane.SLOW, True) in lanes
    return taken < limits.quick and (not is_suspect or own < _share(limits.quick))


def may_wait(slot: LaneSlot, waiting: Iterable[LaneSlot], limits: LaneLimits) -> bool:
    """Whether one more job may queue; the quick lane's queue needs no limit."""
    if slot.lane is Lane.QUICK:
        return True
    sites = [other.site for other in waiting if other.lane is Lane.SLOW]
    return len(sites) < limits.slow_waiting and (
        sites.count(slot.site) < -(-limits.slow_waiting // 2)
    )


def next_slot(
    waiting: Iterable[LaneSlot],
    running: Iterable[LaneSlot],
    limits: LaneLimits,
    shares: FairScheduler | None = None,
) -> LaneSlot | None:
    """Return the next job of those with room: first by caller, then by site."""
    waiting = tuple(waiting)
    if not waiting:
        return None
    running = tuple(running)
    lanes = [slot.lane for slot in running]
    # Mostly the lane is full, and no other condition matters.
    has_room = {
        Lane.QUICK: lanes.count(Lane.QUICK) < limits.quick,
        Lane.SLOW: lanes.count(Lane.SLOW) < limits.slow,
    }
    ready = [slot for slot in waiting if has_room[slot.lane] and may_start(slot, running, limits)]
    return (shares or FairScheduler()).choose(ready, running)


def _share(slots: int) -> int:
    """Return how many of a lane's slots one site may have."""
    return max(1, slots - 1)


class Lanes:
    """The slots of both lanes."""

    def __init__(self, limits: LaneLimits) -> None:
        self._limits = limits
        self._shares = FairScheduler()
        self._running: list[LaneSlot] = []
        self._waiting: list[LaneSlot] = []
        self._last_waits = dict.fromkeys(Lane, 0.0)
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def count_running(self, lane: Lane) -> int:
        """Return how many jobs run in a lane."""
        return sum(slot.lane is lane for slot in self._running)

    def count_waiting(self, lane: Lane) -> int:
        """Return how many jobs wait for a lane."""
        return sum(slot.lane is lane for slot in self._waiting)

    def recent_wait(self, lane: Lane) -> float:
        """Return for how many seconds the last job to start had waited; 0 if none waits now."""
        return self._last_waits[lane] if self.count_waiting(lane) else 0.0

    @asynccontextmanager
    async def enter(
        self, lane: Lane, site: str, who: Requester = OWNER_REQUESTER
    ) -> AsyncIterator[LaneSlot]:
        """Wait for a slot in a lane, and hold it until the exit.

        Raises:
            Overloaded: too many jobs wait for the slow lane already.
        """
        slot = LaneSlot(lane, site, who)
        self._shares.note_asking(who.caller)
        callers = [other.who.caller for other in self._waiting if other.lane is Lane.SLOW]
        most = self._shares.most_for_one(self._limits.slow_waiting)
        has_share = lane is Lane.QUICK or callers.count(who.caller) < most
        if not has_share or not may_wait(slot, self._waiting, self._limits):
            raise Overloaded(
                "Too many pages that take long to turn into content wait already "
                "(setting scrape.extract-slow-waiting); try again later."
            )
        self._waiting.append(slot)
        self._is_empty.clear()
        self._admit()
        try:
            await slot.turn.wait()
            yield slot
        finally:
            for slots in (self._running, self._waiting):
                with suppress(ValueError):
                    slots.remove(slot)
            self._admit()
            self._shares.forget_absent((*self._running, *self._waiting))
            if not self._running and not self._waiting:
                self._is_empty.set()

    def move_to_slow(self, slot: LaneSlot) -> bool:
        """Exchange a job's slot for one in the slow lane; False when there is none."""
        others = [other for other in self._running if other is not slot]
        if not may_start(LaneSlot(Lane.SLOW, slot.site), others, self._limits):
            return False
        slot.lane = Lane.SLOW
        self._admit()
        return True

    async def wait_until_empty(self) -> None:
        """Return once no job runs or waits."""
        await self._is_empty.wait()

    def _admit(self) -> None:
        while slot := next_slot(self._waiting, self._running, self._limits, self._shares):
            self._waiting.remove(slot)
            self._running.append(slot)
            self._shares.note_turn(slot.who)
            self._last_waits[slot.lane] = time.monotonic() - slot.since
            slot.turn.set()
