"""The writer thread of SQLite, which commits waiting writes together."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from cinder.store.database import Query
from cinder.store.group_commit import BATCH_WINDOW_SECONDS
from cinder.store.sqlite_errors import is_locked

T = TypeVar("T")

# The writes that share one commit; more would only make the first of them wait.
MAX_BATCH = 128
# How long a file that is known to be locked is waited for.
LOCK_TIMEOUT_MS = 200


@dataclass(frozen=True, slots=True)
class QueuedWrite(Generic[T]):
    """A write, and where its outcome goes."""

    work: Callable[[sqlite3.Connection], T]
    future: Future[T] = field(default_factory=Future)
    """Done once the write is safe on disk, or undone."""


# Any: each write has its own result.
Writes: TypeAlias = list[QueuedWrite[Any]]


class SqliteWriter:
    """Runs writes one after the other, each all or nothing, many to one commit."""

    def __init__(self, connection: sqlite3.Connection, busy_seconds: float = 3) -> None:
        """Take the connection to write by, and how long to wait for one who locks the file."""
        self._connection = connection
        self._busy_ms = round(busy_seconds * 1000)
        self._is_locked_out = False
        self._wait_ms = -1
        self._queue: queue.SimpleQueue[Writes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="cinder-writer", daemon=True)
        self._thread.start()

    def submit(self, writes: Writes) -> None:
        """Queue writes. Not to be called once the writer is told to stop."""
        self._queue.put(writes)

    def stop(self) -> None:
        """Finish every write submitted so far and close the connection."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next_batch():
            # One whose caller has gone away before it began is left out.
            writes = [write for write in batch if write.future.set_running_or_notify_cancel()]
            if writes:
                self._run_batch(writes)
        self._connection.close()

    def _run_batch(self, writes: Writes) -> None:
        # Whoever holds the file has been waited for: until that ends, nobody else waits as long.
        wait_ms = min(self._busy_ms, LOCK_TIMEOUT_MS) if self._is_locked_out else self._busy_ms
        if wait_ms != self._wait_ms:
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
            self._wait_ms = wait_ms
        failure = _run_batch(self._connection, writes)
        self._is_locked_out = failure is not None and is_locked(failure)
        if failure is None or not self._is_locked_out:
            return
        for write in self._take_waiting():
            if write.future.set_running_or_notify_cancel():
                write.future.set_exception(failure)

    def _take_waiting(self) -> Writes:
        """Return what waits behind a batch; the word to stop, if it is there, stays."""
        waiting: Writes = []
        with suppress(queue.Empty):
            while (writes := self._queue.get_nowait()) is not None:
                waiting += writes
            self._queue.put(None)
        return waiting

    def _next_batch(self) -> Writes:
        """Return the writes that wait, once there is one; none when the writer is to stop."""
        batch: Writes = []
        writes = self._queue.get()
        with suppress(queue.Empty):
            while writes is not None:
                batch += writes
                if len(batch) >= MAX_BATCH:
                    return batch
                writes = self._queue.get_nowait()
            if batch:
                self._queue.put(None)  # to be met again, with nothing before it
        return batch


def _run_batch(connection: sqlite3.Connection, writes: Writes) -> Exception | None:
    """Run writes in one transaction; return why there was none, where none came about."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [attempt(connection, write.work) for write in writes]
        connection.execute("COMMIT")
    except Exception as exc:  # noqa: BLE001 - a worker's outermost loop: the callers are told
        _roll_back(connection)
        for write in writes:
            write.future.set_exception(exc)
        return exc
    for write, outcome in zip(writes, outcomes, strict=True):
        outcome(write.future)
    return None


def attempt(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]
) -> Callable[[Future[T]], None]:
    """Run one write within the transaction; return what tells its caller how it went."""
    try:
        with savepoint(connection):
            result = work(connection)
    except Exception as exc:  # a worker's loop: the caller is told
        if not connection.in_transaction:
            raise  # SQLite has undone the whole batch, as it does when the disk is full
        failure = exc
        return lambda future: future.set_exception(failure)
    return lambda future: future.set_result(result)


@contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Undo what is done within, if it fails; all else of the transaction stays."""
    connection.execute("SAVEPOINT job")
    try:
        yield
    except Exception:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        raise
    connection.execute("RELEASE job")


def _roll_back(connection: sqlite3.Connection) -> None:
    # Should this fail as well, the next BEGIN says so to its callers.
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


# Any: each write has its own result.
Start: TypeAlias = Callable[[], Query[Any]]
RunBatched: TypeAlias = Callable[[Sequence[Start], sqlite3.Connection], list[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SharedWrite(Generic[T]):
    """A write that others of the same word may run together with, and where its outcome goes."""

    start: Callable[[], Query[T]]
    together: str
    future: Future[T] = field(default_factory=Future)
    """Done once the write is safe on disk, or undone."""


_WriteOutcome: TypeAlias = tuple[SharedWrite[Any], Callable[[Future[Any]], None]]


class WriteBatcher:
    """Writes that go to the writer together; only ever touched by the event loop."""

    def __init__(self, run: RunBatched, submit: Callable[[Writes], None]) -> None:
        self._run = run
        self._submit = submit
        self._writes: list[SharedWrite[Any]] = []
        self._came_at = -BATCH_WINDOW_SECONDS

    def add(self, write: SharedWrite[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Let a write wait for others, where some are likely to come."""
        before, self._came_at = self._came_at, loop.time()
        is_likely = self._came_at - before < BATCH_WINDOW_SECONDS
        if is_likely and not self._writes:
            loop.call_later(BATCH_WINDOW_SECONDS, self.leave)
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

    def _join(self, writes: Sequence[SharedWrite[Any]]) -> QueuedWrite[list[_WriteOutcome]]:
        joined = QueuedWrite(partial(_write, self._run, writes))
        joined.future.add_done_callback(partial(_resolve, writes))
        return joined


def _write(
    run: RunBatched, writes: Sequence[SharedWrite[Any]], connection: sqlite3.Connection
) -> list[_WriteOutcome]:
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


def _run_alone(run: RunBatched, write: SharedWrite[T], connection: sqlite3.Connection) -> T:
    result: T = run([write.start], connection)[0]
    return result


def _succeed(result: T, future: Future[T]) -> None:
    future.set_result(result)


def _resolve(writes: Sequence[SharedWrite[Any]], joined: Future[list[_WriteOutcome]]) -> None:
    failure = joined.exception()
    if failure is None:
        for write, outcome in joined.result():
            outcome(write.future)
        return
    for write in writes:
        if write.future.running() or write.future.set_running_or_notify_cancel():
            write.future.set_exception(failure)
