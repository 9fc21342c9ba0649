"""Shared counters, such as those of rate limits: in the database or in a scratch file.

They are in a file of their own: to count a request in the database would cost a write to disk.
"""

import sqlite3
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cinder.store.base import QueryObserver, TimedDatabase
from cinder.store.database import Database, Query, Statement
from cinder.store.document_rows import to_milliseconds

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
    """Keeps counts. See `cinder.store.base.SharedCounts`."""

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


def _add(args: tuple[str, int, int, int, int]) -> Query[int]:
    rows = yield Statement(_ADD, args)
    return int(rows[0]["amount"])


def _read(name: str, now: int, latest: int) -> Query[tuple[int, float]]:
    rows = yield Statement(_READ, (name, now, latest))
    return (int(rows[0]["amount"]), rows[0]["ends_at"] / 1000) if rows else (0, now / 1000)


def _run(statement: Statement) -> Query[None]:
    yield statement


# A count is added in some microseconds; longer, the machine stands still.
_BUSY_SECONDS = 5
# After so many additions, counts that are over are dropped.
_SWEEP_EVERY = 10_000

_CREATE_SCRATCH = (
    "CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, amount INT, ends_at REAL)"
)
_ADD_SCRATCH = """
INSERT INTO counts (name, amount, ends_at) VALUES (:name, :amount, :ends_at)
ON CONFLICT (name) DO UPDATE
   SET amount = CASE WHEN counts.ends_at <= :now THEN :amount ELSE counts.amount + :amount END,
       ends_at = CASE WHEN counts.ends_at <= :now THEN :ends_at ELSE counts.ends_at END
RETURNING amount
"""


class ScratchCounts:
    """Keeps counts in a file. See `cinder.store.base.SharedCounts`.

    Moments are seconds of a clock that all processes of the machine share and nobody can set.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._additions = 0
        self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        # A process that is killed leaves the file whole; after the machine, nobody needs it.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(_CREATE_SCRATCH)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a count, which begins anew so many seconds after its first; return what it is."""
        self._additions += 1
        if self._additions % _SWEEP_EVERY == 0:
            await self.drop_old()
        now = self._clock()
        values = {"name": name, "amount": amount, "now": now, "ends_at": now + seconds}
        return int(self._connection.execute(_ADD_SCRATCH, values).fetchall()[0][0])

    async def read(self, name: str, *, seconds: int = _ANY_SECONDS) -> tuple[int, float]:  # noqa: ARG002 - this clock is never set back
        """Return a count, zero where there is none, and when it begins anew."""
        query = "SELECT amount, ends_at FROM counts WHERE name = ? AND ends_at > ?"
        now = self._clock()
        row = self._connection.execute(query, (name, now)).fetchone()
        return (int(row[0]), float(row[1])) if row else (0, now)

    async def drop(self, name: str) -> None:
        """Begin a count anew."""
        self._connection.execute("DELETE FROM counts WHERE name = ?", (name,))

    async def drop_old(self) -> None:
        """Delete counts that are over."""
        self._connection.execute("DELETE FROM counts WHERE ends_at <= ?", (self._clock(),))
