"""Access tokens: which are taken, whose they are, and what they open."""

import base64
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cinder.models.caller import TokenScope
from cinder.services.oauth_tokens import AccessTokens, IssuerKeys, ProtectedResource
from tests.search_servers import serving
from tests.services.issuer import RESOURCE, Issuer, PlainClient, make_rsa_key


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
