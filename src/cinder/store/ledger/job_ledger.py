"""The ledger itself: every operation, timed, over whichever database runs it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from cinder.model.job import (
    Claim,
    Fate,
    HostState,
    Job,
    JobCounts,
    JobKind,
    JobStatus,
    Lease,
    LeaseLimits,
    LedgerPage,
    NewJob,
    NewPage,
    PageResult,
)
from cinder.model.saved import SavedDocument
from cinder.model.schedule import Schedule
from cinder.store.base import QueryObserver
from cinder.store.codec import to_milliseconds
from cinder.store.database import Database
from cinder.store.ledger import (
    hosts,
    jobs,
    leasing,
    listing,
    outbox,
    pages,
    schedules,
    settling,
    tally,
)
from cinder.store.ledger_base import IsNear, Settlement
from cinder.store.outbox_base import Teller
from cinder.store.procedure import Procedure
from cinder.store.timed import TimedDatabase

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
        return await self._database.read("find_job", lambda: jobs.find_job(job_id, self._dialect))

    async def list_jobs(
        self, owner: str, kind: JobKind | None = None, *, limit: int = 100
    ) -> list[Job]:
        """Return the jobs that somebody started, newest first; of one kind, or of all."""
        kinds = list(JobKind) if kind is None else [kind]
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_jobs", lambda: jobs.list_jobs(owner, kinds, count, self._dialect)
        )

    async def count_open(self, owner: str | None = None) -> int:
        """Return how many jobs are not over: somebody's, or all."""
        return await self._database.read("count_open", lambda: jobs.count_open(owner))

    async def list_open_owners(self) -> list[str]:
        """Return who has jobs that are not over."""
        return await self._database.read("list_open_owners", jobs.list_open_owners)

    async def list_unattended(self) -> list[str]:
        """Return the jobs that are not over and that nobody looks after."""
        return await self._database.read(
            "list_unattended", lambda: jobs.list_unattended(self._now())
        )

    async def note_failure(self, job_id: str, error: str, retry_ms: int) -> int:
        """Note that working on a job failed; return how often in a row it now has."""
        return await self._database.write(
            "note_failure", lambda: jobs.note_failure(job_id, error, self._now() + retry_ms)
        )

    async def leave_jobs(self, job_ids: Collection[str]) -> None:
        """Note that jobs are no longer looked after here: others need not wait for their leases."""
        await self._database.write("leave_jobs", lambda: jobs.leave_jobs(job_ids, self._now()))

    async def forget_failures(self, job_id: str) -> None:
        """Note that working on a job went well: the next failure is its first in a row."""
        await self._database.write("forget_failures", lambda: jobs.forget_failures(job_id))

    async def finish_job(
        self,
        job_id: str,
        status: JobStatus,
        error: str | None = None,
        *,
        teller: Teller | None = None,
    ) -> bool:
        """End a job; what it has not fetched is left out. False if it was over already."""
        telling = outbox.Telling(teller, self._dialect)
        return await self._database.write(
            "finish_job", lambda: jobs.finish_job(job_id, status, error, self._now(), telling)
        )

    async def add_pages(
        self, job_id: str, pages: Sequence[NewPage], *, is_last: bool = False
    ) -> int:
        """Add URLs to a job's ledger, each once; the last call tells that all seeds are there."""
        return await self._database.write(
            "add_pages", lambda: self._add_pages(job_id, pages, is_last=is_last)
        )

    async def lease(
        self, job_id: str, limits: LeaseLimits, *, teller: Teller | None = None
    ) -> Lease:
        """Claim URLs that may be fetched now, as politely as their hosts want it."""
        telling = outbox.Telling(teller, self._dialect)
        return await self._database.write(
            "lease", lambda: leasing.lease(job_id, limits, self._now(), telling)
        )

    async def renew(self, claims: Collection[Claim], seconds: float) -> None:
        """Make leases last for so long from now."""
        await self._database.write(
            "renew", lambda: leasing.renew(claims, self._now() + round(seconds * 1000))
        )

    async def release(self, claims: Collection[Claim], *, is_try: bool = False) -> None:
        """Give claims back unused; a try is counted where the URL was asked for."""
        await self._database.write("release", lambda: leasing.release(claims, is_try=is_try))

    def settlement(
        self,
        claim: Claim,
        result: Callable[[SavedDocument | None], PageResult],
        found: Sequence[NewPage] = (),
        *,
        is_near: IsNear | None = None,
        teller: Teller | None = None,
    ) -> Settlement:
        """Return what writes down the fate of a claimed URL and the URLs found on its page.

        Run, it raises `LeaseLost` where the claim no longer holds: nothing is written then.
        """
        telling = outbox.Telling(teller, self._dialect)
        rules = settling.SettlingRules(is_near=is_near, telling=telling)
        return settling.make_settlement(claim, result, found, rules, self._now)

    async def settle(self, settlement: Settlement, saved: SavedDocument | None = None) -> None:
        """Write down the fate of a URL whose page is not saved, or was before.

        Raises:
            LeaseLost: the claim no longer holds.
        """
        await self._database.write(
            "settle", lambda: settlement.write(saved), together=settlement.job_id
        )

    async def find_host(self, host: str) -> HostState:
        """Return what is known of a host."""
        return await self._database.read("find_host", lambda: hosts.find_host(host))

    async def note_robots(self, host: str, status: int, body: bytes, *, failed: bool) -> None:
        """Keep a host's robots.txt, or that it could not be had once more."""
        await self._database.write(
            "note_robots",
            lambda: hosts.note_robots(host, status, body, self._now(), failed=failed),
        )

    async def slow_down(self, host: str, *, delay_ms: int, pause_ms: int = 0) -> None:
        """Set the time between two requests to a host, and let it rest for some time."""
        await self._database.write(
            "slow_down", lambda: hosts.slow_down(host, delay_ms, self._now() + pause_ms)
        )

    async def count_pages(self, job_id: str) -> JobCounts:
        """Return how many of a job's URLs there are of each state and fate."""
        return await self._database.read("count_pages", lambda: listing.count_pages(job_id))

    async def count_templates(self, job_id: str) -> Mapping[str, int]:
        """Return how many URLs of each template a job has taken."""
        return await self._database.read("count_templates", lambda: listing.count_templates(job_id))

    async def list_pages(
        self,
        job_id: str,
        fates: Collection[Fate] | None,
        *,
        offset: int,
        limit: int,
    ) -> list[LedgerPage]:
        """Return URLs with these fates in the order in which they got them; None for every URL."""
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_pages", lambda: listing.list_pages(job_id, fates, max(0, offset), count)
        )

    async def add_schedule(self, schedule: Schedule) -> bool:
        """Keep a schedule, over its owner's of that name; False if the name is another's."""
        return await self._database.write(
            "add_schedule", lambda: schedules.add_schedule(schedule, self._dialect)
        )

    async def list_schedules(self, owner: str, *, limit: int = 100) -> list[Schedule]:
        """Return somebody's schedules, by name."""
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_schedules", lambda: schedules.list_schedules(owner, count, self._dialect)
        )

    async def remove_schedule(self, owner: str, name: str) -> bool:
        """Delete somebody's schedule; False if there is none."""
        return await self._database.write(
            "remove_schedule", lambda: schedules.remove_schedule(owner, name)
        )

    async def list_due_schedules(self) -> list[Schedule]:
        """Return the schedules whose time has come."""
        return await self._database.read(
            "list_due_schedules", lambda: schedules.list_due(self._now(), self._dialect)
        )

    async def move_schedule(self, schedule: Schedule, next_at: datetime) -> bool:
        """Set when a schedule is next due; False if another has, or it is gone."""
        return await self._database.write(
            "move_schedule", lambda: schedules.move_schedule(schedule, next_at)
        )

    async def drop_expired(
        self, now: datetime, *, teller_of: Callable[[Job], Teller | None] = lambda _: None
    ) -> int:
        """Delete the URLs of jobs that have expired; return how many jobs."""
        moment = to_milliseconds(now)
        kept_since = to_milliseconds(now - EVENT_RETENTION)
        await self._database.write("drop_events", lambda: outbox.drop_finished(kept_since))
        dropped = 0
        while await self._database.write(
            "drop_expired", lambda: jobs.drop_expired_job(moment, self._dialect, teller_of)
        ):
            dropped += 1
        return dropped

    def _add_job(self, job: NewJob, seeds: Sequence[NewPage], *, is_seeded: bool) -> Procedure[Job]:
        now = self._now()
        known = yield from jobs.add_job(job, now, self._dialect)
        if known is not None:
            return known
        yield from self._add_pages(job.id, seeds, is_last=is_seeded)
        added = yield from jobs.find_job(job.id, self._dialect)
        if added is None:
            raise LookupError(job.id)
        return added

    def _add_pages(self, job_id: str, new: Sequence[NewPage], *, is_last: bool) -> Procedure[int]:
        yield from pages.lock_job(job_id)
        now = self._now()
        added = yield from pages.add_pages(job_id, new, now)
        yield from tally.count_up(job_id, added)
        if is_last:
            yield from pages.mark_seeded(job_id, now)
        return added.found

    def _now(self) -> int:
        return to_milliseconds(self._clock())
