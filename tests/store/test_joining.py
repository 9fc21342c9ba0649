"""Joining: many procedures, few statements, and to each the rows that it would have alone."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from cinder.store.joining import JointLookup, JointRows, JointSum, Stage, run_together
from cinder.store.procedure import Procedure, Row, Run, Statement

T = TypeVar("T")

ADD = JointRows(
    stage=Stage.ADD_VERSION,
    sql="INSERT {rows}",
    row="($1, $2, f($1))",
    width=2,
    key=(("name", 0),),
)
LOOK = JointLookup(stage=Stage.LOCK_ENTRY, sql="SELECT", key="name")
COUNT = JointSum(Stage.COUNT, "UPDATE")

Answer = Callable[[Statement], Sequence[Row]]


def run(answer: Answer, *starts: Callable[[], Procedure[T]]) -> tuple[list[T], list[Statement]]:
    """Return the results of procedures and the statements that were run for them."""
    statements, together = [], Run(run_together(starts))
    while together.statement is not None:
        statements.append(together.statement)
        together.advance(answer(together.statement))
    return together.result, statements


def nothing(_: Statement) -> Sequence[Row]:
    return []


def names(statement: Statement) -> Sequence[Row]:
    """Answer with every second argument: the names of the rows that are written."""
    return [{"name": name} for name in statement.args[::2]]


def adding(name: str) -> Callable[[], Procedure[list[str]]]:
    def start() -> Procedure[list[str]]:
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


def looking(name: str) -> Callable[[], Procedure[int]]:
    def start() -> Procedure[int]:
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
    def counting(name: str, number: int) -> Callable[[], Procedure[None]]:
        def start() -> Procedure[None]:
            yield COUNT.add(name, number, 1)

        return start

    _, statements = run(nothing, counting("b", 5), counting("a", 2), counting("b", 3))
    assert [each.args for each in statements] == [("a", 2, 1), ("b", 8, 2)]


def test_a_stage_waits_for_those_who_are_before_it() -> None:
    # Any: what is answered does not matter.
    def late() -> Procedure[Any]:
        yield Statement("first")
        yield LOOK.find("late")
        yield Statement("second")
        return (yield ADD.write("late", 0))

    def early() -> Procedure[Any]:
        return (yield ADD.write("early", 0))

    _, statements = run(nothing, early, late)
    assert [(each.sql, each.args[::2]) for each in statements] == [
        ("first", ()),
        ("SELECT", (["late"],)),
        ("second", ()),
        ("INSERT ($1, $2, f($1)), ($3, $4, f($3))", ("early", "late")),
    ]


def test_one_that_fails_fails_all() -> None:
    def failing() -> Procedure[list[str]]:
        yield Statement("SELECT")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - its own
        run(names, adding("a"), failing)
