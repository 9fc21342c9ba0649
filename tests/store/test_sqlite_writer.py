"""The writer: all or nothing for each write, one commit for many, nothing lost at the end."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from cinder.store.database import Query, QueryRunner, Statement
from cinder.store.sqlite import connect
from cinder.store.sqlite_writer import (
    MAX_BATCH,
    QueuedWrite,
    SharedWrite,
    SqliteWriter,
    WriteBatcher,
    Writes,
    is_locked,
)

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


Start = Callable[[], Query[int]]


class Runs:
    """Runs the writes of a batch one after the other, and records the sizes of the batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    # Any: as the batcher has it.
    def __call__(
        self, starts: Sequence[Callable[[], Query[Any]]], connection: sqlite3.Connection
    ) -> list[Any]:
        self.sizes.append(len(starts))
        return [_run(connection, start()) for start in starts]


def _run(connection: sqlite3.Connection, query: Query[int]) -> int:
    run = QueryRunner(query)
    while run.statement is not None:
        run.advance(connection.execute(*run.statement[:2]).fetchall())
    return run.result


def add_query(number: int) -> Start:
    def start() -> Query[int]:
        yield Statement("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return start


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    connection = connect(tmp_path / "numbers.db")
    connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
    return connection


@pytest.fixture
def batch_writer(connection: sqlite3.Connection) -> Iterator[SqliteWriter]:
    batch_writer = SqliteWriter(connection)
    yield batch_writer
    batch_writer.stop()


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def waiting(batch_writer: SqliteWriter, runs: Runs) -> WriteBatcher:
    return WriteBatcher(runs, batch_writer.submit)


def let_wait(waiting: WriteBatcher, start: Start, together: str = "job") -> asyncio.Future[int]:
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[int] = loop.create_future()
    waiting.add(SharedWrite(start, together, outcome), loop)
    return outcome


async def test_writes_in_quick_succession_wait_for_each_other(
    waiting: WriteBatcher, runs: Runs
) -> None:
    writes = []
    for number in range(11):
        writes.append(let_wait(waiting, add_query(number)))
        await asyncio.sleep(0)
    assert await asyncio.gather(*writes) == list(range(11))
    assert runs.sizes == [1, 10]


async def test_one_that_comes_alone_does_not_wait(
    waiting: WriteBatcher, batch_writer: SqliteWriter
) -> None:
    write = let_wait(waiting, add_query(1))
    batch_writer.stop()
    assert await write == 1


async def test_what_waits_can_be_sent_on_at_once(
    waiting: WriteBatcher, batch_writer: SqliteWriter
) -> None:
    let_wait(waiting, add_query(0))
    write = let_wait(waiting, add_query(1))
    waiting.flush()
    batch_writer.stop()
    assert await write == 1


async def test_those_of_other_jobs_run_apart(waiting: WriteBatcher, runs: Runs) -> None:
    writes = [let_wait(waiting, add_query(number), f"job {number % 2}") for number in range(6)]
    assert await asyncio.gather(*writes) == list(range(6))
    assert runs.sizes == [1, 3, 2]


async def test_one_that_fails_spoils_no_other(waiting: WriteBatcher, runs: Runs) -> None:
    writes = [let_wait(waiting, add_query(number)) for number in (0, 1, 2, 1, 3)]
    done = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(each) for each in done] == [int, int, int, sqlite3.IntegrityError, int]
    assert runs.sizes == [1, 4, 1, 1, 1, 1]


async def test_one_that_is_cancelled_before_it_begins_is_left_out(
    waiting: WriteBatcher, runs: Runs
) -> None:
    alone, first, cancelled, last = (let_wait(waiting, add_query(number)) for number in range(4))
    assert cancelled.cancel()
    assert [await write for write in (alone, first, last)] == [0, 1, 3]
    assert runs.sizes == [1, 2]


async def test_all_are_told_where_nothing_could_be_begun(
    batch_writer: SqliteWriter, connection: sqlite3.Connection, runs: Runs
) -> None:
    sent: list[Writes] = []
    waiting = WriteBatcher(runs, sent.append)
    _, *writes = [let_wait(waiting, add_query(number)) for number in range(3)]
    waiting.flush()
    connection.execute("BEGIN")
    batch_writer.submit(sent[1])
    done = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(each) for each in done] == [sqlite3.OperationalError] * 2
