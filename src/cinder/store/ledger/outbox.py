"""Webhook events as rows: written with the change they report, claimed, and marked."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from cinder.models.job import Job, PageResult
from cinder.models.webhook import DueEvent, EventListing, EventState, NewEvent
from cinder.store.database import Query, SqlDialect, SqlRow, Statement, scrub
from cinder.store.document_rows import from_milliseconds
from cinder.store.group_commit import BulkInsert, WriteStage
from cinder.store.ledger_base import EventEmitter

# Among how many due events those to be claimed are chosen, however many there are.
_MAX_CHOICE = 1000
_MAX_ERROR = 1000

_ADD = BulkInsert(
    stage=WriteStage.TELL,
    sql="""
INSERT INTO webhook.outbox (job_id, owner, event, state, created_at, next_at, url, payload)
VALUES {rows}
""",
    row="($1, $2, $3, 'waiting', $4, $4, $5, $6)",
    width=6,
)

# One URL that does not answer must not keep all others waiting, so few of its events are taken.
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

_DROP = "DELETE FROM webhook.outbox WHERE state IN ('delivered', 'dead') AND finished_at <= $1"


@dataclass(frozen=True, slots=True)
class EventRecorder:
    """Writes down what a job's webhook is to be told, if it has one."""

    emitter: EventEmitter | None
    dialect: SqlDialect

    @property
    def is_wanted(self) -> bool:
        """Whether there is anybody to tell."""
        return self.emitter is not None

    def started(self, job: Job | None, now: int) -> Query[None]:
        """Tell that work on a job has begun."""
        if self.emitter is not None and job is not None:
            yield from self._add(self.emitter.started(job), now)

    def page(self, url: str, result: PageResult, now: int) -> Query[None]:
        """Tell what became of a URL."""
        if self.emitter is not None:
            yield from self._add(self.emitter.page(url, result), now)

    def ended(self, job: Job | None, now: int) -> Query[None]:
        """Tell that a job is over."""
        if self.emitter is not None and job is not None:
            yield from self._add(self.emitter.ended(job), now)

    def _add(self, event: NewEvent | None, now: int) -> Query[None]:
        if event is not None:
            yield from add_event(event, now, self.dialect)


def add_event(event: NewEvent, now: int, dialect: SqlDialect) -> Query[None]:
    """Add an event, due at once."""
    payload = json.dumps({"id": event.id, "headers": event.headers, "body": event.body})
    args = (event.job_id, event.owner, event.type, now, event.url)
    yield _ADD.write(*args, dialect.pack_text(payload))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLimits:
    """How many events to claim, and of whom."""

    count: int
    per_url: int
    but: Collection[str] = ()
    """URLs of which none are wanted."""


def claim_due(
    limits: ClaimLimits, now: int, until: int, dialect: SqlDialect
) -> Query[list[DueEvent]]:
    """Claim events until a moment; those that are not marked by then are due again."""
    chosen = (now, sorted(limits.but), _MAX_CHOICE, limits.per_url, limits.count)
    due = yield Statement(_DUE, chosen)
    if not due:
        return []
    rows = yield Statement(_CLAIM, ([row["id"] for row in due], until))
    # A database may return rows in any order.
    return [_read_due(row, dialect) for row in sorted(rows, key=lambda row: row["id"])]


def mark_delivered(due: DueEvent, now: int, dialect: SqlDialect) -> Query[None]:
    """Note that an event has arrived, whoever has the claim now; what it said is let go."""
    rest = dialect.pack_text(json.dumps({"id": due.event.id}))
    yield Statement(_DELIVERED, (due.row_id, now, rest))


def mark_failed(due: DueEvent, error: str, next_at: int) -> Query[None]:
    """Note why a try failed, and when the next is."""
    yield Statement(_FAILED, (due.row_id, due.tries, _short(error), next_at))


def mark_dead(due: DueEvent, error: str, now: int) -> Query[None]:
    """Note why the last try failed."""
    yield Statement(_DEAD, (due.row_id, due.tries, _short(error), now))


def list_events(
    place: tuple[str, str, EventState], offset: int, limit: int, dialect: SqlDialect
) -> Query[list[EventListing]]:
    """Return the events of a job of an owner that have a state, oldest first."""
    rows = yield Statement(_LIST, (*place, limit, offset))
    return [_read_listing(row, dialect) for row in rows]


def retry_dead(job_id: str, owner: str, now: int) -> Query[int]:
    """Make the dead events of a job due again."""
    rows = yield Statement(_RETRY_DEAD, (job_id, owner, now))
    return len(rows)


def drop_finished(before: int) -> Query[None]:
    """Delete the events that were delivered, or died, before a moment."""
    yield Statement(_DROP, (before,))


def _short(error: str) -> str:
    return scrub(error)[:_MAX_ERROR]


def _read_due(row: SqlRow, dialect: SqlDialect) -> DueEvent:
    payload = json.loads(dialect.unpack_text(row["payload"]))
    event = NewEvent(
        id=payload["id"],
        type=row["event"],
        job_id=row["job_id"],
        owner=row["owner"],
        url=row["url"],
        headers=payload["headers"],
        body=payload["body"],
    )
    return DueEvent(row["id"], row["tries"], event)


def _read_listing(row: SqlRow, dialect: SqlDialect) -> EventListing:
    state, finished_at = EventState(row["state"]), row["finished_at"]
    return EventListing(
        id=json.loads(dialect.unpack_text(row["payload"]))["id"],
        type=row["event"],
        job_id=row["job_id"],
        url=row["url"],
        state=state,
        tries=row["tries"],
        created_at=from_milliseconds(row["created_at"]),
        next_at=from_milliseconds(row["next_at"]) if state is EventState.WAITING else None,
        finished_at=None if finished_at is None else from_milliseconds(finished_at),
        error=row["error"],
    )
