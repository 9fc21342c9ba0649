"""Admission and single flight: how many scrapes run at once, and which callers share one.

Bursts are admitted. When all pages of one second had to wait for a parser process, the limit
drops, down to the number that keeps those processes busy. A few more pages queue; the others are
refused at once, since a queue that only grows delays everyone. Pages that start in a browser are
parsed later: the browsers' own queue limits them instead.

No caller gets all slots: with several callers, one with few pages is admitted before one with many.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar, cast

from cinder.background import BackgroundTasks
from cinder.errors import Overloaded, RateLimited
from cinder.fair_queue import FairScheduler
from cinder.models.request import OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    """How many pages may be processed at once, and how long they may wait."""

    most: int = 256
    most_per_caller: int | None = None
    """None for three quarters of them, once anyone but the owner has sent a request."""
    least: int = 4
    """So many are always admitted."""
    queued: int = 16
    """How many more may queue."""
    wait_seconds: float = 0.25
    """The limit drops when every page of an interval waits longer than this for a parser."""
    interval_seconds: float = 1
    """The length of an interval."""


@dataclass(slots=True, eq=False)
class _Waiter:
    caller: str
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class Admission:
    """Admits pages, queues them, or refuses them."""

    def __init__(
        self,
        limits: AdmissionLimits | None = None,
        *,
        recent_wait: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the limits, and a function that returns how long pages now wait for a parser."""
        self._limits = limits or AdmissionLimits()
        self._recent_wait = recent_wait
        self._clock = clock
        self._limit = self._limits.most
        self._shares = FairScheduler()
        self._under_way: Counter[str] = Counter()
        self._rendered = 0
        self._queue: list[_Waiter] = []
        self._shortest_wait = float("inf")
        self._begin_interval()

    @asynccontextmanager
    async def admit(
        self, caller: str = OWNER, *, patience_seconds: float = 0, is_rendered: bool = False
    ) -> AsyncIterator[None]:
        """Hold a slot for a caller's page inside the block; wait for one if all are taken.

        Args:
            caller: whose page it is.
            patience_seconds: how long it may wait.
            is_rendered: whether it starts in a browser.

        Raises:
            Overloaded: all slots are taken.
            RateLimited: the caller has as many pages as one caller may have.
        """
        self._measure()
        self._shares.note_asking(caller)
        most = self._limits.most_per_caller or self._shares.most_for_one(self._limits.most)
        if most <= self._under_way[caller] and most < self._limits.most:
            raise RateLimited(
                f"You have {most} pages in progress, the limit for one caller (setting "
                "scrape.max-in-flight-per-caller). Try again when one is done."
            )
        if not self._has_room(caller, is_rendered=is_rendered):
            await self._wait_for_turn(caller, 0 if is_rendered else patience_seconds)
        else:
            self._under_way[caller] += 1
        self._rendered += is_rendered
        try:
            yield
        finally:
            self._rendered -= is_rendered
            self._leave(caller)

    def _has_room(self, caller: str, *, is_rendered: bool = False) -> bool:
        """Whether a slot is free, or the caller has less than an equal share."""
        under_way, callers = self._under_way.total(), len({*self._under_way, caller})
        is_modest = callers > 1 and self._under_way[caller] < max(1, self._limit // callers)
        if is_rendered or is_modest:
            return under_way < self._limits.most
        return under_way - self._rendered < self._limit and under_way < self._limits.most

    async def _wait_for_turn(self, caller: str, seconds: float) -> None:
        """Wait until the caller gets a slot.

        Raises:
            Overloaded: the queue is full, or the wait takes too long.
        """
        self._has_refused = True
        if len(self._queue) >= self._limits.queued or not seconds:
            raise Overloaded(_FULL)
        waiter = _Waiter(caller)
        self._queue.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.turn.wait()
        except BaseException as error:
            if waiter.turn.is_set():
                self._leave(caller)
            else:
                self._queue.remove(waiter)
            if isinstance(error, TimeoutError):
                raise Overloaded(_FULL) from None
            raise

    def _leave(self, caller: str) -> None:
        self._under_way[caller] -= 1
        self._under_way += Counter()  # drops callers without pages
        self._measure()
        while ready := [waiter for waiter in self._queue if self._has_room(waiter.caller)]:
            waiter = min(ready, key=lambda ready_waiter: self._under_way[ready_waiter.caller])
            self._queue.remove(waiter)
            self._under_way[waiter.caller] += 1
            waiter.turn.set()

    def _measure(self) -> None:
        """Adjust the limit after each interval: halve it, add one, or double it."""
        self._shortest_wait = min(self._shortest_wait, self._recent_wait())
        if self._clock() - self._began < self._limits.interval_seconds:
            return
        least, most = min(self._limits.least, self._limits.most), self._limits.most
        if self._shortest_wait > self._limits.wait_seconds:
            parsed = self._under_way.total() - self._rendered
            self._limit = max(least, min(self._limit, parsed) // 2)
        elif self._has_refused:
            self._limit = min(most, self._limit + 1)
        else:
            self._limit = min(most, self._limit * 2)
        self._begin_interval()

    def _begin_interval(self) -> None:
        self._began = self._clock()
        self._shortest_wait = float("inf")
        self._has_refused = False


_FULL = (
    "The server has as many pages in progress as it can answer in time (settings "
    "scrape.max-in-flight and scrape.max-queued). Try again later."
)


T = TypeVar("T")


@dataclass(slots=True)
class _Landed(Generic[T]):
    value: T | None = None
    error: Exception | None = None


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[_Landed[T]]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Runs work once for all callers that wait for it; cancels it when the last of them leaves."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}
        self._tasks = BackgroundTasks()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._tasks.cancel_all()
        await self._tasks.__aexit__()

    def is_in_flight(self, key: Hashable) -> bool:
        """Whether work of this key runs, so that the next caller would join it."""
        return key in self._flights

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work`, or of the work that runs for the same key."""

        async def run_work() -> _Landed[T]:
            try:
                return _Landed(value=await work())
            except Exception as error:  # noqa: BLE001 - raised in the waiters; here it would end the group
                return _Landed(error=error)

        flight = self._flights.get(key)
        if flight is None:
            flight = _Flight(self._tasks.start(run_work()))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _: self._land(key, flight))
        flight.waiters += 1
        try:
            landed = await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                flight.task.cancel()
                self._land(key, flight)
        if landed.error is not None:
            raise landed.error
        return cast(T, landed.value)  # without an error there is a value

    def _land(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
