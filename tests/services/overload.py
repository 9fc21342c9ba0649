"""A sandbox whose slow lane is full: what takes long in it is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cinder.models.document import FetchedPage, FetchSource
from cinder.models.request import ContentOptions, ExtractOptions
from cinder.sandbox.pool import SlowLane
from cinder.sandbox.sandbox import ExtractionSandbox

_NESTED = b"<p>first words" + b"<div>" * 200 + b"<i>last words"
# The parser tries every way to match such a selector on nested elements: minutes, for this page.
_ENDLESS = ExtractOptions(content=ContentOptions(exclude_tags=("b div div div div div i",)))


@asynccontextmanager
async def overloaded_sandbox() -> AsyncIterator[ExtractionSandbox]:
    """Open a sandbox in which one slow page runs and another waits, and no more may."""
    slow = SlowLane(after_seconds=0.02, workers=1, waiting=1)
    async with (
        ExtractionSandbox(2, 60, 512 * 1024 * 1024, slow=slow) as sandbox,
        asyncio.TaskGroup() as group,
    ):
        jobs = [
            group.create_task(sandbox.extract(_slow_page(site), _ENDLESS))
            for site in ("one", "two")
        ]
        while not sandbox.count_jobs("slow", "waiting"):
            await sandbox.inspect("<p>", "")
        yield sandbox
        for job in jobs:
            job.cancel()


def _slow_page(site: str) -> FetchedPage:
    return FetchedPage(
        url=f"https://{site}.example/",
        final_url=f"https://{site}.example/",
        status_code=200,
        headers={"content-type": "text/html"},
        body=_NESTED,
        source=FetchSource.NATIVE,
        strategy="native",
    )
