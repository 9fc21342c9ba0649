"""Counts as rows, which servers that share a database share as well."""

from collections.abc import Callable
from datetime import datetime

from cinder.store.base import QueryObserver
from cinder.store.codec import to_milliseconds
from cinder.store.database import Database
from cinder.store.procedure import Procedure, Statement
from cinder.store.timed import TimedDatabase

# A count that is over begins anew in its row, and so does one that ends later than it could: it is
# from before the clock was set back.
_ADD = """
INSERT INTO webhook.counts (name, amount, ends_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE
   SET amount = CASE WHEN counts.ends_at <= $4 OR counts.ends_at > $5 THEN excluded.amount
                     ELSE counts.amount + excluded.amount END,
       ends_at = CASE WHEN counts.ends_at <= $4 OR counts.ends_at > $5 THEN excluded.ends_at
                      ELSE counts.ends_at END
RETURNING amount
"""

_READ = """
SELECT amount, ends_at FROM webhook.counts WHERE name = $1 AND ends_at > $2 AND ends_at <= $3
"""
# By how much the clocks of servers that share counts may differ.
_SKEW_MS = 5_000
_ANY_SECONDS = 10 * 366 * 24 * 3600

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
        window = seconds * 1000
        args = (name, amount, now + window, now, now + window + _SKEW_MS)
        return await self._database.write("add_count", lambda: _add(args))

    async def read(self, name: str, *, seconds: int = _ANY_SECONDS) -> tuple[int, float]:
        """Return a count, zero where there is none, and when (in Unix time) it begins anew.

        One that ends later than after so many seconds is none: the clock was set back.
        """
        now = to_milliseconds(self._clock())
        latest = now + seconds * 1000 + _SKEW_MS
        return await self._database.read("read_count", lambda: _read(name, now, latest))

    async def drop(self, name: str) -> None:
        """Begin a count anew."""
        await self._database.write("drop_count", lambda: _run(Statement(_DROP, (name,))))

    async def drop_old(self) -> None:
        """Delete counts that are over."""
        now = to_milliseconds(self._clock())
        await self._database.write("drop_counts", lambda: _run(Statement(_DROP_OLD, (now,))))


def _add(args: tuple[str, int, int, int, int]) -> Procedure[int]:
    rows = yield Statement(_ADD, args)
    return int(rows[0]["amount"])


def _read(name: str, now: int, latest: int) -> Procedure[tuple[int, float]]:
    rows = yield Statement(_READ, (name, now, latest))
    return (int(rows[0]["amount"]), rows[0]["ends_at"] / 1000) if rows else (0, now / 1000)


def _run(statement: Statement) -> Procedure[None]:
    yield statement
