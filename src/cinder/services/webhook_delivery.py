"""Delivers webhook events from the outbox, with retries over hours."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.errors import CacheFailed, CinderError, EgressBlocked
from cinder.fetch.http_client import ProxiedClient
from cinder.models.url import host_and_port
from cinder.models.webhook import DueEvent, EventListing, EventState
from cinder.store.ledger.outbox import Outbox

_log: FilteringBoundLogger = structlog.get_logger()

_GONE = 410
_MINUTE, _HOUR = 60.0, 3600.0

# A day in all: a receiver that is repaired within a day misses no event.
_RETRY_WAITS = (
    *(10.0, 30.0, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 8 * _HOUR),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLimits:
    """How many events are delivered at once, and how often each is tried."""

    concurrency: int = 16
    per_url: int = 4
    """The most deliveries to one receiver at once, so that a slow one does not delay others."""
    lease_seconds: float = 60
    """An event without a reported result is sent again after this; longer than a request."""
    poll_seconds: float = 1
    """How often to look for events that other processes have written."""
    retry_waits_seconds: tuple[float, ...] = _RETRY_WAITS
    """The waits after failed tries; after one more try, an event is given up."""


class WebhookDelivery:
    """Sends the due events of the outbox; any number of processes may do so in parallel.

    An event arrives at least once, each time with the same id and the same bytes. The order is not
    guaranteed.
    """

    def __init__(
        self,
        outbox: Outbox,
        client: ProxiedClient,
        limits: DeliveryLimits | None = None,
        *,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._outbox = outbox
        self._client = client
        self._limits = limits or DeliveryLimits()
        self._draw = draw
        self._busy: Counter[str] = Counter()
        self._woken = asyncio.Event()

    async def deliver_forever(self) -> None:
        """Deliver due events until cancelled; unfinished deliveries are sent again later."""
        while True:
            try:
                await self.deliver_due()
            except Exception:  # noqa: BLE001 - a worker's outermost loop: the next may succeed
                _log.exception("webhooks could not be delivered")
            await self._rest()

    def wake(self) -> None:
        """Look for events at once, after this process has written some."""
        self._woken.set()

    async def deliver_due(self) -> int:
        """Send all due events and wait for their delivery; return the number of tries."""
        tries = 0
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    # Events of a receiver at its limit are not claimed.
                    has_all = not self._busy
                    claimed = await self._claim()
                    if has_all and not claimed:
                        break
                    tries += len(claimed)
                    for due in claimed:
                        self._busy[due.event.url] += 1
                        group.create_task(self._deliver(due))
                    if not claimed:
                        await self._rest()
        finally:
            self._busy.clear()  # a task that was cancelled before it started is still counted
        return tries

    async def list_events(
        self, owner: str, job_id: str, state: EventState, *, offset: int = 0, limit: int = 100
    ) -> list[EventListing]:
        """Return the events of an owner's job that wait, were delivered, or are dead."""
        return await self._outbox.list_events(owner, job_id, state, offset=offset, limit=limit)

    async def retry_dead(self, owner: str, job_id: str) -> int:
        """Retry the dead events of an owner's job; return how many there are."""
        count = await self._outbox.retry_dead(owner, job_id)
        self.wake()
        return count

    async def _claim(self) -> list[DueEvent]:
        limits = self._limits
        room = limits.concurrency - self._busy.total()
        if room <= 0:
            return []
        full = [url for url, count in self._busy.items() if count >= limits.per_url]
        try:
            return await self._outbox.claim(
                room, per_url=limits.per_url, but=full, seconds=limits.lease_seconds
            )
        except CacheFailed as error:
            _log.warning("webhooks wait for the database", error=str(error))
            return []

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.poll_seconds):
                await self._woken.wait()
        self._woken.clear()

    async def _deliver(self, due: DueEvent) -> None:
        url = due.event.url
        try:
            await self._try(due)
        # Its lease expires, and it is sent again with the same id.
        except CacheFailed as error:
            _log.warning("a delivery could not be noted", event_id=due.event.id, error=str(error))
        finally:
            self._busy[url] -= 1
            self._busy += Counter()  # drops receivers without deliveries
            self.wake()

    async def _try(self, due: DueEvent) -> None:
        if due.tries > len(self._limits.retry_waits_seconds) + 1:
            # The process of the last try ended before it reported the result.
            await self._give_up(due, "Every try was made, and how the last one went is not known")
            return
        event = due.event
        try:
            answer = await self._client.post(event.url, event.body.encode(), event.headers)
        except EgressBlocked as error:
            await self._give_up(due, _describe_failure(due, error))
            return
        except CinderError as error:
            await self._retry_later(due, _describe_failure(due, error))
            return
        status = answer.status
        if 200 <= status < 300:
            await self._outbox.mark_delivered(due)
            _log.debug("webhook delivered", event_id=event.id, host=_host(due))
        elif status == _GONE:
            await self._give_up(due, "The receiver answered 410: it wants no more events")
        elif 300 <= status < 400:
            reason = f"The receiver answered {status}; redirects are not followed"
            await self._retry_later(due, reason)
        else:
            await self._retry_later(due, f"The receiver answered {status}")

    async def _retry_later(self, due: DueEvent, error: str) -> None:
        waits = self._limits.retry_waits_seconds
        if due.tries > len(waits):
            await self._give_up(due, error)
            return
        # Jitter of up to a fifth spreads events that failed together.
        wait = waits[due.tries - 1] * (0.8 + 0.4 * self._draw())
        await self._outbox.mark_failed(due, error, round(wait * 1000))
        _log.info("webhook put off", event_id=due.event.id, host=_host(due), error=error)

    async def _give_up(self, due: DueEvent, error: str) -> None:
        await self._outbox.mark_failed(due, error, None)
        _log.warning("webhook given up", event_id=due.event.id, host=_host(due), error=error)


def _describe_failure(due: DueEvent, error: CinderError) -> str:
    # The caller who named the receiver reads this; the client's errors do not contain it.
    host, port = host_and_port(due.event.url)
    return f"No answer from {host}:{port}: {error.message}"


def _host(due: DueEvent) -> str:
    # Only the host of a receiver's URL is logged: the rest may be secret.
    return host_and_port(due.event.url)[0]
