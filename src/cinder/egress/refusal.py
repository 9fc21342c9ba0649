"""Refusals: the answers that the proxy gives itself, and how its client recognises them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest
from urllib.parse import quote, unquote

from cinder.errors import (
    CinderError,
    ConnectionFailed,
    DnsFailed,
    EgressBlocked,
    Overloaded,
    ScrapeFailed,
    ScrapeTimeout,
)


class RefusalCode(StrEnum):
    """Why the proxy answered instead of the origin."""

    NOT_HTTP = "NOT_HTTP"
    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED = "UNAUTHORIZED"
    REQUEST_HEAD_TOO_LARGE = "REQUEST_HEAD_TOO_LARGE"
    OVERLOADED = "OVERLOADED"
    EGRESS_BLOCKED = "EGRESS_BLOCKED"
    DNS_ERROR = "DNS_ERROR"
    CONNECT_FAILED = "CONNECT_FAILED"
    CONNECT_TIMEOUT = "CONNECT_TIMEOUT"
    CONNECTION_LOST = "CONNECTION_LOST"
    BAD_RESPONSE = "BAD_RESPONSE"
    RESPONSE_HEAD_TOO_LARGE = "RESPONSE_HEAD_TOO_LARGE"
    IDLE_TIMEOUT = "IDLE_TIMEOUT"


# Never 502: a client would take it for the origin's own gateway. 424 says that something this
# request depends on failed; the code says what.
_STATUS = {
    RefusalCode.NOT_HTTP: 400,
    RefusalCode.BAD_REQUEST: 400,
    RefusalCode.UNAUTHORIZED: 407,
    RefusalCode.REQUEST_HEAD_TOO_LARGE: 431,
    RefusalCode.OVERLOADED: 503,
    RefusalCode.EGRESS_BLOCKED: 403,
    RefusalCode.DNS_ERROR: 424,
    RefusalCode.CONNECT_FAILED: 424,
    RefusalCode.CONNECT_TIMEOUT: 504,
    RefusalCode.CONNECTION_LOST: 424,
    RefusalCode.BAD_RESPONSE: 424,
    RefusalCode.RESPONSE_HEAD_TOO_LARGE: 424,
    RefusalCode.IDLE_TIMEOUT: 504,
}
# Refusals of a client of whom nothing is known yet.
BEFORE_CREDENTIALS = frozenset(
    {RefusalCode.NOT_HTTP, RefusalCode.REQUEST_HEAD_TOO_LARGE, RefusalCode.UNAUTHORIZED}
)
_ERRORS: dict[RefusalCode, type[CinderError]] = {
    RefusalCode.EGRESS_BLOCKED: EgressBlocked,
    RefusalCode.DNS_ERROR: DnsFailed,
    RefusalCode.OVERLOADED: Overloaded,
    RefusalCode.CONNECT_FAILED: ConnectionFailed,
    RefusalCode.CONNECT_TIMEOUT: ScrapeTimeout,
    RefusalCode.CONNECTION_LOST: ConnectionFailed,
    RefusalCode.IDLE_TIMEOUT: ScrapeTimeout,
}


@dataclass(frozen=True, slots=True)
class ProxyRefusal:
    """Why the proxy did not get the origin's answer."""

    code: RefusalCode
    message: str

    @property
    def status(self) -> int:
        """The HTTP status to answer with."""
        return _STATUS[self.code]

    def to_error(self, url: str) -> CinderError:
        """Return the error to raise for the URL that was asked for."""
        return _ERRORS.get(self.code, ScrapeFailed)(self.message, url=url)


class Refused(Exception):
    """The proxy has to answer for itself."""

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.refusal = ProxyRefusal(code, message)


@dataclass(frozen=True, slots=True)
class Marker:
    """The response header that only this process's proxy can write, since only it has the secret.

    The proxy strips the header from what it relays, but it cannot look into a tunnel: read it
    from answers to plain http requests and to CONNECT, never from what came over TLS.
    """

    name: str = "X-Cinder-Egress"
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def write(self, refusal: ProxyRefusal) -> tuple[bytes, bytes]:
        """Return the header that carries a refusal."""
        value = f"{self.secret} {refusal.code} {quote(refusal.message)}"
        return self.name.encode(), value.encode()

    def read(self, headers: Mapping[str, str | None]) -> ProxyRefusal | None:
        """Return the refusal in a response's headers; None when the origin gave the answer."""
        for name, value in headers.items():
            if name.lower() == self.name.lower() and value:
                return self._parse(value)
        return None

    def _parse(self, value: str) -> ProxyRefusal | None:
        secret, _, rest = value.partition(" ")
        if not compare_digest(secret.encode(), self.secret.encode()):
            return None
        code, _, message = rest.partition(" ")
        return ProxyRefusal(RefusalCode(code), unquote(message))
