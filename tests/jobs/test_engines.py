"""What every engine keeps to: who is woken, how many at once, when, and how it stops."""

import asyncio

from cinder.jobs import JobEngine
from tests.jobs.looks import Looks, answers, beside


async def test_a_woken_job_is_looked_after_once(engine: JobEngine) -> None:
    looks = Looks()
    async with beside(engine.run(looks, slots=2)):
        await engine.wake("one")
        await looks.count(1)
        await engine.wake("two")
        await looks.count(2)

    assert looks.seen == ["one", "two"]


async def test_a_job_that_was_woken_before_anybody_ran_is_looked_after(engine: JobEngine) -> None:
    await engine.wake("one", "two")
    looks = Looks()

    async with beside(engine.run(looks, slots=1)):
        await looks.count(2)

    assert sorted(looks.seen) == ["one", "two"]


async def test_as_many_jobs_as_there_are_slots_are_looked_after_at_once(engine: JobEngine) -> None:
    everybody = asyncio.Barrier(3)

    async def meet(_job_id: str) -> None:
        await everybody.wait()

    looks = Looks(meet)
    async with beside(engine.run(looks, slots=3)):
        await engine.wake("one", "two", "three")
        await looks.until(lambda looks: len(looks.seen) == 3 and looks.at_once == 0)


async def test_no_more_jobs_than_slots_are_looked_after_at_once(engine: JobEngine) -> None:
    async def step_aside(_job_id: str) -> None:
        await asyncio.sleep(0.01)

    for slots in (1, 2):
        looks = Looks(step_aside)
        await engine.wake(*(f"{slots}-{number}" for number in range(6)))
        async with beside(engine.run(looks, slots=slots)):
            await looks.until(lambda looks: len(looks.seen) == 6 and looks.at_once == 0)
        assert looks.most_at_once == slots


async def test_several_workers_look_after_a_job_that_has_as_many_seats(engine: JobEngine) -> None:
    everybody = asyncio.Barrier(3)

    async def meet(_job_id: str) -> None:
        await everybody.wait()

    looks = Looks(meet)
    async with beside(engine.run(looks, slots=5)):
        await engine.wake("job", times=3)
        await looks.until(lambda looks: len(looks.seen) == 3 and looks.at_once == 0)

    assert looks.most_at_once == 3


async def test_a_job_woken_for_later_waits_until_then(engine: JobEngine) -> None:
    loop = asyncio.get_running_loop()
    looks = Looks()
    async with beside(engine.run(looks, slots=1)):
        start = loop.time()
        await engine.wake("job", after_seconds=0.5)
        await looks.count(1)

    assert loop.time() - start >= 0.5


async def test_a_job_is_looked_after_again_until_it_is_over(engine: JobEngine) -> None:
    loop = asyncio.get_running_loop()
    looks = Looks(answers(0, 0.3, 0, None))
    async with beside(engine.run(looks, slots=2)):
        start = loop.time()
        await engine.wake("job")
        await looks.count(4)
        await engine.wake("other")
        await looks.count(5)

    assert looks.seen == ["job"] * 4 + ["other"]
    assert loop.time() - start >= 0.3


async def test_a_job_that_is_woken_many_times_is_not_looked_after_many_times(
    engine: JobEngine,
) -> None:
    looks = Looks()
    for _ in range(30):
        await engine.wake("job")
    await engine.wake("last")

    async with beside(engine.run(looks, slots=1)):
        await looks.until(lambda looks: "last" in looks.seen)

    assert looks.seen == ["job", "last"]


async def test_a_job_that_waits_for_later_comes_sooner_when_it_is_woken(engine: JobEngine) -> None:
    looks = Looks()
    async with beside(engine.run(looks, slots=1)):
        await engine.wake("job", after_seconds=3600)
        await engine.wake("job")
        await looks.count(1)


async def test_a_job_that_is_woken_while_it_is_looked_after_gets_another_look(
    engine: JobEngine,
) -> None:
    is_woken = asyncio.Event()

    async def wait_for_an_hour(_job_id: str) -> float:
        await is_woken.wait()
        return 3600

    looks = Looks(wait_for_an_hour)
    async with beside(engine.run(looks, slots=2)):
        await engine.wake("job")
        await looks.count(1)
        await engine.wake("job")
        is_woken.set()
        await looks.count(2)

    assert looks.most_at_once == 1


async def test_a_job_whose_look_failed_does_not_keep_others_from_theirs(engine: JobEngine) -> None:
    async def fail_once(job_id: str) -> None:
        if job_id == "bad":
            raise LookupError(job_id)

    looks = Looks(fail_once)
    async with beside(engine.run(looks, slots=1)):
        await engine.wake("bad")
        await looks.count(1)
        await engine.wake("good")
        await looks.count(2)


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

    stopped, other = Looks(wait_forever), Looks()
    async with beside(engine.run(stopped, slots=2)):
        await engine.wake("job")
        await stopped.count(1)
    assert cancelled == ["job"]

    async with beside(engine.run(other, slots=1)):
        await other.count(1)
    assert other.seen == ["job"]


async def test_a_fresh_engine_is_ready(engine: JobEngine) -> None:
    await engine.check()
