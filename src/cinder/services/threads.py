"""Runs work on a long text in a thread, so that it does not block the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

# Shorter texts take a few milliseconds at most.
SHORT_CHARS = 20_000

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_thread(chars: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function on a text of so many characters, in a thread if the text is long."""
    if chars <= SHORT_CHARS:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
