"""Where rate limits are counted when several servers share them: the database."""

import time

from limits.aio.storage import Storage

from cinder.store.count_base import SharedCounts


class SharedStorage(Storage):
    """Counts in the database, as the library of rate limits wants it."""

    STORAGE_SCHEME = None

    def __init__(self, counts: SharedCounts, longest_seconds: int) -> None:
        """Take where to count, and how long a count lasts at most."""
        super().__init__()
        self._counts = counts
        self._longest_seconds = longest_seconds

    @property
    def base_exceptions(self) -> type[Exception]:
        """What this may raise; it is raised as it is."""
        return Exception

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count that begins anew after so many seconds."""
        return await self._counts.add(key, amount, expiry)

    async def get(self, key: str) -> int:
        """Return a count."""
        return (await self._counts.read(key, seconds=self._longest_seconds))[0]

    async def get_expiry(self, key: str) -> float:
        """Return when a count begins anew, in seconds since 1970."""
        return (await self._counts.read(key, seconds=self._longest_seconds))[1]

    async def check(self) -> bool:
        """Return whether the database answers."""
        await self._counts.read(f"check {time.time()}")
        return True

    async def reset(self) -> int | None:
        """Refuse: the counts are other servers' as well."""
        raise NotImplementedError

    async def clear(self, key: str) -> None:
        """Begin a count anew."""
        await self._counts.drop(key)
