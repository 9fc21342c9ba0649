"""Callers who go away: what is being done for them alone is stopped."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar, cast

from starlette.requests import Request

from cinder.errors import CinderError

# Most answers are there before watching for the caller would pay.
UNWATCHED_SECONDS = 0.1

T = TypeVar("T")


class CallerGone(Exception):
    """Nobody waits for the answer any more."""


async def unless_gone(request: Request, work: Coroutine[None, None, T]) -> T:
    """Return what the work gives; cancel it when the caller closes the connection.

    The request's body must have been read.

    Raises:
        CallerGone: the caller did.
        CinderError: the work did.
    """
    watching: list[asyncio.Task[None]] = []
    is_gone = False
    try:
        async with asyncio.TaskGroup() as tasks:

            def watch() -> None:
                watching.append(tasks.create_task(_end_with_caller(request)))

            timer = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, watch)
            try:
                result, error = await _settle(work)
            finally:
                timer.cancel()
                for task in watching:
                    task.cancel()
    except* CallerGone:
        is_gone = True
    if is_gone:
        raise CallerGone
    if error is not None:
        raise error
    return cast(T, result)  # without an error there is a result


async def _settle(work: Coroutine[None, None, T]) -> tuple[T | None, CinderError | None]:
    # Raised within the group, an error would come out of it wrapped.
    try:
        return await work, None
    except CinderError as error:
        return None, error


async def _end_with_caller(request: Request) -> None:
    """Have the group that this runs in cancel the work when the caller closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise CallerGone
