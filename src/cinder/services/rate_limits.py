"""Rate limits per token and address, counted in memory or in the database."""

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import ceil

from limits import RateLimitItem, parse
from limits.aio.storage import Storage
from limits.aio.strategies import FixedWindowRateLimiter

from cinder.errors import RateLimited
from cinder.store.counts import SharedCounts

# Beyond this number, expired counts are dropped.
_MAX_COUNTS = 10_000


class _CounterStorage(Storage):
    """What both storages of `limits` share."""

    STORAGE_SCHEME = None

    @property
    def base_exceptions(self) -> type[Exception]:
        """The exceptions of this storage, which are not translated."""
        return Exception


class MemoryCounterStorage(_CounterStorage):
    """A storage of `limits` in memory, with a monotonic clock.

    The library's own uses the time of day: if the clock were set back by an hour, exhausted limits
    would last an hour longer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a monotonic clock."""
        super().__init__()
        self._clock = clock
        # By key: the count, and when it expires.
        self._counts: dict[str, tuple[int, float]] = {}
        self._next_sweep = _MAX_COUNTS

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count that expires after so many seconds."""
        count, ends_at = self._read(key, self._clock() + expiry)
        if key not in self._counts and len(self._counts) >= self._next_sweep:
            now = self._clock()
            self._counts = {name: held for name, held in self._counts.items() if held[1] > now}
            # If none expires, the next sweep is later, so that not every new count scans all.
            self._next_sweep = max(_MAX_COUNTS, 2 * len(self._counts))
        self._counts[key] = (count + amount, ends_at)
        return count + amount

    async def get(self, key: str) -> int:
        """Return a count."""
        return self._read(key, 0)[0]

    async def get_expiry(self, key: str) -> float:
        """Return when a count expires."""
        return self._read(key, self._clock())[1]

    async def check(self) -> bool:
        """Return True: memory is always available."""
        return True

    async def reset(self) -> int | None:
        """Delete all counts; return how many there were."""
        count = len(self._counts)
        self._counts.clear()
        return count

    async def clear(self, key: str) -> None:
        """Delete a count."""
        self._counts.pop(key, None)

    def _read(self, key: str, default_end: float) -> tuple[int, float]:
        count, ends_at = self._counts.get(key, (0, 0.0))
        return (count, ends_at) if ends_at > self._clock() else (0, default_end)


class DatabaseCounterStorage(_CounterStorage):
    """A storage of `limits` in the database."""

    def __init__(self, counts: SharedCounts, longest_seconds: int) -> None:
        """Take the database's counts, and the longest window."""
        super().__init__()
        self._counts = counts
        self._longest_seconds = longest_seconds

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count that expires after so many seconds."""
        return await self._counts.add(key, amount, expiry)

    async def get(self, key: str) -> int:
        """Return a count."""
        return (await self._counts.read(key, seconds=self._longest_seconds))[0]

    async def get_expiry(self, key: str) -> float:
        """Return when a count expires, in seconds since 1970."""
        return (await self._counts.read(key, seconds=self._longest_seconds))[1]

    async def check(self) -> bool:
        """Read from the database; return True."""
        await self._counts.read(f"check {time.time()}")
        return True

    async def reset(self) -> int | None:
        """Refuse: other servers share the counts."""
        raise NotImplementedError

    async def clear(self, key: str) -> None:
        """Delete a count."""
        await self._counts.drop(key)


_IPV6_HOUSEHOLD_BITS = 64
# How many parsed addresses are cached.
_KNOWN_ADDRESSES = 4_096


class RateLimitBucket(StrEnum):
    """The counters, each with its own limit."""

    TOKEN = "token"  # noqa: S105 - the name of a bucket
    ADDRESS = "address"
    FAILED_LOGIN = "failed-login"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitStatus:
    """The rest of a window."""

    bucket: RateLimitBucket
    limit: int
    window_seconds: int
    left: int
    seconds: int
    """Until the next window."""

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the IETF's draft of RateLimit headers."""
        return {
            "RateLimit-Policy": f'"{self.bucket}";q={self.limit};w={self.window_seconds}',
            "RateLimit": f'"{self.bucket}";r={self.left};t={self.seconds}',
        }


class RateLimits:
    """Counts requests, and refuses those beyond a limit."""

    def __init__(
        self,
        storage: Storage,
        limits: Mapping[RateLimitBucket, str],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take limits such as `600/minute`; a missing or empty one means no limit.

        The clock must be the one that the storage uses for expiry.

        Raises:
            ValueError: a limit is not valid.
        """
        self._windows = FixedWindowRateLimiter(storage)
        self._clock = clock
        self._limits = {bucket: _read_limit(text) for bucket, text in limits.items() if text}

    async def hit(self, bucket: RateLimitBucket, who: str) -> RateLimitStatus | None:
        """Count a request; return the rest of the window, None without a limit.

        Raises:
            RateLimited: the limit is reached.
        """
        limit = self._limits.get(bucket)
        if limit is None:
            return None
        is_within = await self._windows.hit(limit, bucket, who)
        status = await self._status(bucket, limit, who)
        if not is_within:
            raise _refusal(status)
        return status

    async def require_left(self, bucket: RateLimitBucket, who: str) -> None:
        """Return if the limit is not reached, without counting.

        Raises:
            RateLimited: it is reached.
        """
        limit = self._limits.get(bucket)
        if limit is not None and not await self._windows.test(limit, bucket, who):
            raise _refusal(await self._status(bucket, limit, who))

    async def _status(
        self, bucket: RateLimitBucket, limit: RateLimitItem, who: str
    ) -> RateLimitStatus:
        stats = await self._windows.get_window_stats(limit, bucket, who)
        return RateLimitStatus(
            bucket=bucket,
            limit=limit.amount,
            window_seconds=limit.get_expiry(),
            left=max(0, stats.remaining),
            seconds=max(1, ceil(stats.reset_time - self._clock())),
        )


def longest_window(limits: Iterable[str]) -> int:
    """Return the longest window of some limits in seconds; empty limits are ignored.

    Raises:
        ValueError: a limit is not valid.
    """
    return max((_read_limit(text).get_expiry() for text in limits if text), default=0)


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def rate_limit_key(address: str) -> str:
    """Return the key that an address is counted by: itself, or the /64 network for IPv6."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_HOUSEHOLD_BITS), strict=False))


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def is_loopback(address: str) -> bool:
    """Whether an address is this machine's loopback."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _read_limit(text: str) -> RateLimitItem:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"Not a rate limit: {text!r}. Write it like 600/minute") from None


def _refusal(status: RateLimitStatus) -> RateLimited:
    what = {
        RateLimitBucket.TOKEN: "requests with this token",
        RateLimitBucket.ADDRESS: "requests from this address",
        RateLimitBucket.FAILED_LOGIN: "requests with a wrong token from this address",
    }[status.bucket]
    return RateLimited(
        f"More than {status.limit} {what} within {status.window_seconds} seconds. "
        f"Try again in {status.seconds} seconds.",
        retry_after_seconds=status.seconds,
    )
