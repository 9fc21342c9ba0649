"""Procedures: database operations that yield statements and receive rows, and so run anywhere."""

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from cinder.errors import CacheFailed

T = TypeVar("T")

SqlValue: TypeAlias = (
    str | bytes | int | datetime | Sequence[str] | Sequence[int] | Sequence[float] | None
)


class Row(Protocol):
    """One row of an answer, its columns by name."""

    def __getitem__(self, name: str, /) -> Any:  # Any: whatever the column holds
        """Return a column's value."""
        ...


# Any: a joint knows the types of its own.
Arguments: TypeAlias = tuple[Any, ...]


class Statement(NamedTuple):
    """One SQL statement, in PostgreSQL's words, with its numbered parameters' values."""

    sql: str
    args: tuple[SqlValue, ...] = ()
    joint: "Joint | None" = None
    """By which it becomes one with others of its kind, in procedures that run together."""


Procedure: TypeAlias = Generator[Statement, Sequence[Row], T]


class Joint(Protocol):
    """Makes one of the statements of a kind."""

    @property
    def stage(self) -> int:
        """When it is its turn: after all procedures are past what comes earlier."""
        ...

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Run statements with these arguments as one; return the rows of each."""
        ...


class Overtaken(CacheFailed):
    """Another writer changed the same entry again and again; try once more."""


class Run(Generic[T]):
    """A procedure under way: the statement it waits for, or, when that is None, its result."""

    __slots__ = ("_procedure", "result", "statement")

    result: T

    def __init__(self, procedure: Procedure[T]) -> None:
        self._procedure = procedure
        self.statement: Statement | None = None
        self._step(None)

    def advance(self, rows: Sequence[Row]) -> None:
        """Hand over the answer to the statement and move on to the next."""
        self._step(rows)

    def _step(self, rows: Sequence[Row] | None) -> None:
        try:
            if rows is None:
                self.statement = next(self._procedure)
            else:
                self.statement = self._procedure.send(rows)
        except StopIteration as end:
            self.statement, self.result = None, end.value
