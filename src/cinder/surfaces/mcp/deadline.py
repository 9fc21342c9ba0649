"""The time a tool call may take: clients give up after about sixty seconds, so cinder is sooner."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from cinder.background import BackgroundTasks
from cinder.model.extract import ExtractRequest
from cinder.model.request import ScrapeRequest

SCRAPE_TIMEOUT_MS = 50_000
"""The most that fetching and reading a page may take; settings may want less."""

CALL_SECONDS = 54
"""The most that a whole call may take, storing included."""

_FIRST_BEAT_SECONDS = 1.0
_BEAT_SECONDS = 5.0


def bound_timeout(request: ScrapeRequest, limit_ms: int = SCRAPE_TIMEOUT_MS) -> ScrapeRequest:
    """Return the request with a timeout that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, limit_ms))


def bound_extract(request: ExtractRequest, limit_ms: int = SCRAPE_TIMEOUT_MS) -> ExtractRequest:
    """Return the request with a time that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, limit_ms))


@asynccontextmanager
async def telling_time(
    report: Callable[[float, float | None, str | None], Awaitable[None]],
    *,
    doing: str = "At it",
    since: float | None = None,
) -> AsyncIterator[None]:
    """Tell a client every few seconds that it is still being worked for, until the exit.

    Many wait longer for whoever lets them know. `since` is when a call began of which this is one
    part: what is told may only grow, and how much there is in all nobody knows then.
    """
    async with BackgroundTasks() as tasks:
        tasks.start(_tell_time(report, doing, since))
        try:
            yield
        finally:
            tasks.cancel_all()


async def _tell_time(
    report: Callable[[float, float | None, str | None], Awaitable[None]],
    doing: str,
    since: float | None,
) -> None:
    clock = asyncio.get_running_loop().time
    began = clock() if since is None else since
    total = CALL_SECONDS if since is None else None
    await asyncio.sleep(_FIRST_BEAT_SECONDS)
    while True:
        seconds = clock() - began
        await report(seconds, total, f"{doing} for {seconds:.0f} s")
        await asyncio.sleep(_BEAT_SECONDS)
