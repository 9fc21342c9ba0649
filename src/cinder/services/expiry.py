"""Expiry: deleting, in the background, what has been kept long enough."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from cinder.services.webhook_events import JobEvents
from cinder.store.base import Store

log = structlog.get_logger()


async def expire_forever(
    store: Store,
    interval_seconds: float,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Delete what has expired, again and again, until cancelled."""
    while True:
        try:
            if deleted := await store.delete_expired(clock()):
                log.info("expired versions deleted", count=deleted)
            if dropped := await store.ledger.drop_expired(clock(), teller_of=JobEvents.of):
                log.info("the pages of expired jobs are no longer listed", jobs=dropped)
            await store.counts.drop_old()
        # A worker's outermost loop: whatever it was, the next round may go better.
        except Exception:
            log.exception("what has expired could not be deleted")
        await asyncio.sleep(interval_seconds)
