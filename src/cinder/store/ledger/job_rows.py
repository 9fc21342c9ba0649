"""Jobs and schedules as rows: added, found, finished and expired."""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from cinder.models.document import Json
from cinder.models.job import Job, JobKind, JobStatus, NewJob, Schedule
from cinder.store.database import Query, SqlDialect, SqlRow, Statement
from cinder.store.document_rows import from_milliseconds, to_milliseconds
from cinder.store.ledger.frontier import STATUS_COLUMNS, read_status_counts
from cinder.store.ledger.outbox import EventRecorder
from cinder.store.ledger_base import EventEmitter

_JOB_COLUMNS = f"""
id, kind, owner, status, max_pages, created_at, seeded_at, started_at, finished_at, expires_at,
dropped_at, attempts, found, {", ".join(STATUS_COLUMNS.values())}, too_deep, bytes_fetched, error,
spec
"""

_ADD_JOB = """
INSERT INTO webhook.jobs (id, kind, owner, status, idempotency_key, max_pages, created_at,
                          expires_at, next_at, spec)
VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $6, $8)
ON CONFLICT (owner, kind, idempotency_key) DO NOTHING
RETURNING id
"""

_FIND_JOB = f"SELECT {_JOB_COLUMNS} FROM webhook.jobs WHERE id = $1"  # noqa: S608 - columns of ours

_FIND_BY_KEY = f"""
SELECT {_JOB_COLUMNS} FROM webhook.jobs WHERE owner = $1 AND kind = $2 AND idempotency_key = $3
"""  # noqa: S608 - the same

_LIST_JOBS = f"""
SELECT {_JOB_COLUMNS} FROM webhook.jobs WHERE owner = $1 AND kind = ANY($2)
 ORDER BY created_at DESC, id LIMIT $3
"""  # noqa: S608 - the same

# One that is to be looked after later than this was put off before the clock was set back.
_FURTHEST_MS = 15 * 60 * 1000
_UNATTENDED = """
SELECT id FROM webhook.jobs WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at LIMIT 1000
"""

# Those alone have a time at which somebody should look after them.
_COUNT_OPEN = "SELECT count(*) AS jobs FROM webhook.jobs WHERE next_at IS NOT NULL"

_COUNT_OPEN_OF = f"{_COUNT_OPEN} AND owner = $1"

_OPEN_OWNERS = "SELECT DISTINCT owner FROM webhook.jobs WHERE next_at IS NOT NULL ORDER BY owner"

_NOTE_FAILURE = """
UPDATE webhook.jobs SET attempts = attempts + 1, error = $2, next_at = $3
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING attempts
"""

# One that failed keeps its pause.
_LEAVE = """
UPDATE webhook.jobs SET next_at = $2 WHERE id = ANY($1) AND next_at > $2 AND attempts = 0
"""

_FORGET_FAILURES = """
UPDATE webhook.jobs SET attempts = 0, error = NULL
 WHERE id = $1 AND attempts > 0 AND status IN ('queued', 'running')
"""

# Whatever has no fate yet is left out.
_FINISH = f"""
UPDATE webhook.jobs SET status = $2, finished_at = $3, error = $4, next_at = NULL,
       left_out = found - ({" + ".join(STATUS_COLUMNS.values())})
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING id
"""  # noqa: S608 - columns of ours

_FORGET_SPEC = "UPDATE webhook.jobs SET spec = $2 WHERE id = $1"

_LEAVE_OUT = """
UPDATE webhook.frontier SET state = 'done', fate = 'left out', reason = $2, finished_at = $3,
       fate_position = rest.place
  FROM (SELECT id AS page_id, row_number() OVER (ORDER BY id) - 1 AS place
          FROM webhook.frontier WHERE job_id = $1 AND state <> 'done') AS rest
 WHERE frontier.id = rest.page_id
"""

_EMPTY_HOSTS = "DELETE FROM webhook.job_hosts WHERE job_id = $1"

_EXPIRED_JOBS = """
SELECT id FROM webhook.jobs WHERE expires_at <= $1 AND dropped_at IS NULL
 ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""

_DROP_PAGES = "DELETE FROM webhook.frontier WHERE job_id = $1"

_DROP_SPEC = """
UPDATE webhook.jobs SET dropped_at = $2, spec = $3, next_at = NULL,
       status = CASE WHEN status IN ('queued', 'running') THEN 'failed' ELSE status END
 WHERE id = $1
"""

_REASONS = {
    JobStatus.CANCELLED: "the job was cancelled",
    JobStatus.COMPLETED: "the job has as many pages as it may",
    JobStatus.FAILED: "the job failed",
}


def add_job(job: NewJob, now: int, dialect: SqlDialect) -> Query[Job | None]:
    """Add a job; return None, or the job that has its idempotency key already."""
    spec = dialect.pack_text(json.dumps(job.spec))
    args = (job.id, job.kind, job.owner, job.idempotency_key, job.max_pages, now)
    added = yield Statement(_ADD_JOB, (*args, to_milliseconds(job.expires_at), spec))
    if added:
        return None
    rows = yield Statement(_FIND_BY_KEY, (job.owner, job.kind, job.idempotency_key))
    return read_job(rows[0], dialect)


def find_job(job_id: str, dialect: SqlDialect) -> Query[Job | None]:
    """Return a job, or None."""
    rows = yield Statement(_FIND_JOB, (job_id,))
    return read_job(rows[0], dialect) if rows else None


def list_jobs(
    owner: str, kinds: Collection[JobKind], limit: int, dialect: SqlDialect
) -> Query[list[Job]]:
    """Return the jobs of these kinds that somebody started, newest first."""
    rows = yield Statement(_LIST_JOBS, (owner, [kind.value for kind in kinds], limit))
    return [read_job(row, dialect) for row in rows]


def count_open(owner: str | None) -> Query[int]:
    """Return how many jobs are not over: somebody's, or all."""
    rows = yield Statement(_COUNT_OPEN_OF, (owner,)) if owner else Statement(_COUNT_OPEN)
    return int(rows[0]["jobs"])


def list_open_owners() -> Query[list[str]]:
    """Return who has jobs that are not over."""
    rows = yield Statement(_OPEN_OWNERS)
    return [row["owner"] for row in rows]


def list_unattended(now: int) -> Query[list[str]]:
    """Return the jobs that somebody should have looked after by now."""
    rows = yield Statement(_UNATTENDED, (now, now + _FURTHEST_MS))
    return [row["id"] for row in rows]


def note_failure(job_id: str, error: str, next_at: int) -> Query[int]:
    """Note that working on a job failed; return how often in a row it now has."""
    rows = yield Statement(_NOTE_FAILURE, (job_id, error, next_at))
    return rows[0]["attempts"] if rows else 0


def leave_jobs(job_ids: Collection[str], now: int) -> Query[None]:
    """Note that somebody should look after jobs from now on."""
    yield Statement(_LEAVE, (sorted(job_ids), now))


def forget_failures(job_id: str) -> Query[None]:
    """Note that working on a job went well again."""
    yield Statement(_FORGET_FAILURES, (job_id,))


def finish_job(
    job_id: str, status: JobStatus, error: str | None, now: int, telling: EventRecorder
) -> Query[bool]:
    """End a job that is not over; what it has not fetched is left out."""
    ended = yield Statement(_FINISH, (job_id, status, now, error))
    if not ended:
        return False
    # One that ends well and yet has something to say has met a limit, which is the reason.
    reason = (status is JobStatus.COMPLETED and error) or _REASONS[status]
    yield Statement(_LEAVE_OUT, (job_id, reason, now))
    yield Statement(_EMPTY_HOSTS, (job_id,))
    job = yield from find_job(job_id, telling.dialect)
    yield from telling.ended(job, now)
    if job is not None:
        rest = telling.dialect.pack_text(json.dumps(_plain_facts(job.spec)))
        yield Statement(_FORGET_SPEC, (job_id, rest))
    return True


def _plain_facts(spec: Mapping[str, Json]) -> dict[str, Json]:
    """Return what stays of the spec of a job that is over: its address, and no secrets."""
    return {name: value for name, value in spec.items() if not isinstance(value, dict | list)}


def drop_expired_job(
    now: int, dialect: SqlDialect, emitter_of: Callable[[Job], EventEmitter | None]
) -> Query[bool]:
    """Delete the URLs and the spec of one job that has expired; False when there is none."""
    rows = yield Statement(_EXPIRED_JOBS, (now,))
    for row in rows:
        job = yield from find_job(row["id"], dialect)
        yield Statement(_DROP_PAGES, (row["id"],))
        yield Statement(_EMPTY_HOSTS, (row["id"],))
        yield Statement(_DROP_SPEC, (row["id"], now, dialect.pack_text("{}")))
        if job is not None and not job.status.is_over:
            telling = EventRecorder(emitter_of(job), dialect)
            yield from telling.ended((yield from find_job(job.id, dialect)), now)
    return bool(rows)


def read_job(row: SqlRow, dialect: SqlDialect) -> Job:
    """Return the job that a row tells of."""
    return Job(
        id=row["id"],
        kind=JobKind(row["kind"]),
        owner=row["owner"],
        status=JobStatus(row["status"]),
        spec=json.loads(dialect.unpack_text(row["spec"])),
        created_at=from_milliseconds(row["created_at"]),
        expires_at=from_milliseconds(row["expires_at"]),
        max_pages=row["max_pages"],
        started_at=from_milliseconds(row["started_at"]) if row["started_at"] else None,
        finished_at=from_milliseconds(row["finished_at"]) if row["finished_at"] else None,
        found=row["found"],
        fates=read_status_counts(row),
        too_deep=row["too_deep"],
        bytes_fetched=row["bytes_fetched"],
        attempts=row["attempts"],
        error=row["error"],
        is_expired=row["dropped_at"] is not None,
        is_seeded=row["seeded_at"] is not None,
    )


MAX_DUE = 100

_SCHEDULE_COLUMNS = "name, owner, kind, cron, next_at, spec"

_ADD_SCHEDULE = f"""
INSERT INTO webhook.schedules ({_SCHEDULE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, cron = excluded.cron,
    next_at = excluded.next_at, spec = excluded.spec
 WHERE schedules.owner = excluded.owner
RETURNING name
"""  # noqa: S608 - columns of ours

_LIST_SCHEDULES = (
    f"SELECT {_SCHEDULE_COLUMNS} FROM webhook.schedules WHERE owner = $1 ORDER BY name LIMIT $2"  # noqa: S608 - the same
)

_DUE_SCHEDULES = f"""
SELECT {_SCHEDULE_COLUMNS} FROM webhook.schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2
"""  # noqa: S608 - the same

_REMOVE_SCHEDULE = "DELETE FROM webhook.schedules WHERE owner = $1 AND name = $2 RETURNING name"

_MOVE_SCHEDULE = """
UPDATE webhook.schedules SET next_at = $4 WHERE name = $1 AND owner = $2 AND next_at = $3
RETURNING name
"""


def add_schedule(schedule: Schedule, dialect: SqlDialect) -> Query[bool]:
    """Keep a schedule, over its owner's of that name; False if the name is another's."""
    spec = dialect.pack_text(json.dumps(schedule.spec))
    next_at = to_milliseconds(schedule.next_at)
    args = (schedule.name, schedule.owner, schedule.kind, schedule.cron, next_at, spec)
    rows = yield Statement(_ADD_SCHEDULE, args)
    return bool(rows)


def list_schedules(owner: str, limit: int, dialect: SqlDialect) -> Query[list[Schedule]]:
    """Return somebody's schedules, by name."""
    rows = yield Statement(_LIST_SCHEDULES, (owner, limit))
    return [_read_schedule(row, dialect) for row in rows]


def list_due(now: int, dialect: SqlDialect) -> Query[list[Schedule]]:
    """Return the schedules whose time has come."""
    rows = yield Statement(_DUE_SCHEDULES, (now, MAX_DUE))
    return [_read_schedule(row, dialect) for row in rows]


def remove_schedule(owner: str, name: str) -> Query[bool]:
    """Delete somebody's schedule; False if there is none."""
    rows = yield Statement(_REMOVE_SCHEDULE, (owner, name))
    return bool(rows)


def move_schedule(schedule: Schedule, next_at: datetime) -> Query[bool]:
    """Set when a schedule is next due, unless somebody else has."""
    known = to_milliseconds(schedule.next_at)
    args = (schedule.name, schedule.owner, known, to_milliseconds(next_at))
    rows = yield Statement(_MOVE_SCHEDULE, args)
    return bool(rows)


def _read_schedule(row: SqlRow, dialect: SqlDialect) -> Schedule:
    return Schedule(
        name=row["name"],
        owner=row["owner"],
        kind=JobKind(row["kind"]),
        cron=row["cron"],
        spec=json.loads(dialect.unpack_text(row["spec"])),
        next_at=from_milliseconds(row["next_at"]),
    )
