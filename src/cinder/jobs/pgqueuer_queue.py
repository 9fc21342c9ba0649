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

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    from cinder.store.postgres import Connection

    QueueConnection: TypeAlias = asyncpg.Connection[asyncpg.Record]

PURGE_SECONDS = 60
# The time to return messages to the queue at shutdown; after it, other workers take them over.
STOP_SECONDS = 10
# The polling interval while all slots are taken; new messages notify workers.
POLL_SECONDS = 0.5
ENTRYPOINT = "attend"
SCHEMA = "cinder_queue"
CHANNEL = "cinder_queue"

log = structlog.get_logger()

# All names are set, since pgqueuer reads the others from environment variables with short names.
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
    # No write-ahead log: sweeping restores messages that a crash of the database loses.
    durability=Durability.volatile,
    widen_id=True,
)

# A running message that is woken gets an `execute_after` later than the time it was taken.
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

# Fenced by the worker: one that was suspended no longer owns the message.
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

# The event of pgqueuer's own trigger, which does not fire on updates.
_CHANGED = (
    f'{{"channel": "{CHANNEL}", "operation": "update", "sent_at": "2000-01-01T00:00:00Z", '
    f'"table": "messages", "type": "table_changed_event"}}'
)


class QueueMessages(Queries):
    """pgqueuer's statements on cinder's tables; those that end a message are fenced, not logged."""

    def __init__(self, connection: "Connection") -> None:
        super().__init__(
            # A pooled connection is sufficient: it does not listen.
            AsyncpgDriver(connection),  # type: ignore[arg-type]
            qbe=QueryBuilderEnvironment(SETTINGS),
            qbq=QueryQueueBuilder(SETTINGS),
            qbs=QuerySchedulerBuilder(SETTINGS),
        )

    async def send(self, job_ids: Collection[str], times: int, after: timedelta) -> None:
        """Ensure a message for each worker slot of these jobs, due after this time."""
        slots = [(job_id, f"{job_id}#{n}") for job_id in sorted(job_ids) for n in range(times)]
        sent = await self.enqueue(
            [ENTRYPOINT] * len(slots),
            [job_id.encode() for job_id, _ in slots],
            [0] * len(slots),
            [after] * len(slots),
            [key for _, key in slots],
            on_conflict="skip",
        )
        existing = [key for (_, key), number in zip(slots, sent, strict=True) if number is None]
        if existing:
            rows = await self.driver.fetch(_RESCHEDULE, existing, after)
            if rows[0]["queued"]:
                await self.notify_workers()

    async def retry_job(
        self,
        job: Message,
        delay: timedelta,
        traceback_record: TracebackRecord | None,  # noqa: ARG002 - pgqueuer's signature
    ) -> None:
        """Return a message to the queue for a later time."""
        if await self.driver.fetch(_REQUEUE, job.id, job.queue_manager_id, delay):
            await self.notify_workers()

    async def log_jobs(
        self, job_status: list[tuple[Message, JOB_STATUS, TracebackRecord | None]]
    ) -> None:
        """Delete messages that are done."""
        ended = [message for message, _, _ in job_status]
        await self.driver.execute(
            _REMOVE,
            [message.id for message in ended],
            [message.queue_manager_id for message in ended],
        )

    async def put_all_back(self, taker: UUID) -> None:
        """Return the messages that a worker had taken when it lost the connection."""
        await self.driver.execute(_REQUEUE_ALL, taker)

    async def notify_workers(self) -> None:
        """Have all workers check for messages that are due."""
        await self.driver.notify(CHANNEL, _CHANGED)

    async def purge_log(self) -> None:
        """Delete pgqueuer's log of messages."""
        await self.driver.execute(_PURGE_LOG)


async def prepare_tables(connection: "Connection") -> None:
    """Create or upgrade the tables, under a lock that other processes wait for."""
    # Held until the connection is returned to its pool.
    await connection.execute(
        "SELECT pg_advisory_lock($1)", MIGRATION_LOCK, timeout=MIGRATION_SECONDS
    )
    messages = QueueMessages(connection)
    if await messages.schema_is_installed():
        await messages.upgrade()
    else:
        await messages.install()


class QueueConsumer:
    """Takes messages from the queue and runs their jobs."""

    def __init__(
        self, connection: "QueueConnection", run_slice: RunSlice, *, slots: int, worker_id: UUID
    ) -> None:
        self._connection = connection
        self._run_slice = run_slice
        self._slots = slots
        self._free = asyncio.Semaphore(slots)
        self._running: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()
        self._messages = QueueMessages(connection)
        self._manager = QueueManager(self._messages, Channel(CHANNEL))
        self._manager.queue_manager_id = QueueManagerId(worker_id)
        self._manager.min_dequeue_poll_interval = timedelta(seconds=POLL_SECONDS)
        self._manager.entrypoint(ENTRYPOINT, accepts_context=False)(self._handle)

    async def run(self, heartbeat_seconds: float) -> None:
        """Run jobs until cancelled, or until the connection is lost."""
        self._connection.add_termination_listener(lambda _: self._manager.shutdown.set())
        # Messages that an earlier connection of this worker could not return.
        await self._messages.put_all_back(self._manager.queue_manager_id)
        async with asyncio.TaskGroup() as group:
            purging = group.create_task(self._purge_forever())
            work = group.create_task(self._manage(heartbeat_seconds))
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                self._ending.set()
                self._manager.shutdown.set()
                for task in self._running:
                    task.cancel()
                await asyncio.wait({work}, timeout=STOP_SECONDS)
                raise
            finally:
                purging.cancel()

    async def _manage(self, heartbeat_seconds: float) -> None:
        try:
            await self._manager.run(
                batch_size=1,
                # pgqueuer requires twice the batch size; the semaphore limits it to the slots.
                max_concurrent_tasks=max(2, self._slots),
                dequeue_timeout=timedelta(seconds=heartbeat_seconds / 2),
                heartbeat_timeout=timedelta(seconds=heartbeat_seconds),
                log_aggregation_interval=timedelta(0),
                shutdown_on_listener_failure=True,
            )
        # The outermost loop of a worker: the next connection may succeed.
        except Exception as exc:  # noqa: BLE001
            log.warning("the job queue failed", error=str(exc) or type(exc).__name__)

    async def _handle(self, message: Message) -> None:
        """Run the job of a message; the message returns to the queue unless the job has ended."""
        task = asyncio.current_task()
        if self._ending.is_set() or task is None:
            raise RetryRequested
        self._running.add(task)
        try:
            async with self._free:
                seconds = await self._run_slice((message.payload or b"").decode())
        except asyncio.CancelledError:
            if not self._ending.is_set():
                raise
            # Other workers get the message at once; pgqueuer would drop it.
            task.uncancel()
            raise RetryRequested from None
        finally:
            self._running.discard(task)
        if seconds is not None:
            raise RetryRequested(timedelta(seconds=seconds))

    async def _purge_forever(self) -> None:
        try:
            while True:
                await self._messages.purge_log()
                await asyncio.sleep(PURGE_SECONDS)
        except DRIVER_ERRORS as exc:
            log.warning("the message log was not purged", error=str(exc))
