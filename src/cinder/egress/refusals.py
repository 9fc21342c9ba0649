"""Refusals: why the proxy does not connect a client, with status code and error."""

from dataclasses import dataclass
from enum import StrEnum

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
    UNWANTED = "UNWANTED"
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
    RefusalCode.UNWANTED: 403,
    RefusalCode.DNS_ERROR: 424,
    RefusalCode.CONNECT_FAILED: 424,
    RefusalCode.CONNECT_TIMEOUT: 504,
    RefusalCode.CONNECTION_LOST: 424,
    RefusalCode.BAD_RESPONSE: 424,
    RefusalCode.RESPONSE_HEAD_TOO_LARGE: 424,
    RefusalCode.IDLE_TIMEOUT: 504,
}
_ERRORS: dict[RefusalCode, type[CinderError]] = {
    RefusalCode.EGRESS_BLOCKED: EgressBlocked,
    RefusalCode.DNS_ERROR: DnsFailed,
    RefusalCode.OVERLOADED: Overloaded,
    RefusalCode.CONNECT_FAILED: ConnectionFailed,
    RefusalCode.CONNECT_TIMEOUT: ScrapeTimeout,
    RefusalCode.CONNECTION_LOST: ConnectionFailed,
    RefusalCode.IDLE_TIMEOUT: ScrapeTimeout,
}


# What can be told of a server whose address is not to be known.
_REASONS = {
    RefusalCode.OVERLOADED: "Too many connections are open; try again later",
    RefusalCode.EGRESS_BLOCKED: "It may not be connected to: only public addresses and the "
    "configured ports may, and what egress.allow (CINDER_EGRESS__ALLOW) names",
    RefusalCode.UNWANTED: "It is on a filter list",
    RefusalCode.DNS_ERROR: "Its host name could not be resolved",
    RefusalCode.CONNECT_TIMEOUT: "It did not accept a connection in time",
    RefusalCode.IDLE_TIMEOUT: "It did not answer in time",
}
_NO_CONNECTION = "No connection to it could be made"


@dataclass(frozen=True, slots=True)
class ProxyRefusal:
    """Why the proxy did not get the origin's answer."""

    code: RefusalCode
    message: str
    cause: str = ""
    """What the system says of it, without an address; blank where it says nothing."""

    @property
    def status(self) -> int:
        """The HTTP status for a client that is answered at all."""
        return _STATUS[self.code]

    def to_error(self, url: str) -> CinderError:
        """Return the error to raise for the URL that was asked for."""
        return self._kind(self.message, url=url)

    def to_error_without_address(self) -> CinderError:
        """Return the error to raise where whoever is told may not know what was asked for."""
        reason = _REASONS.get(self.code, _NO_CONNECTION)
        return self._kind(f"{reason}: {self.cause}" if self.cause else reason)

    @property
    def _kind(self) -> type[CinderError]:
        return _ERRORS.get(self.code, ScrapeFailed)


class RequestRefused(Exception):
    """The proxy cannot do what it was asked to."""

    def __init__(self, code: RefusalCode, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.refusal = ProxyRefusal(code, message, cause)
