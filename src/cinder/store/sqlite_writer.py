"""The one thread that writes to SQLite, and the translation of SQLite's errors."""

import asyncio
import errno
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from cinder.errors import CacheFailed, DatabaseAway, DatabaseDamaged, StorageFull
from cinder.store.database import Query
from cinder.store.group_commit import BATCH_WINDOW_SECONDS

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
# The last byte of an extended result code is the primary one.
_KIND = 0xFF

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100


def failure_of(exc: sqlite3.Error | OSError, path: Path, done: str) -> CacheFailed:
    """Return the error for a database that could not be `done`: opened, read or written."""
    if _is_full(exc, path):
        return StorageFull(
            f"There is no room to write to the database {path} ({exc}). Free some on its disk, or "
            "raise store.max-bytes: cinder continues by itself, and stored pages can be read "
            "meanwhile"
        )
    if _kind(exc) in _DAMAGED:
        return damage_of(path, str(exc))
    if is_locked(exc):
        return DatabaseAway(
            f"Another process has the database {path} locked, so that it could not be {done}. Try "
            "again in a moment, or end the process that holds it (store.busy-timeout-seconds)"
        )
    return CacheFailed(
        f"The database {path} could not be {done}: {exc}. "
        "Check that the disk has space and the file is cinder's own"
    )


def require_whole_pages(path: Path) -> None:
    """Return unless a file ends within a page; SQLite would read zeros for the rest of it.

    Raises:
        CacheFailed: it does, and there is no write-ahead log that could have the page.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        return  # empty, or SQLite reports that it is not a database
    stated = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if stated == 1 else stated
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if page_bytes and path.stat().st_size % page_bytes and not has_log:
        raise damage_of(path, "it ends within a page")


def is_locked(exc: BaseException) -> bool:
    """Whether it failed because another process has locked the file."""
    return isinstance(exc, sqlite3.Error) and _kind(exc) in _LOCKED


def damage_of(path: Path, reason: str) -> DatabaseDamaged:
    """Return the error for a damaged file, which says what can be done."""
    return DatabaseDamaged(
        f"The database {path} is damaged, or is no database ({reason}). cinder deletes nothing: "
        f"restore a backup, or save what is readable with `sqlite3 {path} .recover`; or move it "
        f"away, with {path.name}-wal and {path.name}-shm, to start with an empty one"
    )


def _is_full(exc: sqlite3.Error | OSError, path: Path) -> bool:
    if isinstance(exc, OSError):
        return exc.errno in _NO_ROOM
    if _kind(exc) == sqlite3.SQLITE_IOERR:
        # SQLite does not report why a file cannot be flushed, or its map not be extended.
        with suppress(OSError):
            return os.statvfs(path.parent).f_bavail == 0
    return _kind(exc) == sqlite3.SQLITE_FULL


def _kind(exc: sqlite3.Error | OSError) -> int:
    code = getattr(exc, "sqlite_errorcode", None)
    return code & _KIND if isinstance(code, int) else 0


T = TypeVar("T")

# How many writes share one commit; more would delay the first of them.
MAX_BATCH = 128
# How long to wait for a file that was locked at the last write.
LOCK_TIMEOUT_MS = 200


@dataclass(frozen=True, slots=True)
class QueuedWrite(Generic[T]):
    """A write, and the future of its result."""

    work: Callable[[sqlite3.Connection], T]
    future: Future[T] = field(default_factory=Future)
    """Done once the write is safe on disk, or undone."""


# Any: each write has its own result.
Writes: TypeAlias = list[QueuedWrite[Any]]


class SqliteWriter:
    """Runs writes one after the other, each in a savepoint, many in one commit."""

    def __init__(self, connection: sqlite3.Connection, busy_seconds: float = 3) -> None:
        """Write with this connection; wait so long for a process that locks the file."""
        self._connection = connection
        self._busy_ms = round(busy_seconds * 1000)
        self._is_locked_out = False
        self._wait_ms = -1
        self._queue: queue.SimpleQueue[Writes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="cinder-writer", daemon=True)
        self._thread.start()

    def submit(self, writes: Writes) -> None:
        """Queue writes; must not be called after `stop`."""
        self._queue.put(writes)

    def stop(self) -> None:
        """Finish every write submitted so far and close the connection."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next_batch():
            # Writes that were cancelled before they began are left out.
            writes = [write for write in batch if write.future.set_running_or_notify_cancel()]
            if writes:
                self._run_batch(writes)
        self._connection.close()

    def _run_batch(self, writes: Writes) -> None:
        # The last write has waited for the lock already: until it is released, others wait less.
        wait_ms = min(self._busy_ms, LOCK_TIMEOUT_MS) if self._is_locked_out else self._busy_ms
        if wait_ms != self._wait_ms:
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
            self._wait_ms = wait_ms
        failure = _run_batch(self._connection, writes)
        self._is_locked_out = failure is not None and is_locked(failure)
        if failure is None or not self._is_locked_out:
            return
        # The writes behind the batch fail as well; a signal to stop stays in the queue.
        waiting: Writes = []
        with suppress(queue.Empty):
            while (queued := self._queue.get_nowait()) is not None:
                waiting += queued
            self._queue.put(None)
        for write in waiting:
            if write.future.set_running_or_notify_cancel():
                write.future.set_exception(failure)

    def _next_batch(self) -> Writes:
        """Wait for writes and return all that are queued; none when the writer is to stop."""
        batch: Writes = []
        writes = self._queue.get()
        with suppress(queue.Empty):
            while writes is not None:
                batch += writes
                if len(batch) >= MAX_BATCH:
                    return batch
                writes = self._queue.get_nowait()
            if batch:
                self._queue.put(None)  # read again when the queue is empty
        return batch


def _run_batch(connection: sqlite3.Connection, writes: Writes) -> Exception | None:
    """Run writes in one transaction; return why the transaction failed, if it did."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [attempt(connection, write.work) for write in writes]
        connection.execute("COMMIT")
    except Exception as exc:  # noqa: BLE001 - a worker's outermost loop: the callers get it
        # If this fails as well, the next BEGIN reports it.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        for write in writes:
            write.future.set_exception(exc)
        return exc
    for write, outcome in zip(writes, outcomes, strict=True):
        outcome(write.future)
    return None


def attempt(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]
) -> Callable[[Future[T] | asyncio.Future[T]], None]:
    """Run one write within the transaction; return the function that resolves its future."""
    try:
        with savepoint(connection):
            result = work(connection)
    except Exception as exc:  # a worker's loop: the caller gets it
        if not connection.in_transaction:
            raise  # SQLite has rolled back the whole batch, as it does when the disk is full
        failure = exc
        return lambda future: future.set_exception(failure)
    return partial(_set_result, result=result)


@contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Roll the block back if it fails; the rest of the transaction stays."""
    connection.execute("SAVEPOINT job")
    try:
        yield
    except Exception:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        raise
    connection.execute("RELEASE job")


# Any: each write has its own result.
Start: TypeAlias = Callable[[], Query[Any]]
RunBatched: TypeAlias = Callable[[Sequence[Start], sqlite3.Connection], list[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SharedWrite(Generic[T]):
    """A write that runs in a batch with others of its group, and the future of its result."""

    start: Callable[[], Query[T]]
    together: str
    outcome: asyncio.Future[T]
    """Done once the write is safe on disk, or undone. Only the event loop sets it."""


_Resolve: TypeAlias = Callable[[Future[Any] | asyncio.Future[Any]], None]
_WriteOutcome: TypeAlias = tuple[SharedWrite[Any], _Resolve]


class WriteBatcher:
    """Collects writes for the writer; only the event loop uses it."""

    def __init__(self, run: RunBatched, submit: Callable[[Writes], None]) -> None:
        self._run = run
        self._submit = submit
        self._writes: list[SharedWrite[Any]] = []
        self._last_at = -BATCH_WINDOW_SECONDS

    def add(self, write: SharedWrite[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Let a write wait for others, if more are likely to come."""
        before, self._last_at = self._last_at, loop.time()
        is_likely = self._last_at - before < BATCH_WINDOW_SECONDS
        if is_likely and not self._writes:
            loop.call_later(BATCH_WINDOW_SECONDS, self.flush)
        self._writes.append(write)
        if not is_likely:
            self.flush()

    def flush(self) -> None:
        """Submit the waiting writes, one batch for each group."""
        writes, self._writes = self._writes, []
        groups: dict[str, list[SharedWrite[Any]]] = {}
        for write in writes:
            groups.setdefault(write.together, []).append(write)
        batches: Writes = []
        for group in groups.values():
            batches.append(QueuedWrite(partial(_write, self._run, group)))
            batches[-1].future.add_done_callback(partial(_report, group))
        if batches:
            self._submit(batches)


def _write(
    run: RunBatched, writes: Sequence[SharedWrite[Any]], connection: sqlite3.Connection
) -> list[_WriteOutcome]:
    """Run writes as a batch, or each alone where that fails; return how to resolve each future."""
    # Writes that were cancelled before they began are left out.
    begun = [write for write in writes if not write.outcome.cancelled()]
    if len(begun) > 1:
        try:
            with savepoint(connection):
                results = run([write.start for write in begun], connection)
        except Exception:  # a worker's loop: each write is tried alone below
            if not connection.in_transaction:
                raise
        else:
            return [
                (write, partial(_set_result, result=result))
                for write, result in zip(begun, results, strict=True)
            ]

    def run_alone(write: SharedWrite[T], connection: sqlite3.Connection) -> T:
        result: T = run([write.start], connection)[0]
        return result

    return [(write, attempt(connection, partial(run_alone, write))) for write in begun]


def _set_result(future: Future[T] | asyncio.Future[T], result: T) -> None:
    future.set_result(result)


def _report(writes: Sequence[SharedWrite[Any]], joined: Future[list[_WriteOutcome]]) -> None:
    """Let the event loop resolve the futures of a batch, woken once for all of them."""
    loop = writes[0].outcome.get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(_resolve, writes, joined)


def _resolve(writes: Sequence[SharedWrite[Any]], joined: Future[list[_WriteOutcome]]) -> None:
    failure = joined.exception()
    if failure is None:
        for write, resolve in joined.result():
            if not write.outcome.done():
                resolve(write.outcome)
        return
    for write in writes:
        if not write.outcome.done():
            write.outcome.set_exception(failure)
