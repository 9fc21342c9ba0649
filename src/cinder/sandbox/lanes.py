"""Lanes: the order in which sandbox jobs run, so that slow ones delay no others.

A job begins in the quick lane and moves to the slow one when it has run for long. No site takes all
places of the slow lane, nor, while one of its jobs is slow, all those of the quick lane. Callers
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
    """Where a job runs: beside ordinary pages, or beside those that take long."""

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
    """A job's place in a lane."""

    lane: Lane
    site: str
    who: Requester = OWNER_REQUESTER
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.who = replace(self.who, site=self.site)


def may_start(place: LaneSlot, running: Iterable[LaneSlot], limits: LaneLimits) -> bool:
    """Whether there is room for a job beside those that run."""
    lanes = [(other.lane, other.site == place.site) for other in running]
    taken = sum(lane is place.lane for lane, _ in lanes)
    own = lanes.count((place.lane, True))
    if place.lane is Lane.SLOW:
        return taken < limits.slow and own < _share(limits.slow)
    is_suspect = (Lane.SLOW, True) in lanes
    return taken < limits.quick and (not is_suspect or own < _share(limits.quick))


def may_wait(place: LaneSlot, waiting: Iterable[LaneSlot], limits: LaneLimits) -> bool:
    """Whether one more job may queue; the quick lane's queue is short by itself."""
    if place.lane is Lane.QUICK:
        return True
    sites = [other.site for other in waiting if other.lane is Lane.SLOW]
    return len(sites) < limits.slow_waiting and (
        sites.count(place.site) < -(-limits.slow_waiting // 2)
    )


def next_slot(
    waiting: Iterable[LaneSlot],
    running: Iterable[LaneSlot],
    limits: LaneLimits,
    shares: FairScheduler | None = None,
) -> LaneSlot | None:
    """Return whose turn it is of those with room: first by caller, then by site."""
    running = tuple(running)
    ready = [place for place in waiting if may_start(place, running, limits)]
    return (shares or FairScheduler()).choose(ready, running)


def _share(places: int) -> int:
    """Return how many of a lane's places one site may have."""
    return max(1, places - 1)


class Lanes:
    """The places of both lanes, given to jobs and taken back."""

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
        return sum(place.lane is lane for place in self._running)

    def count_waiting(self, lane: Lane) -> int:
        """Return how many jobs wait for a lane."""
        return sum(place.lane is lane for place in self._waiting)

    def recent_wait(self, lane: Lane) -> float:
        """Return how many seconds the last job to start in a lane had waited, while others wait."""
        return self._last_waits[lane] if self.count_waiting(lane) else 0.0

    @asynccontextmanager
    async def enter(
        self, lane: Lane, site: str, who: Requester = OWNER_REQUESTER
    ) -> AsyncIterator[LaneSlot]:
        """Wait for a place in a lane, and hold it until the exit.

        Raises:
            Overloaded: too many jobs wait for the slow lane already.
        """
        place = LaneSlot(lane, site, who)
        self._shares.note_asking(who.caller)
        if not self._may_wait(place):
            raise Overloaded(
                "Too many pages that take long to turn into content wait already "
                "(setting scrape.extract-slow-waiting); try again later."
            )
        self._waiting.append(place)
        self._is_empty.clear()
        self._admit()
        try:
            await place.turn.wait()
            yield place
        finally:
            self._leave(place)

    def move_to_slow(self, place: LaneSlot) -> bool:
        """Give a job a place in the slow lane for its own; False when it can have none."""
        others = [other for other in self._running if other is not place]
        if not may_start(LaneSlot(Lane.SLOW, place.site), others, self._limits):
            return False
        place.lane = Lane.SLOW
        self._admit()
        return True

    def _may_wait(self, place: LaneSlot) -> bool:
        callers = [other.who.caller for other in self._waiting if other.lane is Lane.SLOW]
        most = self._shares.most_for_one(self._limits.slow_waiting)
        has_share = place.lane is Lane.QUICK or callers.count(place.who.caller) < most
        return has_share and may_wait(place, self._waiting, self._limits)

    async def wait_until_empty(self) -> None:
        """Return once no job runs or waits."""
        await self._is_empty.wait()

    def _admit(self) -> None:
        while place := next_slot(self._waiting, self._running, self._limits, self._shares):
            self._waiting.remove(place)
            self._running.append(place)
            self._shares.note_turn(place.who)
            self._last_waits[place.lane] = time.monotonic() - place.since
            place.turn.set()

    def _leave(self, place: LaneSlot) -> None:
        for places in (self._running, self._waiting):
            with suppress(ValueError):
                places.remove(place)
        self._admit()
        self._shares.forget_absent((*self._running, *self._waiting))
        if not self._running and not self._waiting:
            self._is_empty.set()
