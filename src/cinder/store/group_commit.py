"""Group commit: concurrent writes share a transaction, and their statements run as one.

Each write is a query of its own. Where several have reached statements of one kind, these run as
one: a statement, and the round trip to the database, costs more than most rows do.

The pages of a job wait for each other's locks anyway. Alone, each would hold a connection
meanwhile, which costs PostgreSQL a process, and would need round trips of its own to begin and
commit.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cache
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from cinder.store.database import Arguments, Query, QueryRunner, SqlRow, SqlValue, Statement

T = TypeVar("T")

BATCH_WINDOW_SECONDS = 0.05
"""How long a write waits for others of its group, if the last one came within this time.

A busy crawl has a write every few ms, and each commit writes the pages of a dozen indexes once
more. A crawl that waits for its sites does not wait for a group as well.
"""

# How many rows one statement writes: few different statements, each prepared once.
_CHUNKS = (32, 16, 8, 4, 2, 1)
_PARAMETER = re.compile(r"\$(\d+)")


class WriteStage(IntEnum):
    """The order in which a page and its status are written."""

    LOCK_ENTRY = auto()
    ADD_VERSION = auto()
    ADD_ENTRY = auto()
    LOCK_PAGE = auto()
    ADD_PAGE = auto()
    FIND_STEMS = auto()
    ADD_WORDS = auto()
    LOCK_LEASE = auto()
    SHARE_LIST = auto()
    FIND_LIKE = auto()
    FINISH = auto()
    ADD_KEYS = auto()
    ADD_EVENT = auto()
    COUNT = auto()


def run_batched(starts: Sequence[Callable[[], Query[T]]]) -> Query[list[T]]:
    """Run queries as a batch and return the result of each; where one fails, all do."""
    runs = [QueryRunner(start()) for start in starts]
    while True:
        for run in runs:
            while run.statement is not None and run.statement.batchable is None:
                run.advance((yield run.statement))
        pending = [(run, run.statement) for run in runs if run.statement is not None]
        if not pending:
            return [run.result for run in runs]
        batchable = min(
            (statement.batchable for _, statement in pending if statement.batchable),
            key=lambda batchable: batchable.stage,
        )
        joined = [
            (run, statement.args) for run, statement in pending if statement.batchable is batchable
        ]
        results = yield from batchable.join([arguments for _, arguments in joined])
        for (run, _), rows in zip(joined, results, strict=True):
            run.advance(rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BulkInsert:
    """Rows that one statement writes. If it returns rows, each query writes one row at a time."""

    stage: WriteStage
    sql: str
    """With `{rows}` in the place of the rows."""
    row: str
    """The SQL of one row, with its parameters numbered from 1."""
    width: int
    """How many parameters a row has."""
    key: tuple[tuple[str, int], ...] = ()
    """The columns that identify a returned row, each with the index of its parameter."""

    def write(self, *arguments: SqlValue) -> Statement:
        """Return the statement that writes one row or several."""
        sql = _spell(self.sql, self.row, self.width, len(arguments) // self.width)
        return Statement(sql, arguments, self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Write all rows; return to each query its own."""
        values = [value for row in arguments for value in row]
        returned: defaultdict[Arguments, list[SqlRow]] = defaultdict(list)
        start = 0
        for size in _CHUNKS:
            while len(values) - start >= size * self.width:
                end = start + size * self.width
                for row in (yield self.write(*values[start:end])._replace(batchable=None)):
                    returned[tuple(row[name] for name, _ in self.key)].append(row)
                start = end
        keys = (tuple(row[index] for _, index in self.key) for row in arguments)
        # Of two with the same key, the second gets nothing, as if it had come later.
        return [[returned[key].pop(0)] if returned[key] else [] for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BulkLookup:
    """Rows that are looked up by one value each; the other parameters are the same for all."""

    stage: WriteStage
    sql: str
    """Its last parameter is the list of values."""
    key: str
    """The column of the value."""

    def find(self, *arguments: str | int) -> Statement:
        """Return the statement that looks up the rows of the last argument."""
        *same, value = arguments
        values: Arguments = ([value],)
        return Statement(self.sql, (*same, *values), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Look up all values; of two queries for the same value, the second finds nothing.

        The first is about to change the row, and the second would not see the change.
        """
        values = [value for *_, (value,) in arguments]
        found = defaultdict(list)
        for row in (yield Statement(self.sql, (*arguments[0][:-1], values))):
            found[row[self.key]].append(row)
        return [found.pop(value, []) for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class BulkIncrement:
    """Numbers that are added to columns of one row."""

    stage: WriteStage
    sql: str
    """Its first parameter is the key of the row, the others are the numbers."""

    def add(self, name: str, *numbers: int) -> Statement:
        """Return the statement that adds numbers to a row."""
        return Statement(self.sql, (name, *numbers), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Add up the numbers of each row."""
        sums: dict[str, list[int]] = {}
        for name, *numbers in arguments:
            known = sums.get(name, [0] * len(numbers))
            sums[name] = [sum(pair) for pair in zip(known, numbers, strict=True)]
        for name, numbers in sorted(sums.items()):
            yield Statement(self.sql, (name, *numbers))
        return [()] * len(arguments)


@cache
def _spell(sql: str, row: str, width: int, count: int) -> str:
    def shifted(number: int) -> str:
        return _PARAMETER.sub(lambda found: f"${int(found[1]) + number * width}", row)

    return sql.format(rows=", ".join(shifted(number) for number in range(count)))


MAX_SHARING = 8

# Any: each write has its own result.
Start: TypeAlias = Callable[[], Query[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    start: Start
    together: str
    outcome: "asyncio.Future[Any]"


class SharedTransactions:
    """Runs writes of one group in one transaction; a failed write does not affect the others."""

    def __init__(self, run_batch: Callable[[Sequence[Start]], Awaitable[list[Any]]]) -> None:
        self._run_batch = run_batch
        self._waiting: list[_Write] = []
        self._lock = asyncio.Lock()
        self._last_at = -BATCH_WINDOW_SECONDS

    async def write(self, start: Callable[[], Query[T]], together: str) -> T:
        """Run a query, with waiting ones of the same group; return when it is committed."""
        loop = asyncio.get_running_loop()
        write = _Write(start, together, loop.create_future())
        self._waiting.append(write)
        before, self._last_at = self._last_at, loop.time()
        try:
            if self._last_at - before < BATCH_WINDOW_SECONDS:
                # The write that has waited longest takes the others along.
                await asyncio.wait([write.outcome], timeout=BATCH_WINDOW_SECONDS)
            async with self._lock:
                if not write.outcome.done():
                    await self._write_waiting(write)
        except asyncio.CancelledError:
            self._waiting = [other for other in self._waiting if other is not write]
            write.outcome.cancel()  # a transaction that runs it need not set a result
            raise
        result: T = write.outcome.result()
        return result

    async def _write_waiting(self, own: _Write) -> None:
        # Only writes of one job: transactions that lock two jobs in different orders could
        # deadlock.
        fit = (w for w in self._waiting if w is not own and w.together == own.together)
        others = list(islice(fit, MAX_SHARING - 1))
        batch = [own, *others]
        self._waiting = [write for write in self._waiting if write not in batch]
        try:
            await self._commit(batch)
        finally:
            # If this caller is cancelled, the unfinished writes are left to the next one.
            self._waiting += [write for write in others if not write.outcome.done()]

    async def _commit(self, writes: Sequence[_Write]) -> None:
        try:
            results = await self._run_batch([write.start for write in writes])
        except Exception as failure:  # noqa: BLE001 - the callers of the writes raise it
            if len(writes) > 1:
                for write in writes:
                    await self._commit([write])
            elif not writes[0].outcome.done():
                writes[0].outcome.set_exception(failure)
            return
        for write, result in zip(writes, results, strict=True):
            if not write.outcome.done():
                write.outcome.set_result(result)
