"""The pgqueuer tables in PostgreSQL, and the consumer of one worker process."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import asyncpg
import structlog
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job as Message
from pgqueuer.domain.models import TracebackRecord
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import JOB_STATUS, Channel, QueueManagerId

from cinder.jobs.base import RunSlice
from cinder.store.postgres import DRIVER_ERRORS, MIGRATION_LOCK, MIGRATION_SECONDS

if TYPE_CHECKING:
    from cinder.store.postgres import Connection


ENTRYPOINT = "attend"
SCHEMA = "cinder_queue"
CHANNEL = "cinder_queue"

# Everything is named: what is not, pgqueuer takes from environment variables with short names.
SETTINGS = DBSettings(
    prefix="",
    db_schema=SCHEMA,
    channel=Channel(CHANNEL),
    function="tell_workers",
    statistics_table="message_statistics",
    queue_status_type="message_status",
    queue_table="messages",
    queue_table_log="message_log",
    trigger="messages_changed",
    schedules_table="message_schedules",
    # Messages that a crash of the database wipes out come back by sweeping, and need no log.
    durability=Durability.volatile,
    widen_id=True,
)

# A message that is at work remembers, by a moment after that of its taking, that it was woken.
_RESCHEDULE = f"""
WITH hastened AS (
    UPDATE {SCHEMA}.messages
       SET execute_after = CASE status WHEN 'picked' THEN now() ELSE now() + $2::interval END
     WHERE dedupe_key = ANY($1)
       AND (status = 'picked' OR (status = 'queued' AND execute_after > now() + $2::interval))
    RETURNING status
)
SELECT count(*) FILTER (WHERE status = 'queued') AS queued FROM hastened
"""  # noqa: S608 - names of ours

# Fenced by who took it: a worker that was frozen finds the message another's, or gone.
_REQUEUE = f"""
UPDATE {SCHEMA}.messages SET status = 'queued', queue_manager_id = NULL, updated = now(),
       execute_after = LEAST(now() + $3::interval,
                             CASE WHEN execute_after > updated THEN execute_after END)
 WHERE id = $1 AND queue_manager_id = $2 AND status = 'picked'
RETURNING id
"""  # noqa: S608 - the same

_REMOVE = f"""
DELETE FROM {SCHEMA}.messages USING unnest($1::bigint[], $2::uuid[]) AS taken (id, taker)
 WHERE messages.id = taken.id AND messages.queue_manager_id = taken.taker
"""  # noqa: S608 - the same

_REQUEUE_ALL = f"""
UPDATE {SCHEMA}.messages SET status = 'queued', queue_manager_id = NULL
 WHERE queue_manager_id = $1 AND status = 'picked'
"""  # noqa: S608 - the same

_PURGE_LOG = f"DELETE FROM {SCHEMA}.message_log"  # noqa: S608 - the same

# An event as pgqueuer's own trigger sends it, which is silent where rows are updated.
_CHANGED = (
    f'{{"channel": "{CHANNEL}", "operation": "update", "sent_at": "2000-01-01T00:00:00Z", '
    f'"table": "messages", "type": "table_changed_event"}}'
)


class QueueMessages(Queries):
    """pgqueuer's statements on our tables; what ends a message is fenced and keeps no log."""

    def __init__(self, connection: "Connection") -> None:
        super().__init__(
            # A connection of a pool will do: nobody listens on it.
            AsyncpgDriver(connection),  # type: ignore[arg-type]
            qbe=QueryBuilderEnvironment(SETTINGS),
            qbq=QueryQueueBuilder(SETTINGS),
            qbs=QuerySchedulerBuilder(SETTINGS),
        )

    async def send(self, job_ids: Collection[str], times: int, after: timedelta) -> None:
        """Have a message for each seat at these jobs, due by then."""
        seats = [(job_id, f"{job_id}#{n}") for job_id in sorted(job_ids) for n in range(times)]
        sent = await self.enqueue(
            [ENTRYPOINT] * len(seats),
            [job_id.encode() for job_id, _ in seats],
            [0] * len(seats),
            [after] * len(seats),
            [key for _, key in seats],
            on_conflict="skip",
        )
        there = [key for (_, key), number in zip(seats, sent, strict=True) if number is None]
        if there:
            rows = await self.driver.fetch(_RESCHEDULE, there, after)
            if rows[0]["queued"]:
                await self.tell_workers()

    async def retry_job(
        self,
        job: Message,
        delay: timedelta,
        traceback_record: TracebackRecord | None,  # noqa: ARG002 - pgqueuer's; nothing went wrong
    ) -> None:
        """Put a message back for a later moment."""
        if await self.driver.fetch(_REQUEUE, job.id, job.queue_manager_id, delay):
            await self.tell_workers()

    async def log_jobs(
        self, job_status: list[tuple[Message, JOB_STATUS, TracebackRecord | None]]
    ) -> None:
        """Remove messages that are done with."""
        ended = [message for message, _, _ in job_status]
        await self.driver.execute(
            _REMOVE, [each.id for each in ended], [each.queue_manager_id for each in ended]
        )

    async def put_all_back(self, taker: UUID) -> None:
        """Give back the messages that a worker had taken when it lost the database."""
        await self.driver.execute(_REQUEUE_ALL, taker)

    async def tell_workers(self) -> None:
        """Let every worker look at what is due."""
        await self.driver.notify(CHANNEL, _CHANGED)

    async def purge_log(self) -> None:
        """Delete what pgqueuer has noted of sending and taking messages."""
        await self.driver.execute(_PURGE_LOG)


async def prepare_tables(connection: "Connection") -> None:
    """Create the tables, or bring them up to date; others who do the same are waited for."""
    # Held until the connection goes back to its pool.
    await connection.execute(
        "SELECT pg_advisory_lock($1)", MIGRATION_LOCK, timeout=MIGRATION_SECONDS
    )
    messages = QueueMessages(connection)
    if await messages.schema_is_installed():
        await messages.upgrade()
    else:
        await messages.install()


if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    QueueConnection: TypeAlias = asyncpg.Connection[asyncpg.Record]

PURGE_SECONDS = 60
# How long giving messages back may take at the end; who takes longer is taken over.
STOP_SECONDS = 10
# How soon to look again where all slots are taken; messages that come tell of themselves.
POLL_SECONDS = 0.5

log = structlog.get_logger()


class QueueConsumer:
    """Takes messages off the queue and looks after their jobs."""

    def __init__(
        self, connection: "QueueConnection", run_slice: RunSlice, *, slots: int, worker_id: UUID
    ) -> None:
        self._connection = connection
        self._run_slice = run_slice
        self._slots = slots
        self._free = asyncio.Semaphore(slots)
        self._at_work: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()
        self._messages = QueueMessages(connection)
        self._manager = QueueManager(self._messages, Channel(CHANNEL))
        self._manager.queue_manager_id = QueueManagerId(worker_id)
        self._manager.min_dequeue_poll_interval = timedelta(seconds=POLL_SECONDS)
        self._manager.entrypoint(ENTRYPOINT, accepts_context=False)(self._handle)

    async def run(self, heartbeat_seconds: float) -> None:
        """Work until cancelled, or until the connection breaks."""
        self._connection.add_termination_listener(lambda _: self._manager.shutdown.set())
        # What an earlier shift of this worker could not give back.
        await self._messages.put_all_back(self._manager.queue_manager_id)
        async with asyncio.TaskGroup() as group:
            purging = group.create_task(self._purge_forever())
            work = group.create_task(self._manage(heartbeat_seconds))
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                self._stop()
                await asyncio.wait({work}, timeout=STOP_SECONDS)
                raise
            finally:
                purging.cancel()

    async def _manage(self, heartbeat_seconds: float) -> None:
        try:
            await self._manager.run(
                batch_size=1,
                # It wants twice the batch at least; the semaphore keeps to the real number.
                max_concurrent_tasks=max(2, self._slots),
                dequeue_timeout=timedelta(seconds=heartbeat_seconds / 2),
                heartbeat_timeout=timedelta(seconds=heartbeat_seconds),
                log_aggregation_interval=timedelta(0),
                shutdown_on_listener_failure=True,
            )
        # The outermost loop of a worker: whatever it was, another shift may go better.
        except Exception as exc:  # noqa: BLE001
            log.warning("the queue of jobs broke off", error=str(exc) or type(exc).__name__)

    def _stop(self) -> None:
        self._ending.set()
        self._manager.shutdown.set()
        for task in self._at_work:
            task.cancel()

    async def _handle(self, message: Message) -> None:
        """Look after a message's job; the message is put back unless the job is over."""
        task = asyncio.current_task()
        if self._ending.is_set() or task is None:
            raise RetryRequested
        self._at_work.add(task)
        try:
            async with self._free:
                seconds = await self._run_slice((message.payload or b"").decode())
        except asyncio.CancelledError:
            if not self._ending.is_set():
                raise
            # Others get the message at once; pgqueuer would drop it.
            task.uncancel()
            raise RetryRequested from None
        finally:
            self._at_work.discard(task)
        if seconds is not None:
            raise RetryRequested(timedelta(seconds=seconds))

    async def _purge_forever(self) -> None:
        try:
            while True:
                await self._messages.purge_log()
                await asyncio.sleep(PURGE_SECONDS)
        except DRIVER_ERRORS as exc:
            log.warning("the log of messages is not purged", error=str(exc))
