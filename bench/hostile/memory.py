"""The memory of a server and of its parsing processes, at its highest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import psutil

INTERVAL_SECONDS = 0.02
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Peak:
    """The most that the server took, and the most that any one process of its took."""

    server_mb: float = 0
    child_mb: float = 0


@asynccontextmanager
async def watch_memory(pid: int) -> AsyncIterator[Peak]:
    """Look at the processes all the while until the exit."""
    peak, server = Peak(), psutil.Process(pid)

    async def look() -> None:
        while True:
            peak.server_mb = max(peak.server_mb, server.memory_info().rss / MEGABYTE)
            with suppress(psutil.NoSuchProcess):
                for child in server.children():
                    with suppress(psutil.NoSuchProcess):
                        peak.child_mb = max(peak.child_mb, child.memory_info().rss / MEGABYTE)
            await asyncio.sleep(INTERVAL_SECONDS)

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        try:
            yield peak
        finally:
            looking.cancel()
