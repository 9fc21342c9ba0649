"""Expiry: deleting, in the background, what has been kept long enough."""

import asyncio
from datetime import UTC, datetime

import structlog

from cinder.store.base import Store

log = structlog.get_logger()


async def expire_forever(store: Store, interval_seconds: float) -> None:
    """Delete what has expired, again and again, until cancelled."""
    while True:
        try:
            if deleted := await store.delete_expired(datetime.now(UTC)):
                log.info("expired versions deleted", count=deleted)
        # A worker's outermost loop: whatever it was, the next round may go better.
        except Exception:
            log.exception("expired versions could not be deleted")
        await asyncio.sleep(interval_seconds)
