"""Writes to SQLite that wait for each other and run as one; one that fails spoils no other."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from cinder.store.joining import COMPANY_SECONDS
from cinder.store.procedure import Procedure
from cinder.store.sqlite_writer import QueuedWrite, Writes, attempt, savepoint

T = TypeVar("T")

# Any: each write has its own result.
Start: TypeAlias = Callable[[], Procedure[Any]]
RunTogether: TypeAlias = Callable[[Sequence[Start], sqlite3.Connection], list[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SharedWrite(Generic[T]):
    """A write that others of the same word may run together with, and where its outcome goes."""

    start: Callable[[], Procedure[T]]
    together: str
    future: Future[T] = field(default_factory=Future)
    """Done once the write is safe on disk, or undone."""


_Told: TypeAlias = tuple[SharedWrite[Any], Callable[[Future[Any]], None]]


class WaitingWrites:
    """Writes that go to the writer together; only ever touched by the event loop."""

    def __init__(self, run: RunTogether, submit: Callable[[Writes], None]) -> None:
        self._run = run
        self._submit = submit
        self._writes: list[SharedWrite[Any]] = []
        self._came_at = -COMPANY_SECONDS

    def add(self, write: SharedWrite[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Let a write wait for others, where some are likely to come."""
        before, self._came_at = self._came_at, loop.time()
        is_likely = self._came_at - before < COMPANY_SECONDS
        if is_likely and not self._writes:
            loop.call_later(COMPANY_SECONDS, self.leave)
        self._writes.append(write)
        if not is_likely:
            self.leave()

    def leave(self) -> None:
        """Hand over what waits."""
        writes, self._writes = self._writes, []
        words = dict.fromkeys(write.together for write in writes)
        companies = [[write for write in writes if write.together == word] for word in words]
        if companies:
            self._submit([self._join(company) for company in companies])

    def _join(self, writes: Sequence[SharedWrite[Any]]) -> QueuedWrite[list[_Told]]:
        joined = QueuedWrite(partial(_write, self._run, writes))
        joined.future.add_done_callback(partial(_tell, writes))
        return joined


def _write(
    run: RunTogether, writes: Sequence[SharedWrite[Any]], connection: sqlite3.Connection
) -> list[_Told]:
    """Run writes as one, or each alone where that fails; return what tells how each one went."""
    # One whose caller has gone away before it began is left out.
    begun = [write for write in writes if write.future.set_running_or_notify_cancel()]
    if len(begun) > 1:
        try:
            with savepoint(connection):
                results = run([write.start for write in begun], connection)
        except Exception:  # a worker's loop: whose write failed is told below
            if not connection.in_transaction:
                raise
        else:
            told = (partial(_succeed, result) for result in results)
            return list(zip(begun, told, strict=True))
    return [(write, attempt(connection, partial(_run_alone, run, write))) for write in begun]


def _run_alone(run: RunTogether, write: SharedWrite[T], connection: sqlite3.Connection) -> T:
    result: T = run([write.start], connection)[0]
    return result


def _succeed(result: T, future: Future[T]) -> None:
    future.set_result(result)


def _tell(writes: Sequence[SharedWrite[Any]], joined: Future[list[_Told]]) -> None:
    failure = joined.exception()
    if failure is None:
        for write, outcome in joined.result():
            outcome(write.future)
        return
    for write in writes:
        if write.future.running() or write.future.set_running_or_notify_cancel():
            write.future.set_exception(failure)
