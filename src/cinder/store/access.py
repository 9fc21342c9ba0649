"""Counts of how often entries were read, collected in memory between two writings."""

from collections.abc import Mapping
from datetime import datetime

# Entries counted between two writings; while the database cannot be written, more are not.
MAX_PENDING = 10_000


class AccessCounts:
    """How often each entry was read since the counts were last taken, and when last."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[int, datetime]] = {}

    def add(self, cache_key: str, at: datetime, count: int = 1) -> None:
        """Count that an entry was read."""
        before, last = self._pending.get(cache_key, (0, at))
        if before or len(self._pending) < MAX_PENDING:
            self._pending[cache_key] = (before + count, max(last, at))

    def take(self) -> Mapping[str, tuple[int, datetime]]:
        """Return the counts and begin anew."""
        taken, self._pending = self._pending, {}
        return taken

    def give_back(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add counts that were taken but could not be written."""
        for cache_key, (count, last) in counts.items():
            self.add(cache_key, last, count)
