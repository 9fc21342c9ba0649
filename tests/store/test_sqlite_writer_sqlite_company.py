"""Writes in company: they wait for each other, run as one, and fail each for itself."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from cinder.store.database import Query, QueryRunner, Statement
from cinder.store.sqlite import connect
from cinder.store.sqlite_writer import SharedWrite, SqliteWriter, WriteBatcher, Writes

Start = Callable[[], Query[int]]


class Runs:
    """Runs writes together, one after the other, and keeps how many at a time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    # Any: as the company has it.
    def __call__(
        self, starts: Sequence[Callable[[], Query[Any]]], connection: sqlite3.Connection
    ) -> list[Any]:
        self.sizes.append(len(starts))
        return [_run(connection, start()) for start in starts]


def _run(connection: sqlite3.Connection, procedure: Query[int]) -> int:
    run = QueryRunner(procedure)
    while run.statement is not None:
        run.advance(connection.execute(*run.statement[:2]).fetchall())
    return run.result


def add(number: int) -> Start:
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
def writer(connection: sqlite3.Connection) -> Iterator[SqliteWriter]:
    writer = SqliteWriter(connection)
    yield writer
    writer.stop()


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def waiting(writer: SqliteWriter, runs: Runs) -> WriteBatcher:
    return WriteBatcher(runs, writer.submit)


def let_wait(waiting: WriteBatcher, start: Start, together: str = "job") -> Future[int]:
    write = SharedWrite(start, together)
    waiting.add(write, asyncio.get_running_loop())
    return write.future


async def test_writes_in_quick_succession_wait_for_each_other(
    waiting: WriteBatcher, runs: Runs
) -> None:
    writes = []
    for number in range(11):
        writes.append(let_wait(waiting, add(number)))
        await asyncio.sleep(0)
    assert await asyncio.gather(*map(asyncio.wrap_future, writes)) == list(range(11))
    assert runs.sizes == [1, 10]


async def test_one_that_comes_alone_does_not_wait(
    waiting: WriteBatcher, writer: SqliteWriter
) -> None:
    write = let_wait(waiting, add(1))
    writer.stop()
    assert write.result() == 1


async def test_what_waits_can_be_sent_on_at_once(
    waiting: WriteBatcher, writer: SqliteWriter
) -> None:
    let_wait(waiting, add(0))
    write = let_wait(waiting, add(1))
    waiting.flush()
    writer.stop()
    assert write.result() == 1


async def test_those_of_other_jobs_run_apart(waiting: WriteBatcher, runs: Runs) -> None:
    writes = [let_wait(waiting, add(number), f"job {number % 2}") for number in range(6)]
    assert await asyncio.gather(*map(asyncio.wrap_future, writes)) == list(range(6))
    assert runs.sizes == [1, 3, 2]


async def test_one_that_fails_spoils_no_other(waiting: WriteBatcher, runs: Runs) -> None:
    writes = [let_wait(waiting, add(number)) for number in (0, 1, 2, 1, 3)]
    done = await asyncio.gather(*map(asyncio.wrap_future, writes), return_exceptions=True)
    assert [type(each) for each in done] == [int, int, int, sqlite3.IntegrityError, int]
    assert runs.sizes == [1, 4, 1, 1, 1, 1]


async def test_one_that_is_cancelled_before_it_begins_is_left_out(
    waiting: WriteBatcher, runs: Runs
) -> None:
    alone, first, cancelled, last = (let_wait(waiting, add(number)) for number in range(4))
    assert cancelled.cancel()
    assert [await asyncio.wrap_future(write) for write in (alone, first, last)] == [0, 1, 3]
    assert runs.sizes == [1, 2]


async def test_all_are_told_where_nothing_could_be_begun(
    writer: SqliteWriter, connection: sqlite3.Connection, runs: Runs
) -> None:
    sent: list[Writes] = []
    waiting = WriteBatcher(runs, sent.append)
    _, *writes = [let_wait(waiting, add(number)) for number in range(3)]
    waiting.flush()
    connection.execute("BEGIN")
    writer.submit(sent[1])
    done = await asyncio.gather(*map(asyncio.wrap_future, writes), return_exceptions=True)
    assert [type(each) for each in done] == [sqlite3.OperationalError] * 2
