"""The protocols of the job ledger, of the webhook outbox, and of the events they store."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from cinder.errors import CinderError
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
from cinder.models.webhook import DueEvent, EventListing, EventState, NewEvent
from cinder.store.database import Query


class EventEmitter(Protocol):
    """Makes up what a job's webhook is told; None where it is told nothing.

    Called within the transaction that the event tells of, in any thread, and again where that
    transaction is.
    """

    def started(self, job: Job) -> NewEvent | None:
        """Tell that work on a job has begun."""
        ...

    def page(self, url: str, result: PageResult) -> NewEvent | None:
        """Tell what became of a URL."""
        ...

    def ended(self, job: Job) -> NewEvent | None:
        """Tell that a job is over."""
        ...


class Outbox(Protocol):
    """Keeps events until they are delivered, and for some time after.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def claim(
        self, limit: int, *, per_url: int, but: Collection[str], seconds: float
    ) -> list[DueEvent]:
        """Claim events that are due, few of each URL and none of some.

        Nobody else gets them for so many seconds; what is not marked by then is due again.
        """
        ...

    async def mark_delivered(self, due: DueEvent) -> None:
        """Note that an event has arrived."""
        ...

    async def mark_failed(self, due: DueEvent, error: str, retry_ms: int | None) -> None:
        """Note why a try failed, and when the next is; None where there is none.

        Nothing is noted where the claim has gone to somebody else.
        """
        ...

    async def list_events(
        self, owner: str, job_id: str, state: EventState, *, offset: int = 0, limit: int = 100
    ) -> list[EventListing]:
        """Return the events of somebody's job that stand there, oldest first."""
        ...

    async def retry_dead(self, owner: str, job_id: str) -> int:
        """Have the dead events of somebody's job tried anew; return how many."""
        ...


# Whether two pages are nearly the same, by their sketches.
IsNearDuplicate: TypeAlias = Callable[[bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class PageCommit:
    """What a job writes in the transaction that saves one of its documents. Only a store runs it.

    `write` is given where the document is saved; None where none is.
    """

    job_id: str
    write: Callable[[SavedDocument | None], Query[None]]


class LeaseLost(CinderError):
    """The lease on this page has run out and another worker has it, or its job is over."""


class Ledger(Protocol):
    """Keeps jobs and the fate of every URL they see.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add_job(
        self, job: NewJob, pages: Sequence[NewPage] = (), *, is_seeded: bool = True
    ) -> Job:
        """Keep a job and its first URLs; return it, or the one that has its idempotency key.

        One that is not seeded yet has further URLs to find before it can end.
        """
        ...

    async def find_job(self, job_id: str) -> Job | None:
        """Return a job."""
        ...

    async def list_jobs(
        self, owner: str, kind: JobKind | None = None, *, limit: int = 100
    ) -> list[Job]:
        """Return the jobs that somebody started, newest first; of one kind, or of all."""
        ...

    async def count_open(self, owner: str | None = None) -> int:
        """Return how many jobs are not over: somebody's, or all."""
        ...

    async def list_open_owners(self) -> list[str]:
        """Return who has jobs that are not over."""
        ...

    async def list_unattended(self) -> list[str]:
        """Return the jobs that are not over and that nobody looks after."""
        ...

    async def note_failure(self, job_id: str, error: str, retry_ms: int) -> int:
        """Note that working on a job failed; return how often in a row it now has."""
        ...

    async def leave_jobs(self, job_ids: Collection[str]) -> None:
        """Note that jobs are no longer looked after here: others need not wait for their leases."""
        ...

    async def forget_failures(self, job_id: str) -> None:
        """Note that working on a job went well: the next failure is its first in a row."""
        ...

    async def finish_job(
        self,
        job_id: str,
        status: JobStatus,
        error: str | None = None,
        *,
        emitter: EventEmitter | None = None,
    ) -> bool:
        """End a job; what it has not fetched is left out. False if it was over already.

        Of one that ends well, the error is the limit that it has met.
        """
        ...

    async def add_pages(
        self, job_id: str, pages: Sequence[NewPage], *, is_last: bool = False
    ) -> int:
        """Add URLs to a job's ledger, each once; the last call tells that all seeds are there."""
        ...

    async def lease(
        self, job_id: str, limits: LeaseLimits, *, emitter: EventEmitter | None = None
    ) -> LeaseBatch:
        """Claim URLs that may be fetched now, as politely as their hosts want it.

        The teller tells that the job has begun, and of URLs that are given up.
        """
        ...

    async def renew(self, claims: Collection[PageLease], seconds: float) -> None:
        """Make leases last for so long from now."""
        ...

    async def release(self, claims: Collection[PageLease], *, is_try: bool = False) -> None:
        """Give claims back unused; a try is counted where the URL was asked for."""
        ...

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

        The teller tells the fate that it has in the end, and that of where it redirects to.
        Run, it raises `LeaseLost` where the claim no longer holds: nothing is written then.
        """
        ...

    async def settle(self, page_commit: PageCommit, saved: SavedDocument | None = None) -> None:
        """Write down the fate of a URL whose page is not saved, or was before.

        Raises:
            LeaseLost: the claim no longer holds.
        """
        ...

    async def find_host(self, host: str) -> HostState:
        """Return what is known of a host."""
        ...

    async def note_robots(self, host: str, status: int, body: bytes, *, failed: bool) -> None:
        """Keep a host's robots.txt, or that it could not be had once more."""
        ...

    async def slow_down(self, host: str, *, delay_ms: int, pause_ms: int = 0) -> None:
        """Set the time between two requests to a host, and let it rest for some time."""
        ...

    async def count_pages(self, job_id: str) -> JobCounts:
        """Return how many of a job's URLs there are of each state and fate."""
        ...

    async def count_templates(self, job_id: str) -> Mapping[str, int]:
        """Return how many URLs of each template a job has taken."""
        ...

    async def list_pages(
        self,
        job_id: str,
        fates: Collection[PageStatus] | None,
        *,
        offset: int,
        limit: int,
    ) -> list[LedgerPage]:
        """Return URLs with these fates in the order in which they got them; None for every URL.

        A list grows at its end alone, but where a URL outside the scope for its depth is met again
        closer to the start: whoever reads it part by part misses nothing and reads nothing twice.
        One fate, all that are errors and all URLs cost the same at any offset.
        """
        ...

    async def add_schedule(self, schedule: Schedule) -> bool:
        """Keep a schedule, over its owner's of that name; False if the name is another's."""
        ...

    async def list_schedules(self, owner: str, *, limit: int = 100) -> list[Schedule]:
        """Return somebody's schedules, by name."""
        ...

    async def remove_schedule(self, owner: str, name: str) -> bool:
        """Delete somebody's schedule; False if there is none."""
        ...

    async def list_due_schedules(self) -> list[Schedule]:
        """Return the schedules whose time has come."""
        ...

    async def move_schedule(self, schedule: Schedule, next_at: datetime) -> bool:
        """Set when a schedule is next due; False if another has, or it is gone."""
        ...

    async def drop_expired(
        self, now: datetime, *, emitter_of: Callable[[Job], EventEmitter | None] = lambda _: None
    ) -> int:
        """Delete the URLs of jobs that have expired; return how many jobs.

        Those that were not over have failed, and their tellers tell so. Events that were dealt
        with long ago go too.
        """
        ...
