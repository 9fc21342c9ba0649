"""An issuer's keys: where they are found, and how long they count."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from cinder.errors import ConnectionFailed, Overloaded
from cinder.services.oauth_tokens import (
    FRESH_SECONDS,
    PAUSE_SECONDS,
    STALE_SECONDS,
    IssuerKeys,
    metadata_urls,
)
from tests.search_servers import Reply, serving
from tests.services.issuer import KEYS_PATH, Issuer, PlainClient, make_rsa_key

BROKEN = Reply(b"", status=500)


@dataclass(slots=True)
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with serving(Issuer()) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(issuer: Issuer, clock: Clock) -> IssuerKeys:
    return IssuerKeys(PlainClient(), issuer.url, clock)


async def test_keys_are_asked_for_once_while_they_are_fresh(
    issuer: Issuer, keys: IssuerKeys, clock: Clock
) -> None:
    found = await asyncio.gather(*(keys.find("first") for _ in range(5)))
    clock.now += FRESH_SECONDS - 1
    found.append(await keys.find("first"))
    assert all(key is not None and key["kid"] == "first" for key in found)
    assert issuer.count(KEYS_PATH) == 1
    clock.now += 2
    await keys.find("first")
    assert issuer.count(KEYS_PATH) == 2


async def test_a_new_key_is_found_and_unknown_ones_do_not_wear_the_issuer_out(
    issuer: Issuer, keys: IssuerKeys, clock: Clock
) -> None:
    await keys.find("first")
    issuer.keys["second"] = make_rsa_key()
    assert await keys.find("second") is None
    clock.now += PAUSE_SECONDS
    assert await keys.find("second") is not None
    for number in range(20):
        assert await keys.find(f"made-up-{number}") is None
    assert issuer.count(KEYS_PATH) == 2


async def test_a_token_without_a_name_is_checked_by_the_only_key(
    issuer: Issuer, keys: IssuerKeys, clock: Clock
) -> None:
    assert await keys.find(None) is not None
    issuer.keys["second"] = make_rsa_key()
    clock.now += FRESH_SECONDS
    assert await keys.find(None) is None


async def test_keys_outlive_a_silent_issuer_for_a_while(
    issuer: Issuer, keys: IssuerKeys, clock: Clock
) -> None:
    await keys.find("first")
    issuer.fail_with(*[BROKEN] * 20)
    clock.now += FRESH_SECONDS
    assert await keys.find("first") is not None
    clock.now += STALE_SECONDS
    with pytest.raises(Overloaded):
        await keys.find("first")
    asked = len(issuer.asked)
    with pytest.raises(Overloaded):
        await keys.find("first")
    assert len(issuer.asked) == asked


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://other.example"},
        {"jwks_uri": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://192.0.2.1/keys"},
    ],
)
async def test_metadata_that_names_another_issuer_or_no_safe_keys_is_not_believed(
    metadata: dict[str, str | None], issuer: Issuer, keys: IssuerKeys
) -> None:
    issuer.metadata = dict(metadata)
    with pytest.raises(ConnectionFailed):
        await keys.check()
    with pytest.raises(Overloaded):
        await keys.find("first")


async def test_what_are_no_keys_is_not_taken_for_some(issuer: Issuer, keys: IssuerKeys) -> None:
    issuer.metadata = {"jwks_uri": f"{issuer.url}/nowhere"}
    with pytest.raises(ConnectionFailed):
        await keys.check()


def test_metadata_is_looked_for_where_both_standards_put_it() -> None:
    assert list(metadata_urls("https://a.example/")) == [
        "https://a.example/.well-known/oauth-authorization-server",
        "https://a.example/.well-known/openid-configuration",
    ]
    assert list(metadata_urls("https://a.example/realm/x")) == [
        "https://a.example/.well-known/oauth-authorization-server/realm/x",
        "https://a.example/.well-known/openid-configuration/realm/x",
        "https://a.example/realm/x/.well-known/openid-configuration",
    ]
