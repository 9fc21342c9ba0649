"""Attending that a test can watch, and running work beside a test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager

DEADLINE_SECONDS = 60


class Looks:
    """Notes each look at a job; what it answers, and how long it takes, is the test's choice."""

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

    async def until(self, is_so: Callable[["Looks"], bool]) -> None:
        """Wait until what was seen is as it should be."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not is_so(self):
                self._changed.clear()
                await self._changed.wait()

    async def count(self, count: int) -> None:
        """Wait for so many looks."""
        await self.until(lambda looks: len(looks.seen) >= count)


def answers(*seconds: float | None) -> Callable[[str], Awaitable[float | None]]:
    """Return what answers one after another, and None when there are no more."""
    left = list(seconds)

    async def answer(_job_id: str) -> float | None:
        return left.pop(0) if left else None

    return answer


@asynccontextmanager
async def beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run work while the block runs, then cancel it and wait for its end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a question about the outside world is answered with yes."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await is_so():  # noqa: ASYNC110 - it happens in a database
            await asyncio.sleep(0.02)
