"""Isolation: a page that a process died with is fetched while no other page of a job is."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Isolation:
    """Tells the jobs of one process whether they may fetch pages beside each other now.

    Where a process dies, only a page that was alone in it is known to be the cause.
    """

    def __init__(self) -> None:
        self._beside = 0
        self._left = asyncio.Event()
        self._is_taken = False
        self._is_waited_for = False

    @property
    def is_wanted(self) -> bool:
        """Whether a job is alone, or waits to be: no other may claim further pages."""
        return self._is_taken

    @property
    def is_waited_for(self) -> bool:
        """Whether another job would have worked while one was alone, or waited to be."""
        return self._is_waited_for

    @contextmanager
    def beside_others(self) -> Iterator[bool]:
        """Have a job work beside others until the exit; False where one is alone."""
        if self._is_taken:
            self._is_waited_for = True
            yield False
            return
        self._beside += 1
        try:
            yield True
        finally:
            self._beside -= 1
            self._left.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Wait until no job works, and have none begin until the exit; False where one is alone.

        The wait is as long as the pages under way take.
        """
        if self._is_taken:
            self._is_waited_for = True
            yield False
            return
        self._is_taken, self._is_waited_for = True, False
        try:
            while self._beside:
                self._left.clear()
                await self._left.wait()
            yield True
        finally:
            self._is_taken = False
