"""Isolation: a job that is alone, those beside it, and who waits for whom."""

import asyncio

from cinder.services.jobs.isolation import Isolation


async def stay_alone(isolation: Isolation, begun: asyncio.Event, until: asyncio.Event) -> bool:
    async with isolation.alone() as is_alone:
        begun.set()
        await until.wait()
        return is_alone


async def test_jobs_work_beside_each_other_as_long_as_none_is_to_be_alone() -> None:
    isolation = Isolation()
    with isolation.beside_others() as first, isolation.beside_others() as second:
        assert (first, second, isolation.is_wanted) == (True, True, False)


async def test_job_is_alone_once_those_at_work_have_ended_and_no_other_begins() -> None:
    isolation, begun, end = Isolation(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        with isolation.beside_others() as one, isolation.beside_others() as other:
            alone = group.create_task(stay_alone(isolation, begun, end))
            await asyncio.sleep(0)  # it begins, and finds others at work
            assert isolation.is_wanted
            with isolation.beside_others() as late:
                assert (one, other, late) == (True, True, False)
            assert not begun.is_set()
        await begun.wait()
        with isolation.beside_others() as later:
            assert not later
        end.set()
    assert alone.result()
    with isolation.beside_others() as after:
        assert after


async def test_second_job_that_is_to_be_alone_comes_back_later() -> None:
    isolation, begun, end = Isolation(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(stay_alone(isolation, begun, end))
        await begun.wait()
        assert not isolation.is_waited_for
        async with isolation.alone() as is_alone:
            assert not is_alone
        assert (isolation.is_waited_for, isolation.is_wanted) == (True, True)
        end.set()


async def test_job_that_gives_up_waiting_lets_the_others_begin() -> None:
    isolation, begun = Isolation(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        with isolation.beside_others():
            waiting = group.create_task(stay_alone(isolation, begun, begun))
            await asyncio.sleep(0)  # it begins, and finds others at work
            assert isolation.is_wanted
            waiting.cancel()
            await asyncio.wait([waiting])
        with isolation.beside_others() as is_open:
            assert is_open
