"""The outbox's protocols: what webhooks are to be told, and what makes it up."""

from collections.abc import Collection
from typing import Protocol

from cinder.model.job import Job, PageResult
from cinder.model.webhook import DueEvent, EventListing, EventState, NewEvent


class Teller(Protocol):
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
