"""The writer: all or nothing for each write, one commit for many, nothing lost at the end."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

from cinder.store.sqlite import connect
from cinder.store.sqlite_errors import is_locked
from cinder.store.sqlite_writer import MAX_BATCH, QueuedWrite, SqliteWriter

SECONDS = 30

Work = Callable[[sqlite3.Connection], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "numbers.db"


@pytest.fixture
def commits() -> list[str]:
    return []


@pytest.fixture
def writer(path: Path, commits: list[str]) -> Iterator[SqliteWriter]:
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, filler BLOB)")
    connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    writer = SqliteWriter(connection)
    yield writer
    writer.stop()


def add(number: int, filler: bytes = b"") -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO numbers VALUES (?, ?)", (number, filler))

    return work


def submit(writer: SqliteWriter, work: Work) -> Future[None]:
    write = QueuedWrite(work)
    writer.submit([write])
    return write.future


def kept(path: Path) -> list[int]:
    connection = connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT number FROM numbers ORDER BY 1")]
    finally:
        connection.close()


def hold(writer: SqliteWriter) -> threading.Event:
    """Keep the writer busy until the event is set, so that what follows has to wait."""
    begun, go_on = threading.Event(), threading.Event()

    def work(_connection: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait(SECONDS)

    submit(writer, work)
    assert begun.wait(SECONDS)
    return go_on


def test_writes_that_wait_together_share_a_commit(
    writer: SqliteWriter, path: Path, commits: list[str]
) -> None:
    go_on = hold(writer)
    futures = [submit(writer, add(number)) for number in range(MAX_BATCH)]
    go_on.set()
    for future in futures:
        future.result(SECONDS)
    assert kept(path) == list(range(MAX_BATCH))
    assert len(commits) == 2


def test_a_write_that_fails_undoes_itself_alone(writer: SqliteWriter, path: Path) -> None:
    def add_then_fail(connection: sqlite3.Connection) -> None:
        add(2)(connection)
        add(1)(connection)

    go_on = hold(writer)
    first, failing, last = (submit(writer, work) for work in (add(1), add_then_fail, add(3)))
    go_on.set()
    with pytest.raises(sqlite3.IntegrityError):
        failing.result(SECONDS)
    first.result(SECONDS)
    last.result(SECONDS)
    assert kept(path) == [1, 3]


def test_a_write_cancelled_before_it_begins_is_left_out(writer: SqliteWriter, path: Path) -> None:
    go_on = hold(writer)
    cancelled, other = submit(writer, add(1)), submit(writer, add(2))
    assert cancelled.cancel()
    go_on.set()
    other.result(SECONDS)
    with pytest.raises(CancelledError):
        cancelled.result(SECONDS)
    assert kept(path) == [2]


def test_a_full_disk_fails_the_write_and_not_the_writer(writer: SqliteWriter, path: Path) -> None:
    submit(writer, lambda c: list(c.execute("PRAGMA max_page_count = 20")).clear()).result(SECONDS)
    full = submit(writer, add(1, bytes(10_000_000)))
    with pytest.raises(sqlite3.OperationalError):
        full.result(SECONDS)
    submit(writer, add(2)).result(SECONDS)
    assert kept(path) == [2]


def test_stopping_finishes_what_waits(path: Path) -> None:
    connection = connect(path)
    connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, filler BLOB)")
    writer = SqliteWriter(connection)
    go_on = hold(writer)
    futures = [submit(writer, add(number)) for number in range(2 * MAX_BATCH)]
    go_on.set()
    writer.stop()
    assert all(future.done() for future in futures)
    assert kept(path) == list(range(2 * MAX_BATCH))


def test_what_waits_for_a_file_that_others_lock_is_told_soon_and_goes_on_after(path: Path) -> None:
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, filler BLOB)")
    writer = SqliteWriter(connection, busy_seconds=0.3)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        futures = [submit(writer, add(number)) for number in range(3 * MAX_BATCH)]
        failures = [future.exception(SECONDS) for future in futures]
        assert all(failure is not None and is_locked(failure) for failure in failures)
        assert is_locked(submit(writer, add(1)).exception(SECONDS) or ValueError())
        other.execute("ROLLBACK")
        submit(writer, add(7)).result(SECONDS)
        assert kept(path) == [7]
    finally:
        other.close()
        writer.stop()
