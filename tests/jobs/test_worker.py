"""The job worker: retries, sweeps, and the slots of each caller."""

import asyncio
from dataclasses import replace

import pytest

from cinder.errors import DatabaseAway, ScrapeFailed, StorageFull
from cinder.jobs.base import JobEngine, RunSlice
from cinder.jobs.schedules import Sweeper
from cinder.jobs.worker import JobRetryPolicy, JobWorker, share_of_slots
from cinder.models.job import Job, JobStatus
from cinder.models.request import OWNER
from cinder.store.documents import Store
from tests.jobs.slices import SliceRecorder, answers, eventually, in_background
from tests.store.ledger.samples import a_job, limits

QUICK = JobRetryPolicy(max_failures=3, first_wait_seconds=0.05, max_wait_seconds=0.1)


def make_worker(
    store: Store,
    engine: JobEngine,
    run_slice: RunSlice,
    *,
    retry_policy: JobRetryPolicy = QUICK,
    workers: int = 1,
) -> JobWorker:
    sweeper = Sweeper(store.ledger, engine, workers=workers, seconds=0.1)
    return JobWorker(store.ledger, engine, run_slice, sweeper=sweeper, retry_policy=retry_policy)


async def read_job(store: Store, job_id: str = "job") -> Job:
    job = await store.ledger.find_job(job_id)
    assert job is not None
    return job


async def test_work_that_fails_is_tried_again_and_the_error_is_recorded(
    store: Store, engine: JobEngine
) -> None:
    is_repaired = asyncio.Event()

    async def fail_until_repaired(_job_id: str) -> float | None:
        if not is_repaired.is_set():
            raise ScrapeFailed("The site burns")
        await store.ledger.finish_job("job", JobStatus.COMPLETED)
        return None

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(fail_until_repaired)
    retry_policy = JobRetryPolicy(max_failures=1000, first_wait_seconds=0.05, max_wait_seconds=0.1)
    async with in_background(
        make_worker(store, engine, slices, retry_policy=retry_policy).run(slots=1)
    ):
        await slices.count(3)
        job = await read_job(store)
        assert (job.status, job.error) == (JobStatus.QUEUED, "The site burns")
        assert job.attempts >= 2
        is_repaired.set()
        await eventually(lambda: is_over(store))

    assert (await read_job(store)).status is JobStatus.COMPLETED


async def test_work_that_fails_too_often_in_a_row_ends_the_job_with_its_error(
    store: Store, engine: JobEngine
) -> None:
    async def fail(_job_id: str) -> None:
        raise ScrapeFailed("by\x00zero")

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(fail)
    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await eventually(lambda: is_over(store))

    job = await read_job(store)
    assert (job.status, job.error) == (JobStatus.FAILED, "by\ufffdzero")
    assert len(slices.seen) == 3


@pytest.mark.parametrize("fault", [StorageFull, DatabaseAway])
async def test_a_full_disk_and_a_database_away_are_no_fault_of_the_job(
    store: Store, engine: JobEngine, fault: type[Exception]
) -> None:
    async def fail(_job_id: str) -> None:
        raise fault

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(fail)
    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.count(QUICK.max_failures + 2)

    job = await read_job(store)
    assert (job.status, job.attempts, job.error) == (JobStatus.QUEUED, 0, None)


async def test_a_slice_that_goes_well_makes_up_for_failures(
    store: Store, engine: JobEngine
) -> None:
    async def fail_every_other_time(_job_id: str) -> float | None:
        # Claiming pages alone is no success: what ends every slice may come after it.
        await store.ledger.lease("job", limits())
        if len(slices.seen) % 2:
            raise OSError("now and then")
        return 0

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(fail_every_other_time)
    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.count(9)

    assert not (await read_job(store)).status.is_over


async def test_failures_count_though_pages_were_claimed_in_between(
    store: Store, engine: JobEngine
) -> None:
    async def claim_and_fail(_job_id: str) -> float | None:
        await store.ledger.lease("job", limits())
        raise OSError("each time")

    await store.ledger.add_job(a_job())
    async with in_background(make_worker(store, engine, claim_and_fail).run(slots=1)):
        await eventually(lambda: is_over(store))

    error = (await read_job(store)).error
    assert error == "It failed unexpectedly (OSError); the server's log has the details"


async def test_a_slice_that_hangs_is_a_failure(store: Store, engine: JobEngine) -> None:
    async def hang(_job_id: str) -> None:
        await asyncio.Event().wait()

    retry_policy = JobRetryPolicy(max_failures=1, slice_seconds=0.05)
    await store.ledger.add_job(a_job())
    async with in_background(
        make_worker(store, engine, hang, retry_policy=retry_policy).run(slots=1)
    ):
        await eventually(lambda: is_over(store))

    assert (await read_job(store)).error == (
        "Work on the job took longer than 0.05 seconds and was cancelled"
    )


async def test_a_job_that_was_cancelled_is_not_run_again(store: Store, engine: JobEngine) -> None:
    await store.ledger.add_job(a_job("cancelled"))
    await store.ledger.add_job(a_job("job"))
    await store.ledger.finish_job("cancelled", JobStatus.CANCELLED)
    await engine.wake("cancelled", "gone")
    slices = SliceRecorder(answers(0, 0, None))

    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.count(3)

    assert slices.seen == ["job", "job", "job"]


async def test_a_job_that_is_cancelled_between_slices_gets_no_further_one(
    store: Store, engine: JobEngine
) -> None:
    async def cancel(job_id: str) -> float:
        await store.ledger.finish_job(job_id, JobStatus.CANCELLED)
        return 0

    await store.ledger.add_job(a_job("job"))
    slices = SliceRecorder(cancel)
    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.count(1)
        await store.ledger.add_job(a_job("other"))
        await slices.count(2)

    assert slices.seen == ["job", "other"]


async def test_a_job_whose_messages_are_lost_is_found_by_sweeping(
    store: Store, engine: JobEngine
) -> None:
    await store.ledger.add_job(a_job())
    slices = SliceRecorder()

    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.count(1)


async def test_a_job_is_woken_for_all_its_slots(store: Store, engine: JobEngine) -> None:
    everybody = asyncio.Barrier(3)

    async def meet(_job_id: str) -> None:
        await everybody.wait()

    slices = SliceRecorder(meet)
    async with in_background(engine.run(slices, slots=4)):
        await Sweeper(store.ledger, engine, workers=3).wake("job")
        await slices.until(lambda slices: len(slices.seen) == 3 and slices.at_once == 0)


async def test_a_job_that_somebody_leases_from_is_not_swept_up(
    store: Store, engine: JobEngine
) -> None:
    await store.ledger.add_job(a_job("leased"))
    await store.ledger.lease("leased", limits(seconds=600))
    await store.ledger.add_job(a_job("unattended"))

    assert await store.ledger.list_unattended() == ["unattended"]


async def test_who_ends_in_good_order_leaves_jobs_to_whoever_comes_next(
    store: Store, engine: JobEngine
) -> None:
    async def work(job_id: str) -> float:
        await store.ledger.lease(job_id, limits(seconds=600))
        return 60

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(work)
    async with in_background(make_worker(store, engine, slices).run(slots=1)):
        await slices.until(lambda slices: len(slices.seen) == 1 and slices.at_once == 0)
        assert await store.ledger.list_unattended() == []

    assert await store.ledger.list_unattended() == ["job"]


async def test_many_who_sweep_do_not_multiply_the_work(store: Store, engine: JobEngine) -> None:
    async def step_aside(_job_id: str) -> float:
        await asyncio.sleep(0.01)
        return 0

    await store.ledger.add_job(a_job())
    slices = SliceRecorder(step_aside)
    worker = make_worker(store, engine, slices, workers=2)
    sweepers = [Sweeper(store.ledger, engine, workers=2, seconds=0.01) for _ in range(3)]
    async with in_background(worker.run(slots=8)), asyncio.TaskGroup() as group:
        sweeping = [group.create_task(each.sweep_forever()) for each in sweepers]
        await slices.count(40)
        for task in sweeping:
            task.cancel()

    assert slices.most_at_once == 1


async def test_a_job_has_one_slot_of_a_process_and_leaves_the_others_to_other_jobs(
    store: Store, engine: JobEngine
) -> None:
    at_work: set[str] = set()
    are_both_at_work = asyncio.Event()

    async def wait_for_the_other(job_id: str) -> None:
        assert job_id not in at_work
        at_work.add(job_id)
        if len(at_work) == 2:
            are_both_at_work.set()
        await are_both_at_work.wait()
        await store.ledger.finish_job(job_id, JobStatus.COMPLETED)

    slices = SliceRecorder(wait_for_the_other)
    async with in_background(make_worker(store, engine, slices, workers=4).run(slots=2)):
        await store.ledger.add_job(a_job("first"))
        await slices.count(1)
        await store.ledger.add_job(a_job("second"))
        await slices.count(2)
        await are_both_at_work.wait()

    assert sorted(slices.seen) == ["first", "second"]


@pytest.mark.parametrize(("failures", "longest"), [(1, 1), (2, 2), (5, 16), (9, 60), (5000, 60)])
def test_the_wait_doubles_up_to_its_limit_and_varies(failures: int, longest: float) -> None:
    retry_policy = JobRetryPolicy(first_wait_seconds=1, max_wait_seconds=60)

    waits = {retry_policy.wait_seconds(failures) for _ in range(50)}

    assert longest / 2 <= min(waits) < max(waits) <= longest


async def is_over(store: Store) -> bool:
    return (await read_job(store)).status.is_over


@pytest.mark.parametrize(
    ("slots", "owners", "expected"),
    [
        (4, [], 4),
        (4, [OWNER], 4),
        (4, ["alice"], 3),
        (4, ["alice", OWNER], 2),
        (4, ["alice", "bob", "carol"], 1),
        (4, list("abcdefgh"), 1),
        (1, ["alice", "bob"], 1),
        (2, ["alice"], 1),
    ],
)
def test_callers_have_equal_parts_and_none_has_all(
    slots: int, owners: list[str], expected: int
) -> None:
    assert share_of_slots(slots, owners) == expected


async def test_a_callers_jobs_beyond_his_share_wait_while_anothers_begins(
    store: Store, engine: JobEngine
) -> None:
    may_end = asyncio.Event()

    async def work_until_told(_job_id: str) -> float | None:
        await may_end.wait()
        return None

    for number in range(6):
        await store.ledger.add_job(replace(a_job(f"alice-{number}"), owner="alice"))
    slices = SliceRecorder(work_until_told)
    sweeper = Sweeper(store.ledger, engine, seconds=0.1)
    worker = JobWorker(store.ledger, engine, slices, sweeper=sweeper)
    async with in_background(worker.run(slots=3)):
        await slices.count(2)
        await store.ledger.add_job(replace(a_job("bob-0"), owner="bob"))
        await slices.count(3)
        assert slices.seen[2:] == ["bob-0"]
        may_end.set()
        await slices.until(lambda slices: len({*slices.seen}) == 7)
