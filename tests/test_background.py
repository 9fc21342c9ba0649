"""Background tasks of objects that are opened and closed."""

import asyncio

import pytest

from cinder.background import BackgroundTasks


async def test_closing_waits_for_what_runs() -> None:
    done = asyncio.Event()
    async with BackgroundTasks() as tasks:
        tasks.start(_set(done))
    assert done.is_set()


async def test_tasks_that_never_end_are_cancelled_on_demand() -> None:
    async with BackgroundTasks() as tasks:
        task = tasks.start(_wait_for(asyncio.Event()))
        tasks.cancel_all()
    assert task.cancelled()


async def test_an_error_of_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with BackgroundTasks():
            raise ZeroDivisionError


async def _set(event: asyncio.Event) -> None:
    await asyncio.sleep(0)
    event.set()


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()
