"""Shared counters, such as those of rate limits, in the database or in a scratch file.

The scratch file spares a durable write for each request.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cinder.store.database import Query, Repository, Statement, execute, reads, writes

# By how much the clocks of servers that share counters may differ.
_SKEW_MS = 5_000
_ANY_SECONDS = 10 * 366 * 24 * 3600

# A counter that has ended starts again in its row. So does one that ends later than it could: it
# was written before the clock was set back.
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


class SharedCounts(Protocol):
    """Counters by name, each with an end.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a counter and return it; it restarts so many seconds after its first addition."""
        ...

    async def read(self, name: str, *, seconds: int = ...) -> tuple[int, float]:
        """Return a counter, 0 where there is none, and when (in Unix time) it restarts.

        One that ends later than after so many seconds does not count: the clock was set back.
        """
        ...

    async def drop(self, name: str) -> None:
        """Reset a counter."""
        ...

    async def drop_old(self) -> None:
        """Delete counters that have ended."""
        ...


class StoredCounts(Repository):
    """Keeps counters in the database. See `SharedCounts`."""

    @writes("add_count")
    def add(self, name: str, amount: int, seconds: int) -> Query[int]:
        """Add to a counter and return it."""
        now = self._now()
        end = now + seconds * 1000
        rows = yield Statement(_ADD, (name, amount, end, now, end + _SKEW_MS))
        return int(rows[0]["amount"])

    @reads("read_count")
    def read(self, name: str, *, seconds: int = _ANY_SECONDS) -> Query[tuple[int, float]]:
        """Return a counter, and when (in Unix time) it restarts."""
        now = self._now()
        rows = yield Statement(_READ, (name, now, now + seconds * 1000 + _SKEW_MS))
        return (int(rows[0]["amount"]), rows[0]["ends_at"] / 1000) if rows else (0, now / 1000)

    @writes("drop_count")
    def drop(self, name: str) -> Query[None]:
        """Reset a counter."""
        return execute("DELETE FROM webhook.counts WHERE name = $1", name)

    @writes("drop_counts")
    def drop_old(self) -> Query[None]:
        """Delete counters that have ended."""
        return execute("DELETE FROM webhook.counts WHERE ends_at <= $1", self._now())


# An addition takes microseconds, so this long means that the machine hangs.
_BUSY_SECONDS = 5
# After so many additions, counters that have ended are deleted.
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
    """Keeps counters in a file. See `SharedCounts`.

    Times are seconds of the monotonic clock, which all processes of the machine share.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._additions = 0
        self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        # The file survives a killed process; it need not survive the machine.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(_CREATE_SCRATCH)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a counter and return it."""
        self._additions += 1
        if self._additions % _SWEEP_EVERY == 0:
            await self.drop_old()
        now = self._clock()
        values = {"name": name, "amount": amount, "now": now, "ends_at": now + seconds}
        return int(self._connection.execute(_ADD_SCRATCH, values).fetchall()[0][0])

    async def read(self, name: str, *, seconds: int = _ANY_SECONDS) -> tuple[int, float]:  # noqa: ARG002 - this clock is never set back
        """Return a counter, 0 where there is none, and when it restarts."""
        query = "SELECT amount, ends_at FROM counts WHERE name = ? AND ends_at > ?"
        now = self._clock()
        row = self._connection.execute(query, (name, now)).fetchone()
        return (int(row[0]), float(row[1])) if row else (0, now)

    async def drop(self, name: str) -> None:
        """Reset a counter."""
        self._connection.execute("DELETE FROM counts WHERE name = ?", (name,))

    async def drop_old(self) -> None:
        """Delete counters that have ended."""
        self._connection.execute("DELETE FROM counts WHERE ends_at <= ?", (self._clock(),))
