"""The engine over PostgreSQL: a restarted server, its tables, and leftover messages."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from cinder.errors import CacheFailed
from cinder.jobs.pgqueuer_engine import PgqueuerEngine
from cinder.jobs.schedules import Sweeper
from cinder.jobs.worker import JobRetryPolicy, JobWorker
from cinder.models.job import JobStatus
from tests.jobs.conftest import open_jobs
from tests.jobs.slices import SliceRecorder, answers, eventually, in_background
from tests.store.ledger.samples import a_job
from tests.store.postgres import PostgresServer

HEARTBEAT_SECONDS = 2.0


@pytest.fixture
async def engine(postgres_url: str) -> AsyncIterator[PgqueuerEngine]:
    async with PgqueuerEngine(postgres_url, heartbeat_seconds=HEARTBEAT_SECONDS) as engine:
        yield engine


async def test_work_goes_on_after_the_database_was_restarted(
    postgres: PostgresServer, postgres_url: str, engine: PgqueuerEngine
) -> None:
    async def work(job_id: str) -> float | None:
        await store.ledger.find_job(job_id)
        if is_enough.is_set():
            await store.ledger.finish_job(job_id, JobStatus.COMPLETED)
            return None
        return 0.05

    async def are_over() -> bool:
        jobs = await store.ledger.list_jobs("owner")
        return all(job.status.is_over for job in jobs)

    is_enough = asyncio.Event()
    slices = SliceRecorder(work)
    async with open_jobs(postgres_url) as store:
        await store.ledger.add_job(a_job("job"))
        sweeper = Sweeper(store.ledger, engine, seconds=0.2)
        retry_policy = JobRetryPolicy(first_wait_seconds=0.1)
        worker = JobWorker(store.ledger, engine, slices, sweeper=sweeper, retry_policy=retry_policy)
        async with in_background(worker.run(slots=2)):
            await slices.count(2)
            await asyncio.to_thread(postgres.stop)
            with pytest.raises(CacheFailed):
                await engine.check()
            await asyncio.to_thread(postgres.start)
            seen = len(slices.seen)
            await slices.count(seen + 3)
            await eventually(lambda: is_ready(engine))

            await store.ledger.add_job(a_job("later"))
            is_enough.set()
            await eventually(are_over)


async def is_ready(engine: PgqueuerEngine) -> bool:
    try:
        await engine.check()
    except CacheFailed:
        return False
    return True


async def test_a_job_that_cannot_be_woken_without_a_database_waits_for_a_sweep(
    postgres: PostgresServer, postgres_url: str, engine: PgqueuerEngine
) -> None:
    slices = SliceRecorder()
    async with open_jobs(postgres_url) as store:
        sweeper = Sweeper(store.ledger, engine, seconds=0.1)
        await store.ledger.add_job(a_job())
        postgres.stop()
        try:
            with pytest.raises(CacheFailed, match="Check that the server"):
                await engine.wake("job")
            await sweeper.wake("job")
        finally:
            postgres.start()
        worker = JobWorker(store.ledger, engine, slices, sweeper=sweeper)
        async with in_background(worker.run(slots=1)):
            await slices.count(1)


async def test_many_who_open_at_once_make_the_tables_once(postgres_url: str) -> None:
    engines = [PgqueuerEngine(postgres_url, heartbeat_seconds=10) for _ in range(4)]
    try:
        await asyncio.gather(*(engine.check() for engine in engines))
    finally:
        for engine in engines:
            await engine.__aexit__()

    tables = await fetch(postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = $1")
    assert "messages" in tables


async def test_nothing_is_left_of_jobs_that_are_over(
    postgres_url: str, engine: PgqueuerEngine
) -> None:
    slices = SliceRecorder(answers(0, 0, None))
    async with in_background(engine.run(slices, slots=1)):
        await engine.wake("job")
        await slices.count(3)

    async with in_background(engine.run(slices, slots=1)):
        await eventually(lambda: is_empty(postgres_url))


async def is_empty(url: str) -> bool:
    count = (
        "SELECT (SELECT count(*) FROM cinder_queue.messages) + "
        "(SELECT count(*) FROM cinder_queue.message_log) WHERE $1 <> ''"
    )
    return await fetch(url, count) == [0]


async def fetch(url: str, sql: str) -> list[object]:
    """Return the first column of what a statement about our schema answers."""
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch(sql, "cinder_queue")]
    finally:
        await connection.close()
