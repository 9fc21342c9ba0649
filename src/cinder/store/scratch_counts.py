"""Counts that the worker processes of one server share, for as long as it runs.

They are in a file of their own: to count a request in the database would cost a write to disk.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

# A count is added in some microseconds; longer, the machine stands still.
_BUSY_SECONDS = 5
# After so many additions, counts that are over are dropped.
_SWEEP_EVERY = 10_000
_ANY_SECONDS = 10 * 366 * 24 * 3600

_CREATE = "CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, amount INT, ends_at REAL)"
_ADD = """
INSERT INTO counts (name, amount, ends_at) VALUES (:name, :amount, :ends_at)
ON CONFLICT (name) DO UPDATE
   SET amount = CASE WHEN counts.ends_at <= :now THEN :amount ELSE counts.amount + :amount END,
       ends_at = CASE WHEN counts.ends_at <= :now THEN :ends_at ELSE counts.ends_at END
RETURNING amount
"""


class ScratchCounts:
    """Keeps counts in a file. See `cinder.store.count_base.SharedCounts`.

    Moments are seconds of a clock that all processes of the machine share and nobody can set.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._additions = 0
        self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        # A process that is killed leaves the file whole; after the machine, nobody needs it.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(_CREATE)

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
        return int(self._connection.execute(_ADD, values).fetchall()[0][0])

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
