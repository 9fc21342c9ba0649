"""Where the rate limits of one server alone are counted: its memory, by a clock nobody can set."""

import time
from collections.abc import Callable

from limits.aio.storage import Storage

# Beyond this, counts that are over are looked for and dropped.
_MAX_COUNTS = 10_000


class MemoryCounts(Storage):
    """Counts in memory, as the library of rate limits wants it.

    The library's own goes by the time of day: were that set back by an hour, whoever had his share
    would wait for an hour.
    """

    STORAGE_SCHEME = None

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that only goes forward."""
        super().__init__()
        self._clock = clock
        # By key: how many, and when that is over.
        self._counts: dict[str, tuple[int, float]] = {}
        self._next_sweep = _MAX_COUNTS

    @property
    def base_exceptions(self) -> type[Exception]:
        """What this may raise; it is raised as it is."""
        return Exception

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count that begins anew after so many seconds."""
        count, ends_at = self._read(key, self._clock() + expiry)
        if key not in self._counts and len(self._counts) >= self._next_sweep:
            self._sweep()
        self._counts[key] = (count + amount, ends_at)
        return count + amount

    async def get(self, key: str) -> int:
        """Return a count."""
        return self._read(key, 0)[0]

    async def get_expiry(self, key: str) -> float:
        """Return when a count begins anew."""
        return self._read(key, self._clock())[1]

    async def check(self) -> bool:
        """Return: memory is always there."""
        return True

    async def reset(self) -> int | None:
        """Begin every count anew; return how many there were."""
        count = len(self._counts)
        self._counts.clear()
        return count

    async def clear(self, key: str) -> None:
        """Begin a count anew."""
        self._counts.pop(key, None)

    def _read(self, key: str, default_end: float) -> tuple[int, float]:
        count, ends_at = self._counts.get(key, (0, 0.0))
        return (count, ends_at) if ends_at > self._clock() else (0, default_end)

    def _sweep(self) -> None:
        now = self._clock()
        self._counts = {key: held for key, held in self._counts.items() if held[1] > now}
        # Where all of them go on, not every further one is to look through them all.
        self._next_sweep = max(_MAX_COUNTS, 2 * len(self._counts))
