import asyncio

import pytest

from cinder.errors import ScrapeFailed
from cinder.services.scraping.single_flight import SingleFlight


async def test_callers_of_one_key_share_one_run() -> None:
    runs = 0
    go = asyncio.Event()

    async def work() -> int:
        nonlocal runs
        runs += 1
        await go.wait()
        return runs

    async with SingleFlight[int]() as flights, asyncio.TaskGroup() as callers:
        waiting = [callers.create_task(flights.run("key", work)) for _ in range(10)]
        callers.create_task(_set_when_idle(go))
    assert [task.result() for task in waiting] == [1] * 10


async def test_a_failure_reaches_every_caller_and_is_not_kept() -> None:
    async def fail() -> int:
        raise ScrapeFailed("no")

    async def succeed() -> int:
        return 7

    async with SingleFlight[int]() as flights:
        for _ in range(2):
            with pytest.raises(ScrapeFailed):
                await flights.run("key", fail)
        assert await flights.run("key", succeed) == 7


async def test_work_goes_on_while_one_caller_is_left_and_ends_with_the_last() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with SingleFlight[None]() as flights, asyncio.TaskGroup() as callers:
        first = callers.create_task(flights.run("key", work))
        second = callers.create_task(flights.run("key", work))
        await started.wait()
        first.cancel()
        await asyncio.wait([first])
        assert not ended.is_set()
        second.cancel()
        await asyncio.wait([second])
        await ended.wait()


async def test_closing_ends_what_still_flies() -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as callers:
        async with SingleFlight[None]() as flights:
            waiting = callers.create_task(_swallow_cancel(flights, work))
            await started.wait()
        await asyncio.wait_for(waiting, 60)


async def _set_when_idle(event: asyncio.Event) -> None:
    # Callers started before this task have joined the flight once it gets its turn.
    await asyncio.sleep(0)
    event.set()


async def _swallow_cancel(flights: SingleFlight[None], work) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(asyncio.CancelledError):
        await flights.run("key", work)
