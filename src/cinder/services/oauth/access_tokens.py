"""Access tokens: who sends one, where it is an issuer's JWT for this server."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt

from cinder.model.caller import EVERYDAY_SCOPES, OAUTH_ID_PREFIX, Caller, Scope
from cinder.model.document import Json
from cinder.services.oauth.issuer_keys import IssuerKeys, Jwk

# Signed with a key that only the issuer has: never with one that whoever checks has as well.
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
WELL_KNOWN = "/.well-known/oauth-protected-resource"

_MAX_TOKEN_CHARS = 16_384
_LEEWAY_SECONDS = 30
_CLAIMS = ["exp", "iss", "aud", "sub"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What the tokens open, as clients and the issuer call it."""

    url: str
    scope_prefix: str = ""

    @property
    def metadata_path(self) -> str:
        """Where its description is, by RFC 9728."""
        return WELL_KNOWN + urlsplit(self.url).path.rstrip("/")

    @property
    def metadata_url(self) -> str:
        """The same, as clients reach it."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"

    @property
    def scopes(self) -> dict[str, Scope]:
        """What a token can open, by the names that the issuer has for it; `admin` is not given."""
        return {f"{self.scope_prefix}{scope}": scope for scope in EVERYDAY_SCOPES}


class AccessTokens:
    """Checks the tokens of one issuer."""

    def __init__(self, keys: IssuerKeys, resource: Resource) -> None:
        self._keys = keys
        self.resource = resource

    async def identify(self, token: str) -> Caller | None:
        """Return who sends a token; None where it is not the issuer's for this server, or is over.

        Raises:
            Overloaded: the issuer does not answer, and its keys are not known.
        """
        header = _read_header(token)
        if header is None:
            return None
        key = await self._keys.find(header.get("kid"))
        claims = self._verify(token, key, header["alg"]) if key is not None else None
        return self._caller_of(claims) if claims is not None else None

    async def check(self) -> None:
        """Ask the issuer for its keys.

        Raises:
            CinderError: it gives none.
        """
        await self._keys.check()

    def describe(self) -> dict[str, Json]:
        """Return the metadata of the resource: where clients get tokens for it."""
        return {
            "resource": self.resource.url,
            "resource_name": "cinder",
            "authorization_servers": [self._keys.issuer],
            "scopes_supported": list[Json](self.resource.scopes),
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, *, was_sent: bool) -> str:
        """Return the header that tells a client without a good token where to get one."""
        problem = 'error="invalid_token", ' if was_sent else ""
        scopes = " ".join(self.resource.scopes)
        metadata = self.resource.metadata_url
        return f'Bearer {problem}resource_metadata="{metadata}", scope="{scopes}"'

    # Any: claims are whatever the issuer puts in
    def _verify(self, token: str, key: Jwk, algorithm: str) -> dict[str, Any] | None:
        if key.get("alg", algorithm) != algorithm:
            return None
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                jwt.PyJWK(dict(key), algorithm=algorithm),
                algorithms=[algorithm],
                audience=self.resource.url,
                issuer=self._keys.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": _CLAIMS},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return claims

    def _caller_of(self, claims: Mapping[str, Any]) -> Caller:
        named = f"{claims['iss']}\n{claims['sub']}"
        known = self.resource.scopes
        scopes = frozenset(known[name] for name in _scope_names(claims) if name in known)
        digest = hashlib.sha256(named.encode()).hexdigest()
        return Caller(id=f"{OAUTH_ID_PREFIX}{digest[:32]}", scopes=scopes)


def _read_header(token: str) -> dict[str, Any] | None:  # Any: what stands there is not known yet
    """Return the header of what may be a token; None where it cannot be one that is taken."""
    if len(token) > _MAX_TOKEN_CHARS or token.count(".") != 2:
        return None
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    # `crit` names what must be understood, and none of it is.
    is_taken = header.get("alg") in ALGORITHMS and "crit" not in header
    is_named = isinstance(header.get("kid"), str | None)
    return header if is_taken and is_named else None


def _scope_names(claims: Mapping[str, Any]) -> list[str]:
    """Return what a token was given for: `scope` by RFC 9068, or `scp`, as some issuers have it."""
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return given.split()
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
