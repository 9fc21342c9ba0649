"""A real, small authorization server on loopback: it has metadata and keys, and signs tokens."""

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from cinder.models.http import HttpResponse
from tests.search_servers.serving import Asked, Reply, SearchServer

RESOURCE = "https://cinder.example/mcp"
METADATA_PATH = "/.well-known/oauth-authorization-server"
KEYS_PATH = "/keys"

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def make_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer(SearchServer):
    """The server; `keys` has what it signs with, by id."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, Key] = {"first": make_rsa_key()}
        self.metadata: dict[str, Any] = {}

    def answer(self, asked: Asked) -> Reply:
        documents = {
            METADATA_PATH: {"issuer": self.url, "jwks_uri": self.url + KEYS_PATH, **self.metadata},
            KEYS_PATH: {"keys": [public_jwk(name, key) for name, key in self.keys.items()]},
        }
        if asked.path not in documents:
            return Reply(b"{}", status=404)
        return Reply(json.dumps(documents[asked.path]).encode())

    def claims(self, **changed: object) -> dict[str, Any]:
        """What a good token says, but for what is changed; None leaves a claim out."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "ada",
            "exp": now + 600,
            "iat": now,
            "scope": "read scrape",
            **changed,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, key_id: str = "first", algorithm: str = "RS256", **changed: object) -> str:
        headers = {"kid": key_id, "typ": "at+jwt"}
        return jwt.encode(self.claims(**changed), self.keys[key_id], algorithm, headers)

    def count(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(asked.path == path for asked in self.asked)


def public_jwk(name: str, key: Key) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        jwk = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        jwk = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": name, "use": "sig"}


class PlainClient:
    """Asks over HTTP, without the way through egress that the app has."""

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        async with httpx2.AsyncClient(trust_env=False) as client:
            response = await client.get(url, headers=dict(headers))
        return HttpResponse(
            status=response.status_code, headers=response.headers, body=response.content
        )
