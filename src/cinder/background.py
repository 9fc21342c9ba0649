"""Background tasks that end with their owner, and long work moved to a thread."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Self, TypeVar

# Shorter texts take a few milliseconds at most.
SHORT_CHARS = 20_000

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_thread(chars: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a text of so many characters, in a thread if the text is long."""
    if chars <= SHORT_CHARS:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


class BackgroundTasks:
    """A task group that an object holds while it is open; closing it waits for its tasks.

    Unlike a plain `TaskGroup`, it does not wrap the exception that ends the block it is used in.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        # Any: the results differ by task, and only the code that started a task uses its result.
        self._running: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        """Run a coroutine in the background; it must handle its own errors."""
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel_all(self) -> None:
        """Cancel every task."""
        for task in self._running:
            task.cancel()
