"""The one thread that writes to SQLite: what waits together is committed together."""

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# The writes that share one commit; more would only make the first of them wait.
MAX_BATCH = 128


@dataclass(frozen=True, slots=True)
class _Job(Generic[T]):
    work: Callable[[sqlite3.Connection], T]
    future: Future[T] = field(default_factory=Future)


class SqliteWriter:
    """Runs writes one after the other, each all or nothing, many to one commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # Any: each job has its own result.
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="cinder-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue a write; its future is done once the write is safe on disk, or undone.

        Not to be called once the writer is told to stop.
        """
        job = _Job(work)
        self._jobs.put(job)
        return job.future

    def stop(self) -> None:
        """Finish every write submitted so far and close the connection."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next_batch():
            # A job whose caller has gone away before it began is left out.
            jobs = [job for job in batch if job.future.set_running_or_notify_cancel()]
            if jobs:
                _run_batch(self._connection, jobs)
        self._connection.close()

    def _next_batch(self) -> list[_Job[Any]]:
        """Return the jobs that wait, once there is one; none when the writer is to stop."""
        batch: list[_Job[Any]] = []
        job = self._jobs.get()
        with suppress(queue.Empty):
            while job is not None:
                batch.append(job)
                if len(batch) == MAX_BATCH:
                    return batch
                job = self._jobs.get_nowait()
            if batch:
                self._jobs.put(None)  # to be met again, with nothing before it
        return batch


def _run_batch(connection: sqlite3.Connection, jobs: list[_Job[Any]]) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        outcomes = [_attempt(connection, job) for job in jobs]
        connection.execute("COMMIT")
    except Exception as exc:  # noqa: BLE001 - a worker's outermost loop: the callers are told
        _roll_back(connection)
        for job in jobs:
            job.future.set_exception(exc)
        return
    for job, outcome in zip(jobs, outcomes, strict=True):
        outcome(job.future)


def _attempt(connection: sqlite3.Connection, job: _Job[T]) -> Callable[[Future[T]], None]:
    """Run one job within the transaction; return what tells its caller how it went."""
    connection.execute("SAVEPOINT job")
    try:
        result = job.work(connection)
    except Exception as exc:  # a worker's loop: the caller is told
        if not connection.in_transaction:
            raise  # SQLite has undone the whole batch, as it does when the disk is full
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        failure = exc
        return lambda future: future.set_exception(failure)
    connection.execute("RELEASE job")
    return lambda future: future.set_result(result)


def _roll_back(connection: sqlite3.Connection) -> None:
    # Should this fail as well, the next BEGIN says so to its callers.
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
