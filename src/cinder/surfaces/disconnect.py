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
    async with asyncio.TaskGroup() as tasks:
        doing = tasks.create_task(_settle(work))
        await asyncio.wait({doing}, timeout=UNWATCHED_SECONDS)
        if not doing.done():
            watching = tasks.create_task(_wait_for_disconnect(request))
            await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
            watching.cancel()
            doing.cancel()
    if doing.cancelled():
        raise CallerGone
    result, error = doing.result()
    if error is not None:
        raise error
    return cast(T, result)  # without an error there is a result


async def _settle(work: Coroutine[None, None, T]) -> tuple[T | None, CinderError | None]:
    # Raised within the group, an error would come out of it wrapped.
    try:
        return await work, None
    except CinderError as error:
        return None, error


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
