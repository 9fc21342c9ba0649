"""Group commit: waiting writes share a transaction, and a failed one affects no other."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from cinder.store.database import Query, QueryRunner, SqlRow, Statement
from cinder.store.group_commit import (
    MAX_SHARING,
    BulkIncrement,
    BulkInsert,
    BulkLookup,
    SharedTransactions,
    WriteStage,
    run_batched,
)

T = TypeVar("T")

ADD = BulkInsert(
    stage=WriteStage.ADD_VERSION,
    sql="INSERT {rows}",
    row="($1, $2, f($1))",
    width=2,
    key=(("name", 0),),
)
LOOK = BulkLookup(stage=WriteStage.LOCK_ENTRY, sql="SELECT", key="name")
COUNT = BulkIncrement(WriteStage.COUNT, "UPDATE")

Answer = Callable[[Statement], Sequence[SqlRow]]


def run(answer: Answer, *starts: Callable[[], Query[T]]) -> tuple[list[T], list[Statement]]:
    """Return the results of queries and the statements that were run for them."""
    statements, together = [], QueryRunner(run_batched(starts))
    while together.statement is not None:
        statements.append(together.statement)
        together.advance(answer(together.statement))
    return together.result, statements


def nothing(_: Statement) -> Sequence[SqlRow]:
    return []


def names(statement: Statement) -> Sequence[SqlRow]:
    """Answer with every second argument: the names of the rows that are written."""
    return [{"name": name} for name in statement.args[::2]]


def adding(name: str) -> Callable[[], Query[list[str]]]:
    def start() -> Query[list[str]]:
        rows = yield ADD.write(name, len(name))
        return [row["name"] for row in rows]

    return start


def test_rows_are_written_by_one_statement_and_returned_to_their_own() -> None:
    results, statements = run(lambda one: names(one)[::-1], adding("a"), adding("bb"))
    assert results == [["a"], ["bb"]]
    assert [(each.sql, each.args) for each in statements] == [
        ("INSERT ($1, $2, f($1)), ($3, $4, f($3))", ("a", 1, "bb", 2))
    ]


def test_a_row_that_was_not_written_is_returned_to_nobody() -> None:
    results, _ = run(lambda one: names(one)[1:], adding("a"), adding("b"))
    assert results == [[], ["b"]]


def test_of_two_rows_with_one_key_the_first_is_the_one_written() -> None:
    results, _ = run(lambda one: names(one)[:1], adding("a"), adding("a"))
    assert results == [["a"], []]


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (7, [4, 2, 1]), (41, [32, 8, 1])])
def test_many_rows_are_written_by_few_different_statements(count: int, sizes: list[int]) -> None:
    results, statements = run(names, *(adding(f"{number}") for number in range(count)))
    assert results == [[f"{number}"] for number in range(count)]
    assert [len(each.args) // 2 for each in statements] == sizes


def looking(name: str) -> Callable[[], Query[int]]:
    def start() -> Query[int]:
        return len((yield LOOK.find("same", name)))

    return start


def test_values_are_looked_up_by_one_statement() -> None:
    rows = [{"name": "b"}, {"name": "a"}, {"name": "b"}]
    results, statements = run(lambda _: rows, *map(looking, "abc"))
    assert results == [1, 2, 0]
    assert [each.args for each in statements] == [("same", ["a", "b", "c"])]


def test_of_two_who_look_for_one_value_the_second_finds_nothing() -> None:
    assert run(lambda _: [{"name": "a"}], looking("a"), looking("a"))[0] == [1, 0]


def test_numbers_for_one_row_are_added_up() -> None:
    def counting(name: str, number: int) -> Callable[[], Query[None]]:
        def start() -> Query[None]:
            yield COUNT.add(name, number, 1)

        return start

    _, statements = run(nothing, counting("b", 5), counting("a", 2), counting("b", 3))
    assert [each.args for each in statements] == [("a", 2, 1), ("b", 8, 2)]


def test_a_stage_waits_for_those_who_are_before_it() -> None:
    # Any: what is answered does not matter.
    def late() -> Query[Any]:
        yield Statement("first")
        yield LOOK.find("late")
        yield Statement("second")
        return (yield ADD.write("late", 0))

    def early() -> Query[Any]:
        return (yield ADD.write("early", 0))

    _, statements = run(nothing, early, late)
    assert [(each.sql, each.args[::2]) for each in statements] == [
        ("first", ()),
        ("SELECT", (["late"],)),
        ("second", ()),
        ("INSERT ($1, $2, f($1)), ($3, $4, f($3))", ("early", "late")),
    ]


def test_one_that_fails_fails_all() -> None:
    def failing() -> Query[list[str]]:
        yield Statement("SELECT")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - its own
        run(names, adding("a"), failing)


class Ledger:
    """Runs writes as a database does, and keeps what was committed in which transaction."""

    def __init__(self) -> None:
        self.transactions: list[list[Any]] = []
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()

    # Any: as the protocol has it.
    async def run_together(self, starts: Sequence[Callable[[], Query[Any]]]) -> list[Any]:
        self.begun.set()
        await self.go_on.wait()
        results = [QueryRunner(start()).result for start in starts]
        self.transactions.append(results)
        return results


def number(value: int) -> Callable[[], Query[int]]:
    def start() -> Query[int]:
        if value < 0:
            raise ValueError(value)
        yield from ()
        return value

    return start


async def test_what_waits_is_written_together() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(shared.write(number(n), "job")) for n in range(10)]
        await ledger.begun.wait()
        ledger.go_on.set()
    assert [task.result() for task in tasks] == list(range(10))
    assert [len(each) for each in ledger.transactions] == [1, MAX_SHARING, 1]


async def test_jobs_do_not_share() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    async with asyncio.TaskGroup() as group:
        for n in range(4):
            group.create_task(shared.write(number(n), f"job {n % 2}"))
        await ledger.begun.wait()
        ledger.go_on.set()
    assert ledger.transactions == [[0], [1, 3], [2]]


async def test_one_that_fails_spoils_no_other() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    writes = [asyncio.create_task(shared.write(number(n), "job")) for n in (1, 2, -1, 3)]
    await ledger.begun.wait()
    ledger.go_on.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert results[:2] == [1, 2]
    assert isinstance(results[2], ValueError)
    assert results[3] == 3
    assert ledger.transactions == [[1], [2], [3]]


async def test_one_that_goes_away_leaves_the_others_to_the_next() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    first, second, third = (asyncio.create_task(shared.write(number(n), "job")) for n in range(3))
    await ledger.begun.wait()
    first.cancel()
    third.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    ledger.go_on.set()
    assert await second == 1
    assert ledger.transactions == [[1]]
