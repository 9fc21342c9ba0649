"""The webhook outbox: events, written with the change they report, leased, and marked."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from cinder.models.job import Job, PageResult
from cinder.models.webhook import DueEvent, EventListing, EventState, NewEvent
from cinder.store.database import (
    Query,
    Repository,
    SqlDialect,
    Statement,
    clamp_limit,
    from_milliseconds,
    reads,
    scrub,
    writes,
)
from cinder.store.group_commit import BulkInsert, WriteStage

# The events to lease are chosen among so many that are due.
_MAX_CHOICE = 1000
_MAX_ERROR = 1000

_ADD = BulkInsert(
    stage=WriteStage.ADD_EVENT,
    sql="""
INSERT INTO webhook.outbox (job_id, owner, event, state, created_at, next_at, url, payload)
VALUES {rows}
""",
    row="($1, $2, $3, 'waiting', $4, $4, $5, $6)",
    width=6,
)

# Few events of each URL are taken, so that a URL that does not answer delays no others.
_DUE = """
SELECT id FROM webhook.outbox
 WHERE state = 'waiting' AND next_at <= $1 AND id IN (
       SELECT c.id FROM (
              SELECT d.id, row_number() OVER (PARTITION BY d.url ORDER BY d.next_at, d.id) AS place
                FROM (SELECT id, url, next_at FROM webhook.outbox
                       WHERE state = 'waiting' AND next_at <= $1 AND NOT url = ANY($2)
                       ORDER BY next_at, id LIMIT $3) d) c
        WHERE c.place <= $4)
 ORDER BY next_at, id LIMIT $5 FOR UPDATE SKIP LOCKED
"""

_CLAIM = """
UPDATE webhook.outbox SET tries = tries + 1, next_at = $2 WHERE id = ANY($1)
RETURNING id, job_id, owner, event, tries, url, payload
"""

_DELIVERED = """
UPDATE webhook.outbox SET state = 'delivered', finished_at = $2, error = NULL, payload = $3
 WHERE id = $1
"""

_FAILED = """
UPDATE webhook.outbox SET error = $3, next_at = $4
 WHERE id = $1 AND tries = $2 AND state = 'waiting'
"""

_DEAD = """
UPDATE webhook.outbox SET state = 'dead', error = $3, finished_at = $4
 WHERE id = $1 AND tries = $2 AND state = 'waiting'
"""

_LIST = """
SELECT job_id, event, state, tries, created_at, next_at, finished_at, url, error, payload
  FROM webhook.outbox WHERE job_id = $1 AND owner = $2 AND state = $3
 ORDER BY id LIMIT $4 OFFSET $5
"""

_RETRY_DEAD = """
UPDATE webhook.outbox SET state = 'waiting', tries = 0, next_at = $3, finished_at = NULL
 WHERE job_id = $1 AND owner = $2 AND state = 'dead'
RETURNING id
"""


class EventEmitter(Protocol):
    """Creates the events for a job's webhook; None where there is nothing to send.

    It is called within the transaction that the event reports, in any thread, and again where that
    transaction is retried.
    """

    def started(self, job: Job) -> NewEvent | None:
        """Report that work on a job has begun."""
        ...

    def page(self, url: str, result: PageResult) -> NewEvent | None:
        """Report the result of a URL."""
        ...

    def ended(self, job: Job) -> NewEvent | None:
        """Report that a job is over."""
        ...


@dataclass(frozen=True, slots=True)
class EventRecorder:
    """Writes the events of a job to the outbox, if the job has a webhook."""

    emitter: EventEmitter | None
    dialect: SqlDialect

    def started(self, job: Job | None, now: int) -> Query[None]:
        """Record that work on a job has begun."""
        if self.emitter is not None and job is not None:
            yield from self._add(self.emitter.started(job), now)

    def page(self, url: str, result: PageResult, now: int) -> Query[None]:
        """Record the result of a URL."""
        if self.emitter is not None:
            yield from self._add(self.emitter.page(url, result), now)

    def ended(self, job: Job | None, now: int) -> Query[None]:
        """Record that a job is over."""
        if self.emitter is not None and job is not None:
            yield from self._add(self.emitter.ended(job), now)

    def _add(self, event: NewEvent | None, now: int) -> Query[None]:
        if event is not None:
            payload = json.dumps({"id": event.id, "headers": event.headers, "body": event.body})
            args = (event.job_id, event.owner, event.type, now, event.url)
            yield _ADD.write(*args, self.dialect.pack_text(payload))


class Outbox(Repository):
    """Keeps webhook events until they are delivered, and for some time after."""

    @writes("claim_events")
    def claim(
        self, limit: int, *, per_url: int, but: Collection[str], seconds: float
    ) -> Query[list[DueEvent]]:
        """Lease events that are due, a few of each URL and none of some.

        No other worker gets them for so many seconds; those not marked by then are due again.
        """
        now = self._now()
        due = yield Statement(_DUE, (now, sorted(but), _MAX_CHOICE, per_url, limit))
        if not due:
            return []
        until = now + round(seconds * 1000)
        rows = yield Statement(_CLAIM, ([row["id"] for row in due], until))
        # A database may return rows in any order.
        events = []
        for row in sorted(rows, key=lambda row: row["id"]):
            payload = json.loads(self._dialect.unpack_text(row["payload"]))
            event = NewEvent(
                type=row["event"],
                job_id=row["job_id"],
                owner=row["owner"],
                url=row["url"],
                **payload,
            )
            events.append(DueEvent(row["id"], row["tries"], event))
        return events

    @writes("mark_event")
    def mark_delivered(self, due: DueEvent) -> Query[None]:
        """Record that an event was delivered, and delete its content."""
        rest = self._dialect.pack_text(json.dumps({"id": due.event.id}))
        yield Statement(_DELIVERED, (due.row_id, self._now(), rest))

    @writes("mark_event")
    def mark_failed(self, due: DueEvent, error: str, retry_ms: int | None) -> Query[None]:
        """Record why a try failed, and when the next one is; None where there is none.

        Nothing is recorded where another worker has the lease.
        """
        sql, at = (_DEAD, 0) if retry_ms is None else (_FAILED, retry_ms)
        args = (due.row_id, due.tries, scrub(error)[:_MAX_ERROR], self._now() + at)
        yield Statement(sql, args)

    @reads("list_events")
    def list_events(
        self, owner: str, job_id: str, state: EventState, *, offset: int = 0, limit: int = 100
    ) -> Query[list[EventListing]]:
        """Return the events of an owner's job that have a state, oldest first."""
        part = (clamp_limit(limit), max(0, offset))
        rows = yield Statement(_LIST, (job_id, owner, state, *part))
        is_waiting = state is EventState.WAITING
        return [
            EventListing(
                id=json.loads(self._dialect.unpack_text(row["payload"]))["id"],
                type=row["event"],
                job_id=row["job_id"],
                url=row["url"],
                state=state,
                tries=row["tries"],
                created_at=from_milliseconds(row["created_at"]),
                next_at=from_milliseconds(row["next_at"]) if is_waiting else None,
                finished_at=from_milliseconds(row["finished_at"]) if row["finished_at"] else None,
                error=row["error"],
            )
            for row in rows
        ]

    @writes("retry_events")
    def retry_dead(self, owner: str, job_id: str) -> Query[int]:
        """Make the dead events of an owner's job due again; return how many."""
        rows = yield Statement(_RETRY_DEAD, (job_id, owner, self._now()))
        return len(rows)
