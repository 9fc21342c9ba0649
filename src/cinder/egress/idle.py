"""The limit on how long a connection may stand still."""

import asyncio
from types import TracebackType
from typing import Self


class IdleLimit:
    """Ends its block with a TimeoutError once so many seconds pass without a touch."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._timeout.__aexit__(exc_type, exc, traceback)

    def touch(self) -> None:
        """Start counting anew."""
        if not self._timeout.expired():
            self._timeout.reschedule(self._loop.time() + self._seconds)
