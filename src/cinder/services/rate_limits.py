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
from cinder.store import SharedCounts

# Beyond this, counts that are over are looked for and dropped.
_MAX_COUNTS = 10_000


class MemoryCounterStorage(Storage):
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


class DatabaseCounterStorage(Storage):
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


_IPV6_HOUSEHOLD_BITS = 64
# Addresses that are parsed once and not for each request.
_KNOWN_ADDRESSES = 4_096


class RateLimitBucket(StrEnum):
    """What is counted, each by itself."""

    TOKEN = "token"  # noqa: S105 - the name of a bucket
    ADDRESS = "address"
    FAILED_LOGIN = "failed-login"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitStatus:
    """What is left of a window."""

    bucket: RateLimitBucket
    limit: int
    window_seconds: int
    left: int
    seconds: int
    """Until the next window."""

    @property
    def headers(self) -> dict[str, str]:
        """What it is told by, as the IETF's draft of RateLimit header fields has it."""
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
        """Take limits such as `600/minute`; a bucket without one, or an empty one, has none.

        The clock is the one by which the storage tells when a window ends.

        Raises:
            ValueError: one is not written as such.
        """
        self._windows = FixedWindowRateLimiter(storage)
        self._clock = clock
        self._limits = {bucket: _read_limit(text) for bucket, text in limits.items() if text}

    async def take(self, bucket: RateLimitBucket, who: str) -> RateLimitStatus | None:
        """Count a request; return what is left then, None where there is no limit.

        Raises:
            RateLimited: nothing was left.
        """
        limit = self._limits.get(bucket)
        if limit is None:
            return None
        is_within = await self._windows.hit(limit, bucket, who)
        standing = await self._standing(bucket, limit, who)
        if not is_within:
            raise _refusal(standing)
        return standing

    async def require_left(self, bucket: RateLimitBucket, who: str) -> None:
        """Return if anything is left of a window, and count nothing.

        Raises:
            RateLimited: nothing is.
        """
        limit = self._limits.get(bucket)
        if limit is not None and not await self._windows.test(limit, bucket, who):
            raise _refusal(await self._standing(bucket, limit, who))

    async def _standing(
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
    """Return how many seconds the longest window of some limits has; an empty limit has none.

    Raises:
        ValueError: one is not written as such.
    """
    return max((_read_limit(text).get_expiry() for text in limits if text), default=0)


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def rate_limit_key(address: str) -> str:
    """Return what an address is counted by: itself, or of IPv6 a household's network of 64 bits."""
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
    """Whether a request comes from this machine itself."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _read_limit(text: str) -> RateLimitItem:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"Not a rate limit: {text!r}. Write it like 600/minute") from None


def _refusal(standing: RateLimitStatus) -> RateLimited:
    what = {
        RateLimitBucket.TOKEN: "requests with this token",
        RateLimitBucket.ADDRESS: "requests from this address",
        RateLimitBucket.FAILED_LOGIN: "requests with a wrong token from this address",
    }[standing.bucket]
    return RateLimited(
        f"More than {standing.limit} {what} within {standing.window_seconds} seconds. "
        f"Try again in {standing.seconds} seconds.",
        retry_after_seconds=standing.seconds,
    )
