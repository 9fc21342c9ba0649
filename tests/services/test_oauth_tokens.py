"""OAuth access tokens, and the keys of their issuer."""

import asyncio
import base64
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cinder.errors import ConnectionFailed, Overloaded
from cinder.models.caller import TokenScope
from cinder.services.oauth_tokens import (
    FRESH_SECONDS,
    PAUSE_SECONDS,
    STALE_SECONDS,
    AccessTokens,
    IssuerKeys,
    ProtectedResource,
    metadata_urls,
)
from tests.search_servers import Reply, serving
from tests.services.issuer import KEYS_PATH, RESOURCE, Issuer, PlainClient, make_rsa_key


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with serving(Issuer()) as running:
        yield running


@pytest.fixture
def tokens(issuer: Issuer) -> AccessTokens:
    return AccessTokens(IssuerKeys(PlainClient(), issuer.url), ProtectedResource(url=RESOURCE))


async def test_a_token_opens_what_its_scopes_say(issuer: Issuer, tokens: AccessTokens) -> None:
    caller = await tokens.identify(issuer.sign(scope="read crawl openid"))
    assert caller is not None
    assert caller.scopes == {TokenScope.READ, TokenScope.CRAWL}
    assert caller.id.startswith("oauth_")


async def test_the_same_person_is_the_same_caller_and_another_is_not(
    issuer: Issuer, tokens: AccessTokens
) -> None:
    first, again, other = [
        await tokens.identify(issuer.sign(sub=sub, scope=scope))
        for sub, scope in (("ada", "read"), ("ada", "scrape"), ("bob", "read"))
    ]
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.id == again.id != other.id


async def test_no_token_of_an_issuer_makes_an_owner(issuer: Issuer, tokens: AccessTokens) -> None:
    caller = await tokens.identify(issuer.sign(scope="admin"))
    assert caller is not None
    assert caller.scopes == frozenset()


async def test_scopes_may_have_a_prefix_and_stand_in_a_list(issuer: Issuer) -> None:
    resource = ProtectedResource(url=RESOURCE, scope_prefix="cinder:")
    tokens = AccessTokens(IssuerKeys(PlainClient(), issuer.url), resource)
    caller = await tokens.identify(issuer.sign(scope=None, scp=["cinder:read", "scrape", 1]))
    assert caller is not None
    assert caller.scopes == {TokenScope.READ}


async def test_elliptic_keys_and_several_audiences_are_taken(
    issuer: Issuer, tokens: AccessTokens
) -> None:
    issuer.keys["curve"] = ec.generate_private_key(ec.SECP256R1())
    audiences = ["https://other.example", RESOURCE]
    assert await tokens.identify(issuer.sign("curve", "ES256", aud=audiences)) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://other.example"},
        {"aud": "https://cinder.example"},
        {"aud": f"{RESOURCE}/"},
        {"aud": None},
        {"sub": None},
        {"sub": 7},
        {"nbf": 9_999_999_999},
    ],
)
async def test_a_token_that_is_over_or_for_others_is_nobodys(
    changed: dict[str, Any], issuer: Issuer, tokens: AccessTokens
) -> None:
    if isinstance(changed.get("sub"), int):
        text = sign_raw(issuer, {"alg": "RS256", "kid": "first"}, issuer.claims(**changed))
    else:
        text = issuer.sign(**changed)
    assert await tokens.identify(text) is None


async def test_another_key_under_the_same_name_opens_nothing(
    issuer: Issuer, tokens: AccessTokens
) -> None:
    forged = jwt.encode(issuer.claims(), make_rsa_key(), "RS256", {"kid": "first"})
    assert await tokens.identify(forged) is None


async def test_the_public_key_is_no_secret_to_sign_with(
    issuer: Issuer, tokens: AccessTokens
) -> None:
    public = issuer.keys["first"].public_key()
    secret = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = write_text({"alg": "HS256", "kid": "first"}, issuer.claims())
    forged = f"{text}.{encode(hmac.digest(secret, text.encode(), 'sha256'))}"
    unsigned = write_text({"alg": "none", "kid": "first"}, issuer.claims()) + "."
    assert await tokens.identify(forged) is None
    assert await tokens.identify(unsigned) is None
    assert issuer.asked == []


async def test_a_key_signs_by_its_own_kind_of_algorithm_alone(
    issuer: Issuer, tokens: AccessTokens
) -> None:
    header = {"alg": "ES256", "kid": "first"}
    assert await tokens.identify(sign_raw(issuer, header, issuer.claims())) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b.c",
        "\ud800.é.x",
        "a." * 20_000,
        "x" * 1_000_000,
        base64.urlsafe_b64encode(b"[" * 5_000).decode() + ".e30.e30",
        base64.urlsafe_b64encode(b'{"alg":"RS256","kid":{}}').decode() + ".e30.e30",
        base64.urlsafe_b64encode(b'{"alg":"RS256","crit":["x"]}').decode() + ".e30.e30",
    ],
)
async def test_what_is_no_token_asks_nobody(
    token: str, issuer: Issuer, tokens: AccessTokens
) -> None:
    assert await tokens.identify(token) is None
    assert issuer.asked == []


def sign_raw(issuer: Issuer, header: Mapping[str, object], claims: Mapping[str, object]) -> str:
    """Sign what the library would refuse to write."""
    text = write_text(header, claims)
    key = issuer.keys["first"]
    assert isinstance(key, rsa.RSAPrivateKey)
    return f"{text}.{encode(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def write_text(header: Mapping[str, object], claims: Mapping[str, object]) -> str:
    return ".".join(encode(json.dumps(part).encode()) for part in (header, claims))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


BROKEN = Reply(b"", status=500)


@dataclass(slots=True)
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


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
        await keys.fetch()
    with pytest.raises(Overloaded):
        await keys.find("first")


async def test_what_are_no_keys_is_not_taken_for_some(issuer: Issuer, keys: IssuerKeys) -> None:
    issuer.metadata = {"jwks_uri": f"{issuer.url}/nowhere"}
    with pytest.raises(ConnectionFailed):
        await keys.fetch()


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
