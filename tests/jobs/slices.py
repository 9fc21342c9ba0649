"""Slices of jobs that a test records, and background work for tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager

DEADLINE_SECONDS = 60


class SliceRecorder:
    """Records each slice of a job; the test chooses its result and duration."""

    def __init__(self, answer: Callable[[str], Awaitable[float | None]] | None = None) -> None:
        self.seen: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self._answer = answer
        self._changed = asyncio.Event()

    async def __call__(self, job_id: str) -> float | None:
        self.seen.append(job_id)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self._changed.set()
        try:
            return None if self._answer is None else await self._answer(job_id)
        finally:
            self.at_once -= 1
            self._changed.set()

    async def until(self, is_so: Callable[["SliceRecorder"], bool]) -> None:
        """Wait until the recorded slices meet a condition."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not is_so(self):
                self._changed.clear()
                await self._changed.wait()

    async def count(self, count: int) -> None:
        """Wait for so many slices."""
        await self.until(lambda slices: len(slices.seen) >= count)


def answers(*seconds: float | None) -> Callable[[str], Awaitable[float | None]]:
    """Return a slice with these results, one after another, and then None."""
    left = list(seconds)

    async def answer(_job_id: str) -> float | None:
        return left.pop(0) if left else None

    return answer


@asynccontextmanager
async def in_background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run work during the block, then cancel it and wait for its end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition outside this process holds."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await is_so():  # noqa: ASYNC110 - it happens in a database
            await asyncio.sleep(0.02)
