"""Single flight: callers who want the same thing at the same time share one piece of work."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, cast

from cinder.background import BackgroundTasks

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

    def is_flying(self, key: Hashable) -> bool:
        """Whether work of this key runs, which the next caller would join."""
        return key in self._flights

    async def run(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` gives, or what the same key's running work will give."""
        flight = self._flights.get(key)
        if flight is None:
            flight = _Flight(self._tasks.start(_fly(work)))
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


async def _fly(work: Callable[[], Awaitable[T]]) -> _Landed[T]:
    try:
        return _Landed(value=await work())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the waiters'; raised here it would end the group
        return _Landed(error=error)
