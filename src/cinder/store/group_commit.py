"""Group commit: concurrent writes share a transaction, and their statements run as one.

Each is written as if it were alone. Where several have come to statements of one kind, these are
made one: a statement, and the way to the database and back, costs more than most rows do.

The pages of a job wait for each other's locks anyway. Each alone would hold a connection meanwhile,
of which every one costs the server a process, and would take trips of its own to begin and commit.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from functools import cache
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from cinder.store.database import Arguments, Query, QueryRunner, SqlRow, SqlValue, Statement

T = TypeVar("T")

BATCH_WINDOW_SECONDS = 0.05
"""How long a write waits for those that go together with it, where the last came as lately.

A busy crawl has one every few ms, and each commit costs it the pages of a dozen indices once more.
One that waits for its sites would only wait for longer.
"""

# As many rows as one statement writes: few different statements, which the database prepares once.
_CHUNKS = (32, 16, 8, 4, 2, 1)
_PARAMETER = re.compile(r"\$(\d+)")


class WriteStage(IntEnum):
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


def run_batched(starts: Sequence[Callable[[], Query[T]]]) -> Query[list[T]]:
    """Run procedures as one and return the result of each; where one fails, all do."""
    runs = [QueryRunner(start()) for start in starts]
    while True:
        for run in runs:
            while run.statement is not None and run.statement.batchable is None:
                run.advance((yield run.statement))
        batchables = [run.statement.batchable for run in runs if run.statement is not None]
        batchable = min(
            (each for each in batchables if each), key=lambda each: each.stage, default=None
        )
        if batchable is None:
            return [run.result for run in runs]
        joined = [
            (run, run.statement.args)
            for run in runs
            if run.statement is not None and run.statement.batchable is batchable
        ]
        answers = yield from batchable.join([arguments for _, arguments in joined])
        for (run, _), rows in zip(joined, answers, strict=True):
            run.advance(rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BulkInsert:
    """Rows that one statement writes. Where it returns any, a procedure writes one at a time."""

    stage: WriteStage
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

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Write all rows; return to each procedure those that are its own."""
        values = [value for each in arguments for value in each]
        returned: defaultdict[Arguments, list[SqlRow]] = defaultdict(list)
        for start, end in _chunks(len(values) // self.width):
            part = values[start * self.width : end * self.width]
            for row in (yield self.write(*part)._replace(batchable=None)):
                returned[tuple(row[name] for name, _ in self.key)].append(row)
        keys = (tuple(each[place] for _, place in self.key) for each in arguments)
        # Of two with the same key, the second finds nothing left, as if it had come later.
        return [[returned[key].pop(0)] if returned[key] else [] for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BulkLookup:
    """Rows that are looked up by a value each; what else is asked is the same for all."""

    stage: WriteStage
    sql: str
    """Its last parameter is the list of values."""
    key: str
    """The column that has the value."""

    def find(self, *arguments: str | int) -> Statement:
        """Return what looks up the rows of the last argument."""
        *same, value = arguments
        values: Arguments = ([value],)
        return Statement(self.sql, (*same, *values), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Look up all values; of two who ask for the same, the second finds nothing.

        What one finds it is about to change, and the other would not know.
        """
        values = [value for *_, (value,) in arguments]
        found = defaultdict(list)
        for row in (yield Statement(self.sql, (*arguments[0][:-1], values))):
            found[row[self.key]].append(row)
        return [found.pop(value, []) for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class BulkIncrement:
    """Numbers that are added to one row."""

    stage: WriteStage
    sql: str
    """Its first parameter names the row, the others are the numbers."""

    def add(self, name: str, *numbers: int) -> Statement:
        """Return what adds numbers to a row."""
        return Statement(self.sql, (name, *numbers), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
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


MAX_SHARING = 8

# Any: each write has its own result.
Start: TypeAlias = Callable[[], Query[Any]]


def _new_future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    start: Start
    together: str
    outcome: "asyncio.Future[Any]" = field(default_factory=_new_future)


class SharedTransactions:
    """Runs writes a few at a time, all in one transaction; one that fails spoils no other."""

    def __init__(self, run_together: Callable[[Sequence[Start]], Awaitable[list[Any]]]) -> None:
        self._run_together = run_together
        self._waiting: list[_Write] = []
        self._turns = asyncio.Lock()
        self._came_at = -BATCH_WINDOW_SECONDS

    async def write(self, start: Callable[[], Query[T]], together: str) -> T:
        """Run a procedure, with those of the same word that wait; return when it is committed."""
        write = _Write(start, together)
        self._waiting.append(write)
        try:
            if self._is_batch_likely():
                # Whoever has waited longest takes the others along.
                await asyncio.wait([write.outcome], timeout=BATCH_WINDOW_SECONDS)
            async with self._turns:
                if not write.outcome.done():
                    await self._write_waiting(write)
        except asyncio.CancelledError:
            self._waiting = [other for other in self._waiting if other is not write]
            write.outcome.cancel()  # whoever has it in hand need not tell
            raise
        result: T = write.outcome.result()
        return result

    def _is_batch_likely(self) -> bool:
        before, self._came_at = self._came_at, asyncio.get_running_loop().time()
        return self._came_at - before < BATCH_WINDOW_SECONDS

    async def _write_waiting(self, own: _Write) -> None:
        # Of one job alone: who locks two jobs may wait for one who locks them the other way round.
        fit = (each for each in self._waiting if each is not own and each.together == own.together)
        others = list(islice(fit, MAX_SHARING - 1))
        together = [own, *others]
        self._waiting = [write for write in self._waiting if write not in together]
        try:
            await self._settle(together)
        finally:
            # Those that are not done, as this caller went away, are left to the next.
            self._waiting += [write for write in others if not write.outcome.done()]

    async def _settle(self, writes: Sequence[_Write]) -> None:
        try:
            results = await self._run_together([write.start for write in writes])
        except Exception as failure:  # noqa: BLE001 - whoever waits for the write raises it
            if len(writes) == 1:
                if not writes[0].outcome.done():
                    writes[0].outcome.set_exception(failure)
                return
            for write in writes:
                await self._settle([write])
            return
        for write, result in zip(writes, results, strict=True):
            if not write.outcome.done():
                write.outcome.set_result(result)
