"""The job engine over PostgreSQL for any number of processes, by pgqueuer."""

import asyncio
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Self, TypeAlias
from uuid import uuid4

import asyncpg
import structlog

from cinder.errors import CacheFailed
from cinder.jobs.base import RunSlice
from cinder.store.postgres import COMMAND_SECONDS, translated

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

# The pause before reconnecting to a database that cannot be reached.
RECONNECT_SECONDS = 1
SENDERS = 2
# Planning the query for the next message takes PostgreSQL six times as long as running it.
_PLAN_ONCE = {"plan_cache_mode": "force_generic_plan"}

log = structlog.get_logger()


class PgqueuerEngine:
    """Wakes workers of all processes on a database. See `cinder.jobs.base.JobEngine`.

    It connects, and imports pgqueuer, on first use: that takes a second.
    """

    def __init__(self, url: str, *, heartbeat_seconds: float) -> None:
        """Take the database's URL, and the heartbeat after which a silent worker loses its jobs."""
        self._url = url
        self._heartbeat_seconds = heartbeat_seconds
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._worker_id = uuid4()
        self._is_broken = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            with translated():
                await pool.close()

    async def wake(self, *job_ids: str, times: int = 1, after_seconds: float = 0) -> None:
        """Have up to `times` workers run each job, in `after_seconds` at the earliest."""
        if not job_ids:
            return
        with translated():
            pool = await self._open()
            from cinder.jobs.pgqueuer_queue import QueueMessages  # noqa: PLC0415 - imported by opening

            async with pool.acquire() as connection:
                await QueueMessages(connection).send(
                    job_ids, times, timedelta(seconds=after_seconds)
                )

    async def run(self, run_slice: RunSlice, *, slots: int) -> None:
        """Run jobs as they are woken, `slots` at once, until cancelled."""
        while True:
            try:
                with translated():
                    await self._open()
                    await self._consume(run_slice, slots)
                log.warning("the connection to the job queue was lost")
            except CacheFailed as exc:
                log.warning("the job queue cannot be reached", error=str(exc))
            self._is_broken = True
            await asyncio.sleep(RECONNECT_SECONDS)

    async def check(self) -> None:
        """Return if workers can be woken, and those of this process are connected."""
        if self._is_broken:
            raise CacheFailed("The queue of jobs has lost PostgreSQL and is connecting again")
        with translated():
            pool = await self._open()
            await pool.execute("SELECT 1")

    async def _consume(self, run_slice: RunSlice, slots: int) -> None:
        from cinder.jobs.pgqueuer_queue import QueueConsumer  # noqa: PLC0415 - imported by opening

        connection = await asyncpg.connect(
            self._url, command_timeout=COMMAND_SECONDS, server_settings=_PLAN_ONCE
        )
        try:
            consumer = QueueConsumer(connection, run_slice, slots=slots, worker_id=self._worker_id)
            self._is_broken = False
            await consumer.run(self._heartbeat_seconds)
        finally:
            connection.terminate()

    async def _open(self) -> "Pool":
        async with self._opening:
            if self._pool is None:
                await asyncio.to_thread(import_module, "cinder.jobs.pgqueuer_queue")
                from cinder.jobs.pgqueuer_queue import prepare_tables  # noqa: PLC0415 - just imported

                pool = await asyncpg.create_pool(
                    self._url, min_size=0, max_size=SENDERS, command_timeout=COMMAND_SECONDS
                )
                try:
                    async with pool.acquire() as connection:
                        await prepare_tables(connection)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool = pool
            return self._pool
