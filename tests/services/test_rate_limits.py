"""Rate limits, counted in memory and in the database."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from limits.aio.storage import Storage

from cinder.errors import RateLimited
from cinder.services.rate_limits import (
    DatabaseCounterStorage,
    MemoryCounterStorage,
    RateLimitBucket,
    RateLimits,
    RateLimitStatus,
    is_loopback,
    rate_limit_key,
)
from cinder.store import open_store


@pytest.fixture(params=["memory", "database"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storage]:
    if request.param == "memory":
        yield MemoryCounterStorage(time.time)
        return
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_store(url, pool_size=1, observe=lambda *_: None) as store:
        shared = DatabaseCounterStorage(store.counts, 3_600)
        assert await shared.check()
        yield shared


async def test_so_many_are_let_through_and_told_what_is_left(storage: Storage) -> None:
    limits = RateLimits(storage, {RateLimitBucket.TOKEN: "3/hour"})

    left = [await limits.hit(RateLimitBucket.TOKEN, "ci") for _ in range(3)]
    with pytest.raises(RateLimited, match="More than 3 requests with this token") as refused:
        await limits.hit(RateLimitBucket.TOKEN, "ci")

    assert [standing.left for standing in left if standing] == [2, 1, 0]
    wait = refused.value.retry_after_seconds
    assert wait is not None
    assert 3_500 < wait <= 3_600


async def test_callers_and_buckets_are_counted_apart(storage: Storage) -> None:
    limits = RateLimits(
        storage, {RateLimitBucket.TOKEN: "1/hour", RateLimitBucket.ADDRESS: "1/hour"}
    )

    await limits.hit(RateLimitBucket.TOKEN, "one")
    await limits.hit(RateLimitBucket.TOKEN, "two")
    await limits.hit(RateLimitBucket.ADDRESS, "one")
    with pytest.raises(RateLimited):
        await limits.hit(RateLimitBucket.ADDRESS, "one")


async def test_looking_counts_nothing(storage: Storage) -> None:
    limits = RateLimits(storage, {RateLimitBucket.FAILED_LOGIN: "1/hour"})
    for _ in range(3):
        await limits.require_left(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    await limits.hit(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")

    with pytest.raises(RateLimited, match="wrong token"):
        await limits.require_left(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")


async def test_without_a_limit_nothing_is_counted() -> None:
    limits = RateLimits(MemoryCounterStorage(time.time), {RateLimitBucket.TOKEN: ""})

    assert [await limits.hit(bucket, "ci") for bucket in RateLimitBucket] == [None] * 3


def test_what_is_no_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="600/minute"):
        RateLimits(MemoryCounterStorage(time.time), {RateLimitBucket.TOKEN: "many"})


def test_what_is_left_is_told_in_the_standard_headers() -> None:
    standing = RateLimitStatus(
        bucket=RateLimitBucket.TOKEN, limit=600, window_seconds=60, left=599, seconds=42
    )
    assert standing.headers == {
        "RateLimit-Policy": '"token";q=600;w=60',
        "RateLimit": '"token";r=599;t=42',
    }


@pytest.mark.parametrize(
    ("address", "counted_by"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_addresses_are_counted_by_household(address: str, counted_by: str) -> None:
    assert rate_limit_key(address) == counted_by


@pytest.mark.parametrize(
    ("address", "is_so"), [("127.0.0.1", True), ("::1", True), ("10.0.0.1", False), ("x", False)]
)
def test_this_machine_is_known_by_its_addresses(address: str, is_so: bool) -> None:
    assert is_loopback(address) == is_so
