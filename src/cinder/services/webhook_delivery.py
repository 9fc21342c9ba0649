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
from cinder.store.ledger import Outbox

_log: FilteringBoundLogger = structlog.get_logger()

_GONE = 410
_MINUTE, _HOUR = 60.0, 3600.0

# A day in all: a receiver that is repaired within it misses nothing.
_RETRY_WAITS = (
    *(10.0, 30.0, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 8 * _HOUR),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLimits:
    """How much is delivered at once, and how often it is tried."""

    concurrency: int = 16
    per_url: int = 4
    """With so many on their way to one receiver, others go first, lest it holds them up."""
    lease_seconds: float = 60
    """After which an event whose delivery nobody reported is sent again; longer than a post."""
    poll_seconds: float = 1
    """How soon events are seen that another process has written."""
    retry_waits_seconds: tuple[float, ...] = _RETRY_WAITS
    """How long to wait after each try that failed; after one more try, it is given up."""


class WebhookDelivery:
    """Sends what is due in the outbox; any number of processes may do so side by side.

    An event arrives at least once, each time with the same id and the same bytes; in which order
    they arrive is not promised.
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
        """Deliver what comes due until cancelled; what is on its way then is sent again later."""
        while True:
            try:
                await self.deliver_due()
            except Exception:  # noqa: BLE001 - a worker's outermost loop: the next may go better
                _log.exception("webhooks could not be delivered")
            await self._rest()

    def wake(self) -> None:
        """Look for events at once, since this process has written some."""
        self._woken.set()

    async def deliver_due(self) -> int:
        """Send what is due until nothing is, and nothing is on its way; return how many tries."""
        tries = 0
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    # What a receiver with enough on its way left over is not claimed.
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
            self._busy.clear()  # a task that was cancelled before it began is still counted
        return tries

    async def list_events(
        self, owner: str, job_id: str, state: EventState, *, offset: int = 0, limit: int = 100
    ) -> list[EventListing]:
        """Return the events of somebody's job that wait, were delivered, or are dead."""
        return await self._outbox.list_events(owner, job_id, state, offset=offset, limit=limit)

    async def retry_dead(self, owner: str, job_id: str) -> int:
        """Try the dead events of somebody's job anew, from now on; return how many."""
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
        # Its lease runs out, and it is sent again under the same id.
        except CacheFailed as error:
            _log.warning("a delivery could not be noted", event_id=due.event.id, error=str(error))
        finally:
            self._busy[url] -= 1
            self._busy += Counter()  # lets go of those that are at none
            self.wake()

    async def _try(self, due: DueEvent) -> None:
        if due.tries > len(self._limits.retry_waits_seconds) + 1:
            # Whoever tried it last ended before saying how that went.
            await self._give_up(due, "Every try was made, and how the last one went is not known")
            return
        event = due.event
        try:
            answer = await self._client.post(event.url, event.body.encode(), event.headers)
        except EgressBlocked as error:
            await self._give_up(due, _tell(due, error))
        except CinderError as error:
            await self._put_off(due, _tell(due, error))
        else:
            await self._heed(due, answer.status)

    async def _heed(self, due: DueEvent, status: int) -> None:
        if 200 <= status < 300:
            await self._outbox.mark_delivered(due)
            _log.debug("webhook delivered", event_id=due.event.id, host=_host(due))
        elif status == _GONE:
            await self._give_up(due, "The receiver answered 410: it wants no more events")
        elif 300 <= status < 400:
            await self._put_off(due, f"The receiver answered {status}; redirects are not followed")
        else:
            await self._put_off(due, f"The receiver answered {status}")

    async def _put_off(self, due: DueEvent, error: str) -> None:
        waits = self._limits.retry_waits_seconds
        if due.tries > len(waits):
            await self._give_up(due, error)
            return
        # Up to a fifth more or less: what failed together does not come back together.
        wait = waits[due.tries - 1] * (0.8 + 0.4 * self._draw())
        await self._outbox.mark_failed(due, error, round(wait * 1000))
        _log.info("webhook put off", event_id=due.event.id, host=_host(due), error=error)

    async def _give_up(self, due: DueEvent, error: str) -> None:
        await self._outbox.mark_failed(due, error, None)
        _log.warning("webhook given up", event_id=due.event.id, host=_host(due), error=error)


def _tell(due: DueEvent, error: CinderError) -> str:
    # Whoever named the receiver reads this; the client itself names nobody.
    host, port = host_and_port(due.event.url)
    return f"No answer from {host}:{port}: {error.message}"


def _host(due: DueEvent) -> str:
    # Of a receiver's URL only this is logged: the rest may be a secret.
    return host_and_port(due.event.url)[0]
