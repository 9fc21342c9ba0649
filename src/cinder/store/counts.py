"""Counts as rows, which servers that share a database share as well."""

from collections.abc import Callable
from datetime import datetime

from cinder.store.base import QueryObserver
from cinder.store.codec import to_milliseconds
from cinder.store.database import Database
from cinder.store.procedure import Procedure, Statement
from cinder.store.timed import TimedDatabase

# A count that is over begins anew in its row.
_ADD = """
INSERT INTO webhook.counts (name, amount, ends_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE
   SET amount = CASE WHEN counts.ends_at <= $4 THEN excluded.amount
                     ELSE counts.amount + excluded.amount END,
       ends_at = CASE WHEN counts.ends_at <= $4 THEN excluded.ends_at ELSE counts.ends_at END
RETURNING amount
"""

_READ = "SELECT amount, ends_at FROM webhook.counts WHERE name = $1 AND ends_at > $2"
_DROP = "DELETE FROM webhook.counts WHERE name = $1"
_DROP_OLD = "DELETE FROM webhook.counts WHERE ends_at <= $1"


class StoredCounts:
    """Keeps counts. See `cinder.store.count_base.SharedCounts`."""

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._clock = clock

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a count, which begins anew so many seconds after its first; return what it is."""
        now = to_milliseconds(self._clock())
        args = (name, amount, now + seconds * 1000, now)
        return await self._database.write("add_count", lambda: _add(args))

    async def read(self, name: str) -> tuple[int, float]:
        """Return a count, zero where there is none, and when (in Unix time) it begins anew."""
        now = to_milliseconds(self._clock())
        return await self._database.read("read_count", lambda: _read(name, now))

    async def drop(self, name: str) -> None:
        """Begin a count anew."""
        await self._database.write("drop_count", lambda: _run(Statement(_DROP, (name,))))

    async def drop_old(self) -> None:
        """Delete counts that are over."""
        now = to_milliseconds(self._clock())
        await self._database.write("drop_counts", lambda: _run(Statement(_DROP_OLD, (now,))))


def _add(args: tuple[str, int, int, int]) -> Procedure[int]:
    rows = yield Statement(_ADD, args)
    return int(rows[0]["amount"])


def _read(name: str, now: int) -> Procedure[tuple[int, float]]:
    rows = yield Statement(_READ, (name, now))
    return (int(rows[0]["amount"]), rows[0]["ends_at"] / 1000) if rows else (0, now / 1000)


def _run(statement: Statement) -> Procedure[None]:
    yield statement
