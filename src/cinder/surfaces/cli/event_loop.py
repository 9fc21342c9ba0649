"""The event loop of commands that crawl: a faster one than asyncio's own, where there is one."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


def run(work: Coroutine[None, None, T]) -> T:
    """Do some work in a loop of its own."""
    if sys.platform == "win32":
        return asyncio.run(work)
    # Not needed by those who only ask for help.
    import uvloop

    return uvloop.run(work)
