"""The contract of all engines: which workers are woken, how many, when, and how they stop."""

import asyncio

from cinder.jobs.base import JobEngine
from tests.jobs.slices import SliceRecorder, answers, in_background


async def test_a_woken_job_is_run_once(engine: JobEngine) -> None:
    slices = SliceRecorder()
    async with in_background(engine.run(slices, slots=2)):
        await engine.wake("one")
        await slices.count(1)
        await engine.wake("two")
        await slices.count(2)

    assert slices.seen == ["one", "two"]


async def test_a_job_that_was_woken_before_any_worker_ran_is_run(engine: JobEngine) -> None:
    await engine.wake("one", "two")
    slices = SliceRecorder()

    async with in_background(engine.run(slices, slots=1)):
        await slices.count(2)

    assert sorted(slices.seen) == ["one", "two"]


async def test_as_many_jobs_as_there_are_slots_are_run_at_once(engine: JobEngine) -> None:
    everybody = asyncio.Barrier(3)

    async def meet(_job_id: str) -> None:
        await everybody.wait()

    slices = SliceRecorder(meet)
    async with in_background(engine.run(slices, slots=3)):
        await engine.wake("one", "two", "three")
        await slices.until(lambda slices: len(slices.seen) == 3 and slices.at_once == 0)


async def test_no_more_jobs_than_slots_are_run_at_once(engine: JobEngine) -> None:
    async def step_aside(_job_id: str) -> None:
        await asyncio.sleep(0.01)

    for slots in (1, 2):
        slices = SliceRecorder(step_aside)
        await engine.wake(*(f"{slots}-{number}" for number in range(6)))
        async with in_background(engine.run(slices, slots=slots)):
            await slices.until(lambda slices: len(slices.seen) == 6 and slices.at_once == 0)
        assert slices.most_at_once == slots


async def test_several_workers_run_a_job_that_has_as_many_slots(engine: JobEngine) -> None:
    everybody = asyncio.Barrier(3)

    async def meet(_job_id: str) -> None:
        await everybody.wait()

    slices = SliceRecorder(meet)
    async with in_background(engine.run(slices, slots=5)):
        await engine.wake("job", times=3)
        await slices.until(lambda slices: len(slices.seen) == 3 and slices.at_once == 0)

    assert slices.most_at_once == 3


async def test_a_job_woken_for_later_waits_until_then(engine: JobEngine) -> None:
    loop = asyncio.get_running_loop()
    slices = SliceRecorder()
    async with in_background(engine.run(slices, slots=1)):
        start = loop.time()
        await engine.wake("job", after_seconds=0.5)
        await slices.count(1)

    assert loop.time() - start >= 0.5


async def test_a_job_is_run_again_until_it_is_over(engine: JobEngine) -> None:
    loop = asyncio.get_running_loop()
    slices = SliceRecorder(answers(0, 0.3, 0, None))
    async with in_background(engine.run(slices, slots=2)):
        start = loop.time()
        await engine.wake("job")
        await slices.count(4)
        await engine.wake("other")
        await slices.count(5)

    assert slices.seen == ["job"] * 4 + ["other"]
    assert loop.time() - start >= 0.3


async def test_a_job_that_is_woken_many_times_is_not_run_many_times(
    engine: JobEngine,
) -> None:
    slices = SliceRecorder()
    for _ in range(30):
        await engine.wake("job")
    await engine.wake("last")

    async with in_background(engine.run(slices, slots=1)):
        await slices.until(lambda slices: "last" in slices.seen)

    assert slices.seen == ["job", "last"]


async def test_a_job_that_waits_for_later_comes_sooner_when_it_is_woken(engine: JobEngine) -> None:
    slices = SliceRecorder()
    async with in_background(engine.run(slices, slots=1)):
        await engine.wake("job", after_seconds=3600)
        await engine.wake("job")
        await slices.count(1)


async def test_a_job_that_is_woken_while_it_is_run_is_run_once_more(
    engine: JobEngine,
) -> None:
    is_woken = asyncio.Event()

    async def wait_for_an_hour(_job_id: str) -> float:
        await is_woken.wait()
        return 3600

    slices = SliceRecorder(wait_for_an_hour)
    async with in_background(engine.run(slices, slots=2)):
        await engine.wake("job")
        await slices.count(1)
        await engine.wake("job")
        is_woken.set()
        await slices.count(2)

    assert slices.most_at_once == 1


async def test_a_job_whose_slice_failed_does_not_keep_others_from_theirs(engine: JobEngine) -> None:
    async def fail_once(job_id: str) -> None:
        if job_id == "bad":
            raise LookupError(job_id)

    slices = SliceRecorder(fail_once)
    async with in_background(engine.run(slices, slots=1)):
        await engine.wake("bad")
        await slices.count(1)
        await engine.wake("good")
        await slices.count(2)


async def test_stopping_cancels_who_is_at_work_and_leaves_the_job_to_others(
    engine: JobEngine,
) -> None:
    cancelled: list[str] = []

    async def wait_forever(job_id: str) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(job_id)
            raise

    stopped, other = SliceRecorder(wait_forever), SliceRecorder()
    async with in_background(engine.run(stopped, slots=2)):
        await engine.wake("job")
        await stopped.count(1)
    assert cancelled == ["job"]

    async with in_background(engine.run(other, slots=1)):
        await other.count(1)
    assert other.seen == ["job"]


async def test_a_fresh_engine_is_ready(engine: JobEngine) -> None:
    await engine.check()
