"""Access tokens of an OAuth authorization server, verified with the keys of their issuer."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import jwt
import structlog

from cinder import __version__
from cinder.errors import CinderError, ConnectionFailed, Overloaded
from cinder.models.caller import (
    EVERYDAY_SCOPES,
    OAUTH_ID_PREFIX,
    OAUTH_METADATA_PATH,
    Caller,
    TokenScope,
)
from cinder.models.document import Json
from cinder.models.http import HttpResponse
from cinder.models.url import origin_of, parse_web_url

Jwk: TypeAlias = Mapping[str, Any]  # Any: the values of a key are texts and lists of them

FRESH_SECONDS = 600.0
"""How long keys are used before they are fetched again."""
STALE_SECONDS = 3600.0
"""How long keys are used if the issuer does not respond."""
PAUSE_SECONDS = 10.0
"""The least time between two requests to the issuer, whatever key ids tokens have."""

_MAX_KEYS = 100
_HEADERS = {"User-Agent": f"cinder/{__version__}", "Accept": "application/json"}

log = structlog.get_logger()


class IssuerHttpClient(Protocol):
    """Sends requests to the issuer, through egress."""

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response, whatever its status; raise `CinderError` if there is none."""
        ...


class IssuerKeys:
    """The keys of one issuer, fetched and cached."""

    def __init__(
        self, client: IssuerHttpClient, issuer: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.issuer = issuer
        self._client = client
        self._clock = clock
        self._keys: list[Jwk] = []
        self._fetched_at = -STALE_SECONDS
        self._asked_at = -STALE_SECONDS
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None) -> Jwk | None:
        """Return the key of this id, or the only one for a token without a key id.

        Raises:
            Overloaded: the issuer does not respond, and its keys are not known.
        """
        if self._age >= FRESH_SECONDS:
            await self._renew()
        found = _choose(self._keys, key_id)
        if found is None and self._pause_is_over:
            await self._renew()
            found = _choose(self._keys, key_id)
        return found

    async def fetch(self) -> list[Jwk]:
        """Return the keys that the issuer has now.

        Raises:
            CinderError: it returns none.
        """
        document = await self._read(await self._find_key_url())
        keys = document.get("keys") if document else None
        if not isinstance(keys, list):
            raise ConnectionFailed(f"{self.issuer} has no keys where it says that they are")
        first = [key for key in keys[:_MAX_KEYS] if isinstance(key, dict)]
        return [key for key in first if key.get("use", "sig") == "sig"]

    @property
    def _age(self) -> float:
        return self._clock() - self._fetched_at

    @property
    def _pause_is_over(self) -> bool:
        return self._clock() - self._asked_at >= PAUSE_SECONDS

    async def _renew(self) -> None:
        async with self._lock:
            # The holder of the lock before fetched for all waiters.
            if self._pause_is_over:
                self._asked_at = self._clock()
                try:
                    self._keys = await self.fetch()
                    self._fetched_at = self._clock()
                except CinderError as error:
                    log.warning("no keys of the issuer", issuer=self.issuer, error=error.message)
        if self._age >= STALE_SECONDS:
            raise Overloaded(
                f"The keys of {self.issuer} cannot be had now, and its tokens not be checked. "
                "Try again in a moment; the server's log has the details."
            )

    async def _find_key_url(self) -> str:
        for metadata_url in metadata_urls(self.issuer):
            document = await self._read(metadata_url)
            if document and document.get("issuer") == self.issuer:
                break
        else:
            raise ConnectionFailed(f"{self.issuer} has no metadata that names it as the issuer")
        try:
            url = parse_web_url(str(document.get("jwks_uri") or ""))
        except ValueError:
            raise ConnectionFailed(f"The metadata of {self.issuer} names no keys") from None
        if url.startswith("http:") and origin_of(url) != origin_of(parse_web_url(self.issuer)):
            raise ConnectionFailed(f"{self.issuer} has its keys elsewhere without HTTPS: {url}")
        return url

    async def _read(self, url: str) -> dict[str, Any] | None:  # Any: a JSON document
        answer = await self._client.get(url, _HEADERS)
        if answer.status != 200 or answer.is_cut:
            return None
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None


def metadata_urls(issuer: str) -> Iterator[str]:
    """Return the possible URLs of an issuer's metadata, by RFC 8414 and OpenID Connect."""
    parts = urlsplit(issuer.rstrip("/"))
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _choose(keys: list[Jwk], key_id: str | None) -> Jwk | None:
    if key_id is None:
        return keys[0] if len(keys) == 1 else None
    return next((key for key in keys if key.get("kid") == key_id), None)


# Asymmetric algorithms only: with a symmetric one, the verifier could make tokens too.
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)

_MAX_TOKEN_CHARS = 16_384
_LEEWAY_SECONDS = 30
_CLAIMS = ["exp", "iss", "aud", "sub"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """The resource that tokens give access to, by the URL that clients and the issuer use."""

    url: str
    scope_prefix: str = ""

    @property
    def metadata_path(self) -> str:
        """The path of its metadata, by RFC 9728."""
        return OAUTH_METADATA_PATH + urlsplit(self.url).path.rstrip("/")

    @property
    def metadata_url(self) -> str:
        """The URL of its metadata."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"

    @property
    def scopes(self) -> dict[str, TokenScope]:
        """The scopes by their names at the issuer; `admin` is not available."""
        return {f"{self.scope_prefix}{scope}": scope for scope in EVERYDAY_SCOPES}


class AccessTokens:
    """Verifies the tokens of one issuer."""

    def __init__(self, keys: IssuerKeys, resource: ProtectedResource) -> None:
        self._keys = keys
        self.resource = resource

    async def identify(self, token: str) -> Caller | None:
        """Return the caller of a token; None if it is not valid for this server, or has expired.

        Raises:
            Overloaded: the issuer does not respond, and its keys are not known.
        """
        header = _read_header(token)
        if header is None:
            return None
        key = await self._keys.find(header.get("kid"))
        algorithm = header["alg"]
        if key is None or key.get("alg", algorithm) != algorithm:
            return None
        try:
            claims = jwt.decode(
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
        # `scope` by RFC 9068, or `scp`, as some issuers write it.
        names = claims.get("scope", claims.get("scp", ""))
        names = names.split() if isinstance(names, str) else names
        known = self.resource.scopes
        scopes = frozenset(
            scope for name, scope in known.items() if isinstance(names, list) and name in names
        )
        digest = hashlib.sha256(f"{claims['iss']}\n{claims['sub']}".encode()).hexdigest()
        return Caller(id=f"{OAUTH_ID_PREFIX}{digest[:32]}", scopes=scopes)

    async def check(self) -> None:
        """Fetch the issuer's keys.

        Raises:
            CinderError: it returns none.
        """
        await self._keys.fetch()

    def describe(self) -> dict[str, Json]:
        """Return the metadata of the resource, which tells clients where to get tokens."""
        return {
            "resource": self.resource.url,
            "resource_name": "cinder",
            "authorization_servers": [self._keys.issuer],
            "scopes_supported": list[Json](self.resource.scopes),
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, *, was_sent: bool) -> str:
        """Return the header that tells a client without a valid token where to get one."""
        problem = 'error="invalid_token", ' if was_sent else ""
        scopes = " ".join(self.resource.scopes)
        metadata = self.resource.metadata_url
        return f'Bearer {problem}resource_metadata="{metadata}", scope="{scopes}"'


def _read_header(token: str) -> dict[str, Any] | None:  # Any: the header is not verified yet
    """Return the header of a token; None if the token cannot be accepted."""
    if len(token) > _MAX_TOKEN_CHARS or token.count(".") != 2:
        return None
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    # `crit` names extensions that must be supported, and none is.
    is_supported = header.get("alg") in ALGORITHMS and "crit" not in header
    return header if is_supported and isinstance(header.get("kid"), str | None) else None
