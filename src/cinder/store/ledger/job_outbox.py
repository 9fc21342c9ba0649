"""The outbox itself: every operation, timed, over whichever database runs it."""

from collections.abc import Callable, Collection
from datetime import datetime

from cinder.model.webhook import DueEvent, EventListing, EventState
from cinder.store.base import QueryObserver
from cinder.store.codec import to_milliseconds
from cinder.store.database import Database
from cinder.store.ledger import outbox
from cinder.store.procedure import Procedure
from cinder.store.timed import TimedDatabase

MAX_LISTED = 1000


class JobOutbox:
    """Keeps what webhooks are to be told. See `cinder.store.outbox_base.Outbox`."""

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

    def _claim(self, limits: outbox.ClaimLimits, seconds: float) -> Procedure[list[DueEvent]]:
        now = self._now()
        return outbox.claim_due(limits, now, now + round(seconds * 1000), self._dialect)

    def _mark_failed(self, due: DueEvent, error: str, retry_ms: int | None) -> Procedure[None]:
        now = self._now()
        if retry_ms is None:
            return outbox.mark_dead(due, error, now)
        return outbox.mark_failed(due, error, now + retry_ms)

    def _now(self) -> int:
        return to_milliseconds(self._clock())
