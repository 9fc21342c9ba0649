"""The ledger's protocol: what is kept of jobs and their URLs, whichever database keeps it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from cinder.errors import CinderError
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
from cinder.store.outbox_base import Teller
from cinder.store.procedure import Procedure

# Whether two pages are nearly the same, by their sketches.
IsNear: TypeAlias = Callable[[bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a job writes in the transaction that saves one of its documents. Only a store runs it.

    `write` is given where the document is saved; None where none is.
    """

    job_id: str
    write: Callable[[SavedDocument | None], Procedure[None]]


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
        teller: Teller | None = None,
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
        self, job_id: str, limits: LeaseLimits, *, teller: Teller | None = None
    ) -> Lease:
        """Claim URLs that may be fetched now, as politely as their hosts want it.

        The teller tells that the job has begun, and of URLs that are given up.
        """
        ...

    async def renew(self, claims: Collection[Claim], seconds: float) -> None:
        """Make leases last for so long from now."""
        ...

    async def release(self, claims: Collection[Claim], *, is_try: bool = False) -> None:
        """Give claims back unused; a try is counted where the URL was asked for."""
        ...

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

        The teller tells the fate that it has in the end, and that of where it redirects to.
        Run, it raises `LeaseLost` where the claim no longer holds: nothing is written then.
        """
        ...

    async def settle(self, settlement: Settlement, saved: SavedDocument | None = None) -> None:
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
        fates: Collection[Fate] | None,
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
        self, now: datetime, *, teller_of: Callable[[Job], Teller | None] = lambda _: None
    ) -> int:
        """Delete the URLs of jobs that have expired; return how many jobs.

        Those that were not over have failed, and their tellers tell so. Events that were dealt
        with long ago go too.
        """
        ...
