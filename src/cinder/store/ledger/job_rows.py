"""Jobs and schedules: added, found, finished and expired."""

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from cinder.models.job import Job, JobKind, JobStatus, NewJob, NewPage, Schedule
from cinder.store.database import (
    Query,
    Repository,
    SqlDialect,
    SqlRow,
    Statement,
    clamp_limit,
    execute,
    from_milliseconds,
    reads,
    to_milliseconds,
    writes,
)
from cinder.store.ledger.frontier import STATUS_COLUMNS, read_status_counts, seed_job
from cinder.store.ledger.outbox import EventEmitter, EventRecorder

# How long an event is kept after it was delivered, or died.
EVENT_RETENTION = timedelta(days=7)
# A job whose next_at is later than this was postponed before the clock was set back.
_FURTHEST_MS = 15 * 60 * 1000
_MAX_DUE = 100

_STATUS_COLUMNS = ", ".join(STATUS_COLUMNS.values())

_SELECT_JOB = f"""
SELECT id, kind, owner, status, max_pages, created_at, seeded_at, started_at, finished_at,
       expires_at, dropped_at, attempts, found, {_STATUS_COLUMNS}, too_deep, bytes_fetched, error,
       spec
  FROM webhook.jobs
"""  # noqa: S608 - constant columns

_FIND_JOB = f"{_SELECT_JOB} WHERE id = $1"
_FIND_BY_KEY = f"{_SELECT_JOB} WHERE owner = $1 AND kind = $2 AND idempotency_key = $3"
_LIST_JOBS = f"""
{_SELECT_JOB} WHERE owner = $1 AND kind = ANY($2) ORDER BY created_at DESC, id LIMIT $3
"""

_ADD_JOB = """
INSERT INTO webhook.jobs (id, kind, owner, status, idempotency_key, max_pages, created_at,
                          expires_at, next_at, spec)
VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $6, $8)
ON CONFLICT (owner, kind, idempotency_key) DO NOTHING
RETURNING id
"""

_UNATTENDED = """
SELECT id FROM webhook.jobs WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at LIMIT 1000
"""

# Only jobs that are not over have a next_at.
_COUNT_OPEN = "SELECT count(*) AS jobs FROM webhook.jobs WHERE next_at IS NOT NULL"

_OPEN_OWNERS = "SELECT DISTINCT owner FROM webhook.jobs WHERE next_at IS NOT NULL ORDER BY owner"

_NOTE_FAILURE = """
UPDATE webhook.jobs SET attempts = attempts + 1, error = $2, next_at = $3
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING attempts
"""

# A job that failed keeps its pause.
_LEAVE = """
UPDATE webhook.jobs SET next_at = $2 WHERE id = ANY($1) AND next_at > $2 AND attempts = 0
"""

_FORGET_FAILURES = """
UPDATE webhook.jobs SET attempts = 0, error = NULL
 WHERE id = $1 AND attempts > 0 AND status IN ('queued', 'running')
"""

# URLs without a status are left out.
_FINISH = f"""
UPDATE webhook.jobs SET status = $2, finished_at = $3, error = $4, next_at = NULL,
       left_out = found - ({" + ".join(STATUS_COLUMNS.values())})
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING id
"""  # noqa: S608 - constant columns

_SET_SPEC = "UPDATE webhook.jobs SET spec = $2 WHERE id = $1"

_LEAVE_OUT = """
UPDATE webhook.frontier SET state = 'done', fate = 'left out', reason = $2, finished_at = $3,
       fate_position = rest.place
  FROM (SELECT id AS page_id, row_number() OVER (ORDER BY id) - 1 AS place
          FROM webhook.frontier WHERE job_id = $1 AND state <> 'done') AS rest
 WHERE frontier.id = rest.page_id
"""

_DROP_HOSTS = "DELETE FROM webhook.job_hosts WHERE job_id = $1"

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

_DROP_EVENTS = """
DELETE FROM webhook.outbox WHERE state IN ('delivered', 'dead') AND finished_at <= $1
"""

_REASONS = {
    JobStatus.CANCELLED: "the job was cancelled",
    JobStatus.COMPLETED: "the job has as many pages as it may",
    JobStatus.FAILED: "the job failed",
}

_SELECT_SCHEDULE = "SELECT name, owner, kind, cron, next_at, spec FROM webhook.schedules"

_ADD_SCHEDULE = """
INSERT INTO webhook.schedules (name, owner, kind, cron, next_at, spec)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, cron = excluded.cron,
    next_at = excluded.next_at, spec = excluded.spec
 WHERE schedules.owner = excluded.owner
RETURNING name
"""

_REMOVE_SCHEDULE = "DELETE FROM webhook.schedules WHERE owner = $1 AND name = $2 RETURNING name"

_MOVE_SCHEDULE = """
UPDATE webhook.schedules SET next_at = $4 WHERE name = $1 AND owner = $2 AND next_at = $3
RETURNING name
"""


def find_job(job_id: str, dialect: SqlDialect) -> Query[Job | None]:
    """Return a job, or None."""
    rows = yield Statement(_FIND_JOB, (job_id,))
    return _decode_job(rows[0], dialect) if rows else None


class JobOperations(Repository):
    """The operations on jobs and schedules."""

    @writes("add_job")
    def add_job(
        self, job: NewJob, pages: Sequence[NewPage] = (), *, is_seeded: bool = True
    ) -> Query[Job]:
        """Add a job and its first URLs; return it, or the one that has its idempotency key.

        A job that is not seeded yet gets more URLs before it can end.
        """
        spec, now = self._dialect.pack_text(json.dumps(job.spec)), self._now()
        args = (job.id, job.kind, job.owner, job.idempotency_key, job.max_pages, now)
        added = yield Statement(_ADD_JOB, (*args, to_milliseconds(job.expires_at), spec))
        if not added:
            rows = yield Statement(_FIND_BY_KEY, (job.owner, job.kind, job.idempotency_key))
            return _decode_job(rows[0], self._dialect)
        yield from seed_job(job.id, pages, self._now, is_last=is_seeded)
        found = yield from find_job(job.id, self._dialect)
        if found is None:
            raise LookupError(job.id)
        return found

    @reads("find_job")
    def find_job(self, job_id: str) -> Query[Job | None]:
        """Return a job."""
        return find_job(job_id, self._dialect)

    @reads("list_jobs")
    def list_jobs(
        self, owner: str, kind: JobKind | None = None, *, limit: int = 100
    ) -> Query[list[Job]]:
        """Return the jobs of an owner, newest first; of one kind, or of all."""
        kinds = [kind.value for kind in JobKind] if kind is None else [kind.value]
        rows = yield Statement(_LIST_JOBS, (owner, kinds, clamp_limit(limit)))
        return [_decode_job(row, self._dialect) for row in rows]

    @reads("count_open")
    def count_open(self, owner: str | None = None) -> Query[int]:
        """Return how many jobs are not over: an owner's, or all."""
        of_owner = Statement(f"{_COUNT_OPEN} AND owner = $1", (owner,))
        rows = yield of_owner if owner else Statement(_COUNT_OPEN)
        return int(rows[0]["jobs"])

    @reads("list_open_owners")
    def list_open_owners(self) -> Query[list[str]]:
        """Return the owners of jobs that are not over."""
        rows = yield Statement(_OPEN_OWNERS)
        return [row["owner"] for row in rows]

    @reads("list_unattended")
    def list_unattended(self) -> Query[list[str]]:
        """Return the jobs that are not over and that no worker attends."""
        now = self._now()
        rows = yield Statement(_UNATTENDED, (now, now + _FURTHEST_MS))
        return [row["id"] for row in rows]

    @writes("note_failure")
    def note_failure(self, job_id: str, error: str, retry_ms: int) -> Query[int]:
        """Record that working on a job failed; return how many times in a row it has."""
        rows = yield Statement(_NOTE_FAILURE, (job_id, error, self._now() + retry_ms))
        return rows[0]["attempts"] if rows else 0

    @writes("leave_jobs")
    def leave_jobs(self, job_ids: Collection[str]) -> Query[None]:
        """Record that this worker leaves jobs: others need not wait for its leases to run out."""
        yield Statement(_LEAVE, (sorted(job_ids), self._now()))

    @writes("forget_failures")
    def forget_failures(self, job_id: str) -> Query[None]:
        """Record that working on a job succeeded: the next failure is its first in a row."""
        yield Statement(_FORGET_FAILURES, (job_id,))

    @writes("finish_job")
    def finish_job(
        self,
        job_id: str,
        status: JobStatus,
        error: str | None = None,
        *,
        emitter: EventEmitter | None = None,
    ) -> Query[bool]:
        """End a job; URLs that are not fetched are left out. False if it was over already.

        The error of a completed job is the limit that it has reached.
        """
        now, events = self._now(), EventRecorder(emitter, self._dialect)
        ended = yield Statement(_FINISH, (job_id, status, now, error))
        if not ended:
            return False
        reason = (status is JobStatus.COMPLETED and error) or _REASONS[status]
        yield Statement(_LEAVE_OUT, (job_id, reason, now))
        yield Statement(_DROP_HOSTS, (job_id,))
        job = yield from find_job(job_id, self._dialect)
        yield from events.ended(job, now)
        if job is not None:
            # Objects and lists may hold secrets; plain values, such as the URL, stay.
            plain = {k: v for k, v in job.spec.items() if not isinstance(v, dict | list)}
            yield Statement(_SET_SPEC, (job_id, self._dialect.pack_text(json.dumps(plain))))
        return True

    async def drop_expired(
        self, now: datetime, *, emitter_of: Callable[[Job], EventEmitter | None] = lambda _: None
    ) -> int:
        """Delete the URLs of jobs that have expired; return how many jobs.

        Jobs that were not over have failed, and their emitters report it. Events that were
        delivered or died long ago are deleted too.
        """
        with self._timed("drop_events"):
            before = to_milliseconds(now - EVENT_RETENTION)
            await self._database.write(lambda: execute(_DROP_EVENTS, before))
        dropped = 0
        while await self._drop_expired_job(to_milliseconds(now), emitter_of):
            dropped += 1
        return dropped

    @writes("drop_expired")
    def _drop_expired_job(
        self, now: int, emitter_of: Callable[[Job], EventEmitter | None]
    ) -> Query[bool]:
        """Delete the URLs and the spec of one expired job; False when there is none."""
        dialect = self._dialect
        rows = yield Statement(_EXPIRED_JOBS, (now,))
        for row in rows:
            job = yield from find_job(row["id"], dialect)
            yield Statement(_DROP_PAGES, (row["id"],))
            yield Statement(_DROP_HOSTS, (row["id"],))
            yield Statement(_DROP_SPEC, (row["id"], now, dialect.pack_text("{}")))
            if job is not None and not job.status.is_over:
                events = EventRecorder(emitter_of(job), dialect)
                yield from events.ended((yield from find_job(job.id, dialect)), now)
        return bool(rows)

    @writes("add_schedule")
    def add_schedule(self, schedule: Schedule) -> Query[bool]:
        """Add or replace an owner's schedule; False if the name is another owner's."""
        spec = self._dialect.pack_text(json.dumps(schedule.spec))
        next_at = to_milliseconds(schedule.next_at)
        args = (schedule.name, schedule.owner, schedule.kind, schedule.cron, next_at, spec)
        rows = yield Statement(_ADD_SCHEDULE, args)
        return bool(rows)

    @reads("list_schedules")
    def list_schedules(self, owner: str, *, limit: int = 100) -> Query[list[Schedule]]:
        """Return the schedules of an owner, by name."""
        sql = f"{_SELECT_SCHEDULE} WHERE owner = $1 ORDER BY name LIMIT $2"
        rows = yield Statement(sql, (owner, clamp_limit(limit)))
        return [_decode_schedule(row, self._dialect) for row in rows]

    @reads("list_due_schedules")
    def list_due_schedules(self) -> Query[list[Schedule]]:
        """Return the schedules that are due."""
        sql = f"{_SELECT_SCHEDULE} WHERE next_at <= $1 ORDER BY next_at LIMIT $2"
        rows = yield Statement(sql, (self._now(), _MAX_DUE))
        return [_decode_schedule(row, self._dialect) for row in rows]

    @writes("remove_schedule")
    def remove_schedule(self, owner: str, name: str) -> Query[bool]:
        """Delete an owner's schedule; False if there is none."""
        rows = yield Statement(_REMOVE_SCHEDULE, (owner, name))
        return bool(rows)

    @writes("move_schedule")
    def move_schedule(self, schedule: Schedule, next_at: datetime) -> Query[bool]:
        """Set when a schedule is next due; False if another process has, or it is gone."""
        times = (to_milliseconds(schedule.next_at), to_milliseconds(next_at))
        rows = yield Statement(_MOVE_SCHEDULE, (schedule.name, schedule.owner, *times))
        return bool(rows)


def _decode_job(row: SqlRow, dialect: SqlDialect) -> Job:
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


def _decode_schedule(row: SqlRow, dialect: SqlDialect) -> Schedule:
    return Schedule(
        name=row["name"],
        owner=row["owner"],
        kind=JobKind(row["kind"]),
        cron=row["cron"],
        spec=json.loads(dialect.unpack_text(row["spec"])),
        next_at=from_milliseconds(row["next_at"]),
    )
