"""Background tasks of objects that are opened and closed, such as a server or a store."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """A task group that an object holds while it is open; closing it waits for its tasks.

    A plain group, told of the error that ends the block it stands in, would wrap that error.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        # Any: the tasks' results differ, and are their starters' business.
        self._running: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        """Run work beside everything else; it must handle its own errors."""
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel_all(self) -> None:
        """Tell every task to end."""
        for task in self._running:
            task.cancel()
