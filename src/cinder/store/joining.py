"""Joining: procedures that share a transaction take their steps together, many to a statement.

Each is written as if it were alone. Where several have come to statements of one kind, these are
made one: a statement, and the way to the database and back, costs more than most rows do.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cache
from typing import TypeVar

from cinder.store.procedure import Arguments, Procedure, Row, Run, SqlValue, Statement

T = TypeVar("T")

COMPANY_SECONDS = 0.05
"""How long a write waits for those that go together with it, where the last came as lately.

A busy crawl has one every few ms, and each commit costs it the pages of a dozen indices once more.
One that waits for its sites would only wait for longer.
"""

# As many rows as one statement writes: few different statements, which the database prepares once.
_CHUNKS = (32, 16, 8, 4, 2, 1)
_PARAMETER = re.compile(r"\$(\d+)")


class Stage(IntEnum):
    """The order in which a page and its fate are written."""

    LOCK_ENTRY = auto()
    ADD_VERSION = auto()
    ADD_ENTRY = auto()
    LOCK_PAGE = auto()
    ADD_PAGE = auto()
    FIND_STEMS = auto()
    ADD_WORDS = auto()
    HOLD_CLAIM = auto()
    MEET = auto()
    FIND_LIKE = auto()
    FINISH = auto()
    ADD_KEYS = auto()
    TELL = auto()
    COUNT = auto()


def run_together(starts: Sequence[Callable[[], Procedure[T]]]) -> Procedure[list[T]]:
    """Run procedures as one and return the result of each; where one fails, all do."""
    runs = [Run(start()) for start in starts]
    while True:
        for run in runs:
            while run.statement is not None and run.statement.joint is None:
                run.advance((yield run.statement))
        joints = [run.statement.joint for run in runs if run.statement is not None]
        joint = min((each for each in joints if each), key=lambda each: each.stage, default=None)
        if joint is None:
            return [run.result for run in runs]
        joined = [
            (run, run.statement.args)
            for run in runs
            if run.statement is not None and run.statement.joint is joint
        ]
        answers = yield from joint.join([arguments for _, arguments in joined])
        for (run, _), rows in zip(joined, answers, strict=True):
            run.advance(rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointRows:
    """Rows that one statement writes. Where it returns any, a procedure writes one at a time."""

    stage: Stage
    sql: str
    """With `{rows}` where the rows stand."""
    row: str
    """How one is written, with the parameters that it would have alone."""
    width: int
    """How many parameters that are."""
    key: tuple[tuple[str, int], ...] = ()
    """Columns that tell whose a returned row is, and the places of their values among a row's."""

    def write(self, *arguments: SqlValue) -> Statement:
        """Return what writes a row, or some after each other."""
        sql = _spell(self.sql, self.row, self.width, len(arguments) // self.width)
        return Statement(sql, arguments, self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Write all rows; return to each procedure those that are its own."""
        values = [value for each in arguments for value in each]
        returned: defaultdict[Arguments, list[Row]] = defaultdict(list)
        for start, end in _chunks(len(values) // self.width):
            part = values[start * self.width : end * self.width]
            for row in (yield self.write(*part)._replace(joint=None)):
                returned[tuple(row[name] for name, _ in self.key)].append(row)
        keys = (tuple(each[place] for _, place in self.key) for each in arguments)
        # Of two with the same key, the second finds nothing left, as if it had come later.
        return [[returned[key].pop(0)] if returned[key] else [] for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointLookup:
    """Rows that are looked up by a value each; what else is asked is the same for all."""

    stage: Stage
    sql: str
    """Its last parameter is the list of values."""
    key: str
    """The column that has the value."""

    def find(self, *arguments: str | int) -> Statement:
        """Return what looks up the rows of the last argument."""
        *same, value = arguments
        values: Arguments = ([value],)
        return Statement(self.sql, (*same, *values), self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Look up all values; of two who ask for the same, the second finds nothing.

        What one finds it is about to change, and the other would not know.
        """
        values = [value for *_, (value,) in arguments]
        found = defaultdict(list)
        for row in (yield Statement(self.sql, (*arguments[0][:-1], values))):
            found[row[self.key]].append(row)
        return [found.pop(value, []) for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class JointSum:
    """Numbers that are added to one row."""

    stage: Stage
    sql: str
    """Its first parameter names the row, the others are the numbers."""

    def add(self, name: str, *numbers: int) -> Statement:
        """Return what adds numbers to a row."""
        return Statement(self.sql, (name, *numbers), self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Add up what goes to the same row."""
        sums: dict[str, list[int]] = {}
        for name, *numbers in arguments:
            known = sums.get(name, [0] * len(numbers))
            sums[name] = [sum(pair) for pair in zip(known, numbers, strict=True)]
        for name, numbers in sorted(sums.items()):
            yield Statement(self.sql, (name, *numbers))
        return [()] * len(arguments)


def _chunks(count: int) -> Iterator[tuple[int, int]]:
    start = 0
    for size in _CHUNKS:
        while count - start >= size:
            yield start, start + size
            start += size


@cache
def _spell(sql: str, row: str, width: int, count: int) -> str:
    def shifted(number: int) -> str:
        return _PARAMETER.sub(lambda found: f"${int(found[1]) + number * width}", row)

    return sql.format(rows=", ".join(shifted(number) for number in range(count)))
