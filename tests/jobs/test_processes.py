"""Several processes that share jobs and schedules: killed and suspended ones."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from cinder.models.job import JobKind, JobStatus, Schedule
from cinder.store.documents import Store
from tests.jobs.conftest import open_jobs
from tests.jobs.slices import DEADLINE_SECONDS, eventually
from tests.store.ledger.samples import a_job


class Worker:
    """A worker process and its output so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def says(self, words: str) -> None:
        """Wait for a line of its output."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE_SECONDS):
            while words not in self.lines:
                line = await self.process.stdout.readline()
                assert line, f"the worker ended before it printed {words!r}"
                self.lines.append(line.decode().strip())

    async def kill(self) -> None:
        """End it without a chance to tidy up."""
        self.process.kill()
        await self.process.wait()

    async def read_rest(self) -> list[str]:
        """Kill it, and return its output."""
        await self.kill()
        assert self.process.stdout is not None
        rest = await self.process.stdout.read()
        return self.lines + rest.decode().splitlines()


@asynccontextmanager
async def run_worker(url: str, mode: str) -> AsyncIterator[Worker]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.jobs.worker", url, mode), stdout=asyncio.subprocess.PIPE
    )
    worker = Worker(process)
    try:
        await worker.says("ready")
        yield worker
    finally:
        if process.returncode is None:
            await worker.kill()


async def has_completed(store: Store, job_id: str = "job") -> bool:
    job = await store.ledger.find_job(job_id)
    return job is not None and job.status is JobStatus.COMPLETED


async def test_a_killed_process_job_is_taken_up_by_the_next_process(
    store_url: str, store: Store
) -> None:
    await store.ledger.add_job(a_job())
    async with run_worker(store_url, "hang") as killed:
        await killed.says("running job")
        await killed.kill()

    async with run_worker(store_url, "finish"):
        await eventually(lambda: has_completed(store))


async def test_a_killed_workers_job_is_taken_over_by_another(postgres_url: str) -> None:
    async with (
        open_jobs(postgres_url) as store,
        run_worker(postgres_url, "hang") as killed,
    ):
        await store.ledger.add_job(a_job())
        await killed.says("running job")
        async with run_worker(postgres_url, "finish"):
            await killed.kill()
            await eventually(lambda: has_completed(store))


async def test_a_frozen_workers_job_is_taken_over_and_the_worker_goes_on_with_others(
    postgres_url: str,
) -> None:
    async with (
        open_jobs(postgres_url) as store,
        run_worker(postgres_url, "hang") as frozen,
    ):
        await store.ledger.add_job(a_job())
        await frozen.says("running job")
        frozen.process.send_signal(signal.SIGSTOP)
        async with run_worker(postgres_url, "finish"):
            await eventually(lambda: has_completed(store))
        await store.ledger.add_job(a_job("next"))
        frozen.process.send_signal(signal.SIGCONT)
        await frozen.says("running next")


async def test_two_processes_start_a_scheduled_job_once(store_url: str, store: Store) -> None:
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    async with run_worker(store_url, "finish") as one, run_worker(store_url, "finish") as two:
        # Once a year, and not in these minutes.
        month = (datetime.now(UTC).month + 5) % 12 + 1
        await store.ledger.add_schedule(
            Schedule(
                name="news",
                owner="owner",
                kind=JobKind.CRAWL,
                cron=f"0 0 1 {month} *",
                spec={},
                next_at=an_hour_ago,
            )
        )
        await eventually(lambda: _is_done_with(store))
        lines = await one.read_rest() + await two.read_rest()

    (started,) = (line for line in lines if line.startswith("starting"))
    (job,) = await store.ledger.list_jobs("owner")
    assert job.id == started.removeprefix("starting ")


async def _is_done_with(store: Store) -> bool:
    (schedule,) = await store.ledger.list_schedules("owner")
    jobs = await store.ledger.list_jobs("owner")
    return schedule.next_at > datetime.now(UTC) + timedelta(days=7) and all(
        job.status is JobStatus.COMPLETED for job in jobs
    )
