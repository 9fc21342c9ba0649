"""Admission and single flight: how many scrapes run at once, and which callers share one.

A burst is taken in. Where all pages of a second had to wait for a process to parse them, fewer are
let in, down to as many as those processes keep busy. A few more wait for their turn; what comes
beyond that is refused at once, since a queue that only grows helps no one. Pages that begin in a
browser are not parsed for a while: the browsers' own queue bounds them instead.

No caller holds all places: where there are several, one who has few is let in when those who have
many are not.
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
    """How many pages may be under way, and how long they may wait."""

    most: int = 256
    most_per_caller: int | None = None
    """None for all but a quarter, once anybody but the owner has asked."""
    least: int = 4
    """As many are let in always."""
    queued: int = 16
    """How many more may wait for their turn."""
    wait_seconds: float = 0.25
    """A page may wait so long for its turn to be parsed; longer ones are borne for a moment."""
    moment_seconds: float = 1


@dataclass(slots=True, eq=False)
class _Waiter:
    caller: str
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class Admission:
    """Lets pages in, has them wait, or refuses them."""

    def __init__(
        self,
        limits: AdmissionLimits | None = None,
        *,
        recent_wait: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the limits, and what tells how long pages wait to be parsed now."""
        self._limits = limits or AdmissionLimits()
        self._recent_wait = recent_wait
        self._clock = clock
        self._limit = self._limits.most
        self._shares = FairScheduler()
        self._under_way: Counter[str] = Counter()
        self._rendered = 0
        self._queue: list[_Waiter] = []
        self._shortest_wait = float("inf")
        self._begin_moment()

    @asynccontextmanager
    async def admit(
        self, caller: str = OWNER, *, patience_seconds: float = 0, is_rendered: bool = False
    ) -> AsyncIterator[None]:
        """Have a page of a caller under way until the exit, after a wait where there is no room.

        Args:
            caller: whose page it is.
            patience_seconds: how long it may wait for its turn.
            is_rendered: whether it begins in a browser.

        Raises:
            Overloaded: there are as many as there may be.
            RateLimited: the caller has as many as one may have.
        """
        self._look()
        self._shares.note_asking(caller)
        self._require_share(caller)
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

    def _require_share(self, caller: str) -> None:
        most = self._limits.most_per_caller or self._shares.most_for_one(self._limits.most)
        if most <= self._under_way[caller] and most < self._limits.most:
            raise RateLimited(
                f"{most} pages of yours are under way, as many as one caller may have (setting "
                "scrape.max-in-flight-per-caller). Try again when one is done."
            )

    def _has_room(self, caller: str, *, is_rendered: bool = False) -> bool:
        """Whether there is room, or the caller has less than an equal part."""
        under_way, callers = self._under_way.total(), len({*self._under_way, caller})
        is_modest = callers > 1 and self._under_way[caller] < max(1, self._limit // callers)
        if is_rendered or is_modest:
            return under_way < self._limits.most
        return under_way - self._rendered < self._limit and under_way < self._limits.most

    async def _wait_for_turn(self, caller: str, seconds: float) -> None:
        """Wait until a page of the caller counts as under way.

        Raises:
            Overloaded: too many wait already, or its turn does not come in time.
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
        self._under_way += Counter()  # drops those who have none
        self._look()
        while ready := [waiter for waiter in self._queue if self._has_room(waiter.caller)]:
            waiter = min(ready, key=lambda each: self._under_way[each.caller])
            self._queue.remove(waiter)
            self._under_way[waiter.caller] += 1
            waiter.turn.set()

    def _look(self) -> None:
        self._shortest_wait = min(self._shortest_wait, self._recent_wait())
        if self._clock() - self._began >= self._limits.moment_seconds:
            self._adjust()
            self._begin_moment()

    def _adjust(self) -> None:
        """Let fewer in where all had to wait, and more where not: by one while some are refused."""
        least, most = min(self._limits.least, self._limits.most), self._limits.most
        if self._shortest_wait > self._limits.wait_seconds:
            parsed = self._under_way.total() - self._rendered
            self._limit = max(least, min(self._limit, parsed) // 2)
        elif self._has_refused:
            self._limit = min(most, self._limit + 1)
        else:
            self._limit = min(most, self._limit * 2)

    def _begin_moment(self) -> None:
        self._began = self._clock()
        self._shortest_wait = float("inf")
        self._has_refused = False


_FULL = (
    "The server has as many pages under way as it can answer in good time (settings "
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
    """Runs work once for all callers that wait for it; ends it when the last of them has gone."""

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
        """Whether work of this key runs, which the next caller would join."""
        return key in self._flights

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` gives, or what the same key's running work will give."""
        flight = self._flights.get(key)
        if flight is None:
            flight = _Flight(self._tasks.start(_run_flight(work)))
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


async def _run_flight(work: Callable[[], Awaitable[T]]) -> _Landed[T]:
    try:
        return _Landed(value=await work())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the waiters'; raised here it would end the group
        return _Landed(error=error)
