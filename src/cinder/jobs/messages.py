"""Messages in PostgreSQL, kept by pgqueuer: one row for each worker that a job may have."""

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.qb import (
    QueryBuilderEnvironment,
    QueryQueueBuilder,
    QuerySchedulerBuilder,
)
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.domain.models import Job as Message
from pgqueuer.domain.models import TracebackRecord
from pgqueuer.domain.settings import DBSettings, Durability
from pgqueuer.domain.types import JOB_STATUS, Channel

from cinder.store.postgres import MIGRATION_LOCK, MIGRATION_SECONDS

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
_HASTEN = f"""
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
_PUT_BACK = f"""
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

_PUT_ALL_BACK = f"""
UPDATE {SCHEMA}.messages SET status = 'queued', queue_manager_id = NULL
 WHERE queue_manager_id = $1 AND status = 'picked'
"""  # noqa: S608 - the same

_PURGE_LOG = f"DELETE FROM {SCHEMA}.message_log"  # noqa: S608 - the same

# An event as pgqueuer's own trigger sends it, which is silent where rows are updated.
_CHANGED = (
    f'{{"channel": "{CHANNEL}", "operation": "update", "sent_at": "2000-01-01T00:00:00Z", '
    f'"table": "messages", "type": "table_changed_event"}}'
)


class Messages(Queries):
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
            rows = await self.driver.fetch(_HASTEN, there, after)
            if rows[0]["queued"]:
                await self.tell_workers()

    async def retry_job(
        self,
        job: Message,
        delay: timedelta,
        traceback_record: TracebackRecord | None,  # noqa: ARG002 - pgqueuer's; nothing went wrong
    ) -> None:
        """Put a message back for a later moment."""
        if await self.driver.fetch(_PUT_BACK, job.id, job.queue_manager_id, delay):
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
        await self.driver.execute(_PUT_ALL_BACK, taker)

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
    messages = Messages(connection)
    if await messages.schema_is_installed():
        await messages.upgrade()
    else:
        await messages.install()
