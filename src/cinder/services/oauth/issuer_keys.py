"""The keys that an issuer signs with: found by its metadata, and kept for a while."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import structlog

from cinder import __version__
from cinder.errors import CinderError, ConnectionFailed, Overloaded
from cinder.model.http import HttpAnswer
from cinder.model.url import origin_of, parse_web_url

Jwk: TypeAlias = Mapping[str, Any]  # Any: a key has texts and lists of them

FRESH_SECONDS = 600.0
"""For how long keys count without being asked for again."""
STALE_SECONDS = 3600.0
"""For how long they count where the issuer does not answer."""
PAUSE_SECONDS = 10.0
"""How long the issuer is left alone after it was asked, whatever tokens name."""

_MAX_KEYS = 100
_HEADERS = {"User-Agent": f"cinder/{__version__}", "Accept": "application/json"}

log = structlog.get_logger()


class HttpClient(Protocol):
    """Asks the issuer, through egress."""

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer, whatever its status; raise `CinderError` where none came."""
        ...


class IssuerKeys:
    """Knows the keys of one issuer."""

    def __init__(
        self, client: HttpClient, issuer: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.issuer = issuer
        self._client = client
        self._clock = clock
        self._keys: list[Jwk] = []
        self._fetched_at = -STALE_SECONDS
        self._asked_at = -STALE_SECONDS
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None) -> Jwk | None:
        """Return the key of this id, or the only one for a token that names none.

        Raises:
            Overloaded: the issuer does not answer, and its keys are not known.
        """
        if self._age >= FRESH_SECONDS:
            await self._renew()
        found = _choose(self._keys, key_id)
        if found is None and self._pause_is_over:
            await self._renew()
            found = _choose(self._keys, key_id)
        return found

    async def check(self) -> None:
        """Ask for the keys.

        Raises:
            CinderError: the issuer gives none.
        """
        await self._fetch()

    @property
    def _age(self) -> float:
        return self._clock() - self._fetched_at

    @property
    def _pause_is_over(self) -> bool:
        return self._clock() - self._asked_at >= PAUSE_SECONDS

    async def _renew(self) -> None:
        async with self._lock:
            # Whoever had the lock before asked for all who waited.
            if self._pause_is_over:
                self._asked_at = self._clock()
                await self._try_to_fetch()
        if self._age >= STALE_SECONDS:
            raise Overloaded(
                f"The keys of {self.issuer} cannot be had now, and its tokens not be checked. "
                "Try again in a moment; the server's log has the details."
            )

    async def _try_to_fetch(self) -> None:
        try:
            self._keys = await self._fetch()
        except CinderError as error:
            log.warning("no keys of the issuer", issuer=self.issuer, error=error.message)
        else:
            self._fetched_at = self._clock()

    async def _fetch(self) -> list[Jwk]:
        document = await self._read(await self._find_key_url())
        keys = document.get("keys") if document else None
        if not isinstance(keys, list):
            raise ConnectionFailed(f"{self.issuer} has no keys where it says that they are")
        return [key for key in keys[:_MAX_KEYS] if _is_for_signing(key)]

    async def _find_key_url(self) -> str:
        for url in metadata_urls(self.issuer):
            document = await self._read(url)
            if document and document.get("issuer") == self.issuer:
                return self._key_url(document.get("jwks_uri"))
        raise ConnectionFailed(f"{self.issuer} has no metadata that names it as the issuer")

    def _key_url(self, given: object) -> str:
        try:
            url = parse_web_url(given if isinstance(given, str) else "")
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
    """Return where an issuer's metadata may be, by RFC 8414 and by OpenID Connect."""
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


def _is_for_signing(key: object) -> bool:
    return isinstance(key, dict) and key.get("use", "sig") == "sig"
