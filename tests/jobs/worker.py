"""A worker process for the tests: `python -m tests.jobs.worker URL finish|hang`.

It reports what it does on its standard output.
"""

import asyncio
import sys

from cinder.jobs import engine_for
from cinder.jobs.schedules import Schedules, Sweeper
from cinder.jobs.worker import JobWorker
from cinder.models.document import Json
from cinder.models.job import JobKind, JobStatus
from tests.jobs.conftest import open_jobs
from tests.store.ledger.samples import a_job, limits

# Short, so that the tests need not wait for long.
LEASE_SECONDS = 1.0


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


async def main(url: str, mode: str) -> None:
    async def run_slice(job_id: str) -> float | None:
        await store.ledger.lease(job_id, limits(seconds=LEASE_SECONDS))
        say(f"running {job_id}")
        if mode == "hang":
            await asyncio.Event().wait()
        await store.ledger.finish_job(job_id, JobStatus.COMPLETED)
        return None

    async def start(owner: str, kind: JobKind, spec: dict[str, Json], key: str) -> None:
        say(f"starting {key}")
        await store.ledger.add_job(a_job(key, idempotency_key=key))

    async with open_jobs(url) as store, engine_for(url, heartbeat_seconds=LEASE_SECONDS) as engine:
        schedules = Schedules(store.ledger, start)
        sweeper = Sweeper(store.ledger, engine, seconds=0.2, schedules=schedules)
        worker = JobWorker(store.ledger, engine, run_slice, sweeper=sweeper)
        await engine.check()
        say("ready")
        await worker.run(slots=2)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
