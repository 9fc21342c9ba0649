"""Writes that share a transaction: what comes within a moment, or while one commits, goes together.

The pages of a job wait for each other's locks anyway. Each alone would hold a connection meanwhile,
of which every one costs the server a process, and would take trips of its own to begin and commit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from cinder.store.joining import COMPANY_SECONDS
from cinder.store.procedure import Procedure

T = TypeVar("T")

MAX_SHARING = 8

# Any: each write has its own result.
Start: TypeAlias = Callable[[], Procedure[Any]]


def _new_future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    start: Start
    together: str
    outcome: "asyncio.Future[Any]" = field(default_factory=_new_future)


class SharedTransactions:
    """Runs writes a few at a time, all in one transaction; one that fails spoils no other."""

    def __init__(self, run_together: Callable[[Sequence[Start]], Awaitable[list[Any]]]) -> None:
        self._run_together = run_together
        self._waiting: list[_Write] = []
        self._turns = asyncio.Lock()
        self._came_at = -COMPANY_SECONDS

    async def write(self, start: Callable[[], Procedure[T]], together: str) -> T:
        """Run a procedure, with those of the same word that wait; return when it is committed."""
        write = _Write(start, together)
        self._waiting.append(write)
        try:
            if self._is_company_likely():
                # Whoever has waited longest takes the others along.
                await asyncio.wait([write.outcome], timeout=COMPANY_SECONDS)
            async with self._turns:
                if not write.outcome.done():
                    await self._write_waiting(write)
        except asyncio.CancelledError:
            self._waiting = [other for other in self._waiting if other is not write]
            write.outcome.cancel()  # whoever has it in hand need not tell
            raise
        result: T = write.outcome.result()
        return result

    def _is_company_likely(self) -> bool:
        before, self._came_at = self._came_at, asyncio.get_running_loop().time()
        return self._came_at - before < COMPANY_SECONDS

    async def _write_waiting(self, own: _Write) -> None:
        # Of one job alone: who locks two jobs may wait for one who locks them the other way round.
        fit = (each for each in self._waiting if each is not own and each.together == own.together)
        others = list(islice(fit, MAX_SHARING - 1))
        together = [own, *others]
        self._waiting = [write for write in self._waiting if write not in together]
        try:
            await self._settle(together)
        finally:
            # Those that are not done, as this caller went away, are left to the next.
            self._waiting += [write for write in others if not write.outcome.done()]

    async def _settle(self, writes: Sequence[_Write]) -> None:
        try:
            results = await self._run_together([write.start for write in writes])
        except Exception as failure:  # noqa: BLE001 - whoever waits for the write raises it
            if len(writes) == 1:
                if not writes[0].outcome.done():
                    writes[0].outcome.set_exception(failure)
                return
            for write in writes:
                await self._settle([write])
            return
        for write, result in zip(writes, results, strict=True):
            if not write.outcome.done():
                write.outcome.set_result(result)
