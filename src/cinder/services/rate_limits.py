"""Rate limits: how many requests a caller or an address may send within a window of time."""

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

_IPV6_HOUSEHOLD_BITS = 64
# Addresses that are parsed once and not for each request.
_KNOWN_ADDRESSES = 4_096


class Bucket(StrEnum):
    """What is counted, each by itself."""

    TOKEN = "token"  # noqa: S105 - the name of a bucket
    ADDRESS = "address"
    FAILED_LOGIN = "failed-login"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is left of a window."""

    bucket: Bucket
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
        limits: Mapping[Bucket, str],
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

    async def take(self, bucket: Bucket, who: str) -> Standing | None:
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

    async def require_left(self, bucket: Bucket, who: str) -> None:
        """Return if anything is left of a window, and count nothing.

        Raises:
            RateLimited: nothing is.
        """
        limit = self._limits.get(bucket)
        if limit is not None and not await self._windows.test(limit, bucket, who):
            raise _refusal(await self._standing(bucket, limit, who))

    async def _standing(self, bucket: Bucket, limit: RateLimitItem, who: str) -> Standing:
        stats = await self._windows.get_window_stats(limit, bucket, who)
        return Standing(
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
def neighbourhood(address: str) -> str:
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


def _refusal(standing: Standing) -> RateLimited:
    what = {
        Bucket.TOKEN: "requests with this token",
        Bucket.ADDRESS: "requests from this address",
        Bucket.FAILED_LOGIN: "requests with a wrong token from this address",
    }[standing.bucket]
    return RateLimited(
        f"More than {standing.limit} {what} within {standing.window_seconds} seconds. "
        f"Try again in {standing.seconds} seconds.",
        retry_after_seconds=standing.seconds,
    )
