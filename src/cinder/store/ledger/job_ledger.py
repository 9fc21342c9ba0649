"""The job ledger and the webhook outbox: every operation, timed, on either database."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from cinder.models.job import (
    HostState,
    Job,
    JobCounts,
    JobKind,
    JobStatus,
    LeaseBatch,
    LeaseLimits,
    LedgerPage,
    NewJob,
    NewPage,
    PageLease,
    PageResult,
    PageStatus,
    Schedule,
)
from cinder.models.saved import SavedDocument
from cinder.models.webhook import DueEvent, EventListing, EventState
from cinder.store.base import QueryObserver, TimedDatabase
from cinder.store.database import Database, Query
from cinder.store.document_rows import to_milliseconds
from cinder.store.ledger import frontier, job_rows, leases, outbox, page_commits
from cinder.store.ledger_base import EventEmitter, IsNearDuplicate, PageCommit

MAX_LISTED = 1000
# How long an event is kept when nothing more is done about it.
EVENT_RETENTION = timedelta(days=7)


class JobLedger:
    """Keeps jobs and their URLs in a database. See `cinder.store.ledger_base.Ledger`."""

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._dialect = database.dialect
        self._clock = clock

    async def add_job(
        self, job: NewJob, pages: Sequence[NewPage] = (), *, is_seeded: bool = True
    ) -> Job:
        """Keep a job and its first URLs; return it, or the one that has its idempotency key.

        One that is not seeded yet has further URLs to find before it can end.
        """
        return await self._database.write(
            "add_job", lambda: self._add_job(job, pages, is_seeded=is_seeded)
        )

    async def find_job(self, job_id: str) -> Job | None:
        """Return a job."""
        return await self._database.read(
            "find_job", lambda: job_rows.find_job(job_id, self._dialect)
        )

    async def list_jobs(
        self, owner: str, kind: JobKind | None = None, *, limit: int = 100
    ) -> list[Job]:
        """Return the jobs that somebody started, newest first; of one kind, or of all."""
        kinds = list(JobKind) if kind is None else [kind]
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_jobs", lambda: job_rows.list_jobs(owner, kinds, count, self._dialect)
        )

    async def count_open(self, owner: str | None = None) -> int:
        """Return how many jobs are not over: somebody's, or all."""
        return await self._database.read("count_open", lambda: job_rows.count_open(owner))

    async def list_open_owners(self) -> list[str]:
        """Return who has jobs that are not over."""
        return await self._database.read("list_open_owners", job_rows.list_open_owners)

    async def list_unattended(self) -> list[str]:
        """Return the jobs that are not over and that nobody looks after."""
        return await self._database.read(
            "list_unattended", lambda: job_rows.list_unattended(self._now())
        )

    async def note_failure(self, job_id: str, error: str, retry_ms: int) -> int:
        """Note that working on a job failed; return how often in a row it now has."""
        return await self._database.write(
            "note_failure", lambda: job_rows.note_failure(job_id, error, self._now() + retry_ms)
        )

    async def leave_jobs(self, job_ids: Collection[str]) -> None:
        """Note that jobs are no longer looked after here: others need not wait for their leases."""
        await self._database.write("leave_jobs", lambda: job_rows.leave_jobs(job_ids, self._now()))

    async def forget_failures(self, job_id: str) -> None:
        """Note that working on a job went well: the next failure is its first in a row."""
        await self._database.write("forget_failures", lambda: job_rows.forget_failures(job_id))

    async def finish_job(
        self,
        job_id: str,
        status: JobStatus,
        error: str | None = None,
        *,
        emitter: EventEmitter | None = None,
    ) -> bool:
        """End a job; what it has not fetched is left out. False if it was over already."""
        telling = outbox.EventRecorder(emitter, self._dialect)
        return await self._database.write(
            "finish_job", lambda: job_rows.finish_job(job_id, status, error, self._now(), telling)
        )

    async def add_pages(
        self, job_id: str, pages: Sequence[NewPage], *, is_last: bool = False
    ) -> int:
        """Add URLs to a job's ledger, each once; the last call tells that all seeds are there."""
        return await self._database.write(
            "add_pages", lambda: self._add_pages(job_id, pages, is_last=is_last)
        )

    async def lease(
        self, job_id: str, limits: LeaseLimits, *, emitter: EventEmitter | None = None
    ) -> LeaseBatch:
        """Claim URLs that may be fetched now, as politely as their hosts want it."""
        telling = outbox.EventRecorder(emitter, self._dialect)
        return await self._database.write(
            "lease", lambda: leases.lease(job_id, limits, self._now(), telling)
        )

    async def renew(self, claims: Collection[PageLease], seconds: float) -> None:
        """Make leases last for so long from now."""
        await self._database.write(
            "renew", lambda: leases.renew(claims, self._now() + round(seconds * 1000))
        )

    async def release(self, claims: Collection[PageLease], *, is_try: bool = False) -> None:
        """Give claims back unused; a try is counted where the URL was asked for."""
        await self._database.write("release", lambda: leases.release(claims, is_try=is_try))

    def page_commit(
        self,
        claim: PageLease,
        result: Callable[[SavedDocument | None], PageResult],
        found: Sequence[NewPage] = (),
        *,
        is_near: IsNearDuplicate | None = None,
        emitter: EventEmitter | None = None,
    ) -> PageCommit:
        """Return what writes down the fate of a claimed URL and the URLs found on its page.

        Run, it raises `LeaseLost` where the claim no longer holds: nothing is written then.
        """
        telling = outbox.EventRecorder(emitter, self._dialect)
        rules = page_commits.CommitRules(is_near=is_near, telling=telling)
        return page_commits.make_page_commit(claim, result, found, rules, self._now)

    async def settle(self, page_commit: PageCommit, saved: SavedDocument | None = None) -> None:
        """Write down the fate of a URL whose page is not saved, or was before.

        Raises:
            LeaseLost: the claim no longer holds.
        """
        await self._database.write(
            "settle", lambda: page_commit.write(saved), together=page_commit.job_id
        )

    async def find_host(self, host: str) -> HostState:
        """Return what is known of a host."""
        return await self._database.read("find_host", lambda: leases.find_host(host))

    async def note_robots(self, host: str, status: int, body: bytes, *, failed: bool) -> None:
        """Keep a host's robots.txt, or that it could not be had once more."""
        await self._database.write(
            "note_robots",
            lambda: leases.note_robots(host, status, body, self._now(), failed=failed),
        )

    async def slow_down(self, host: str, *, delay_ms: int, pause_ms: int = 0) -> None:
        """Set the time between two requests to a host, and let it rest for some time."""
        await self._database.write(
            "slow_down", lambda: leases.slow_down(host, delay_ms, self._now() + pause_ms)
        )

    async def count_pages(self, job_id: str) -> JobCounts:
        """Return how many of a job's URLs there are of each state and fate."""
        return await self._database.read("count_pages", lambda: frontier.count_pages(job_id))

    async def count_templates(self, job_id: str) -> Mapping[str, int]:
        """Return how many URLs of each template a job has taken."""
        return await self._database.read(
            "count_templates", lambda: frontier.count_templates(job_id)
        )

    async def list_pages(
        self,
        job_id: str,
        fates: Collection[PageStatus] | None,
        *,
        offset: int,
        limit: int,
    ) -> list[LedgerPage]:
        """Return URLs with these fates in the order in which they got them; None for every URL."""
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_pages", lambda: frontier.list_pages(job_id, fates, max(0, offset), count)
        )

    async def add_schedule(self, schedule: Schedule) -> bool:
        """Keep a schedule, over its owner's of that name; False if the name is another's."""
        return await self._database.write(
            "add_schedule", lambda: job_rows.add_schedule(schedule, self._dialect)
        )

    async def list_schedules(self, owner: str, *, limit: int = 100) -> list[Schedule]:
        """Return somebody's schedules, by name."""
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_schedules", lambda: job_rows.list_schedules(owner, count, self._dialect)
        )

    async def remove_schedule(self, owner: str, name: str) -> bool:
        """Delete somebody's schedule; False if there is none."""
        return await self._database.write(
            "remove_schedule", lambda: job_rows.remove_schedule(owner, name)
        )

    async def list_due_schedules(self) -> list[Schedule]:
        """Return the schedules whose time has come."""
        return await self._database.read(
            "list_due_schedules", lambda: job_rows.list_due(self._now(), self._dialect)
        )

    async def move_schedule(self, schedule: Schedule, next_at: datetime) -> bool:
        """Set when a schedule is next due; False if another has, or it is gone."""
        return await self._database.write(
            "move_schedule", lambda: job_rows.move_schedule(schedule, next_at)
        )

    async def drop_expired(
        self, now: datetime, *, emitter_of: Callable[[Job], EventEmitter | None] = lambda _: None
    ) -> int:
        """Delete the URLs of jobs that have expired; return how many jobs."""
        moment = to_milliseconds(now)
        kept_since = to_milliseconds(now - EVENT_RETENTION)
        await self._database.write("drop_events", lambda: outbox.drop_finished(kept_since))
        dropped = 0
        while await self._database.write(
            "drop_expired", lambda: job_rows.drop_expired_job(moment, self._dialect, emitter_of)
        ):
            dropped += 1
        return dropped

    def _add_job(self, job: NewJob, seeds: Sequence[NewPage], *, is_seeded: bool) -> Query[Job]:
        now = self._now()
        known = yield from job_rows.add_job(job, now, self._dialect)
        if known is not None:
            return known
        yield from self._add_pages(job.id, seeds, is_last=is_seeded)
        added = yield from job_rows.find_job(job.id, self._dialect)
        if added is None:
            raise LookupError(job.id)
        return added

    def _add_pages(self, job_id: str, new: Sequence[NewPage], *, is_last: bool) -> Query[int]:
        yield from frontier.lock_job(job_id)
        now = self._now()
        added = yield from frontier.add_pages(job_id, new, now)
        yield from frontier.count_up(job_id, added)
        if is_last:
            yield from frontier.mark_seeded(job_id, now)
        return added.found

    def _now(self) -> int:
        return to_milliseconds(self._clock())


class JobOutbox:
    """Keeps what webhooks are to be told. See `cinder.store.ledger_base.Outbox`."""

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._dialect = database.dialect
        self._clock = clock

    async def claim(
        self, limit: int, *, per_url: int, but: Collection[str], seconds: float
    ) -> list[DueEvent]:
        """Claim events that are due, few of each URL and none of some.

        Nobody else gets them for so many seconds; what is not marked by then is due again.
        """
        limits = outbox.ClaimLimits(count=limit, per_url=per_url, but=but)
        return await self._database.write("claim_events", lambda: self._claim(limits, seconds))

    async def mark_delivered(self, due: DueEvent) -> None:
        """Note that an event has arrived."""
        await self._database.write(
            "mark_event", lambda: outbox.mark_delivered(due, self._now(), self._dialect)
        )

    async def mark_failed(self, due: DueEvent, error: str, retry_ms: int | None) -> None:
        """Note why a try failed, and when the next is; None where there is none.

        Nothing is noted where the claim has gone to somebody else.
        """
        await self._database.write("mark_event", lambda: self._mark_failed(due, error, retry_ms))

    async def list_events(
        self, owner: str, job_id: str, state: EventState, *, offset: int = 0, limit: int = 100
    ) -> list[EventListing]:
        """Return the events of somebody's job that stand there, oldest first."""
        place, count = (job_id, owner, state), max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_events", lambda: outbox.list_events(place, max(0, offset), count, self._dialect)
        )

    async def retry_dead(self, owner: str, job_id: str) -> int:
        """Have the dead events of somebody's job tried anew; return how many."""
        return await self._database.write(
            "retry_events", lambda: outbox.retry_dead(job_id, owner, self._now())
        )

    def _claim(self, limits: outbox.ClaimLimits, seconds: float) -> Query[list[DueEvent]]:
        now = self._now()
        return outbox.claim_due(limits, now, now + round(seconds * 1000), self._dialect)

    def _mark_failed(self, due: DueEvent, error: str, retry_ms: int | None) -> Query[None]:
        now = self._now()
        if retry_ms is None:
            return outbox.mark_dead(due, error, now)
        return outbox.mark_failed(due, error, now + retry_ms)

    def _now(self) -> int:
        return to_milliseconds(self._clock())
