"""Targets, byte streams, refusals, and the protocols of resolvers and dialers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol, Self, TypeAlias

import can_ada

from cinder.errors import (
    CinderError,
    ConnectionFailed,
    DnsFailed,
    EgressBlocked,
    Overloaded,
    ScrapeFailed,
    ScrapeTimeout,
)

_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Target:
    """A host (canonical; an IPv6 address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def from_pair(cls, text: str) -> Self:
        """Read a `host:port` pair, as in CONNECT or an allow rule.

        Raises:
            ValueError: `text` is no such pair.
        """
        host, _, port = text.rpartition(":")
        parsed = _parse_url(f"http://{host}/")
        # The URL shows any part of `host` that is not a host, such as a path or a user name.
        if not parsed.hostname or parsed.href != f"http://{parsed.hostname}/":
            raise ValueError("Not a host")
        return cls(parsed.hostname.strip("[]"), parse_port(port))


@dataclass(frozen=True, slots=True)
class PlainUrl:
    """An http: URL as a proxy needs it: the target to connect to, and the path to request."""

    target: Target
    authority: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the absolute form of a request's target.

        Raises:
            ValueError: `text` is no http: URL, or has credentials in it.
        """
        parsed = _parse_url(text)
        if parsed.protocol != "http:" or parsed.has_credentials():
            raise ValueError("Not an http: URL without credentials")
        target = Target(parsed.hostname.strip("[]"), int(parsed.port or 80))
        rest = parsed.href.removeprefix(f"http://{parsed.host}")
        return cls(target, parsed.host, rest.partition("#")[0])


def parse_port(text: str) -> int:
    """Read a port number.

    Raises:
        ValueError: `text` is not a port number.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_PORT))):
        raise ValueError("Not a port number")
    port = int(text)
    if not 1 <= port <= _MAX_PORT:
        raise ValueError("Not a port number")
    return port


def _parse_url(text: str) -> can_ada.URL:
    try:
        return can_ada.parse(text)
    except TypeError:  # the parser does not accept lone surrogates
        raise ValueError("Not a valid URL") from None


READ_BYTES = 64 * 1024


class ByteStream:
    """A TCP connection. Its failures are OSErrors."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unread = b""

    async def read(self) -> bytes:
        """Return received bytes; none at the end of the stream."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        return await self._reader.read(READ_BYTES)

    def unread(self, data: bytes) -> None:
        """Put bytes back for the next read."""
        self._unread = data + self._unread

    async def write(self, data: bytes) -> None:
        """Send, and wait while the peer is slow to read."""
        # asyncio only logs writes to a closed transport.
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    def end(self) -> None:
        """Tell the peer that nothing more will be sent."""
        if not self._writer.is_closing():
            with suppress(OSError):
                self._writer.write_eof()

    def abort(self) -> None:
        """Close at once; unsent bytes are lost."""
        # A transport that sent its last bytes while closing has no loop: asyncio fails on it.
        with suppress(AttributeError):
            self._writer.transport.abort()

    async def close(self) -> None:
        """Close once everything is sent."""
        self._writer.close()
        await self._writer.wait_closed()

    async def discard_input(self) -> None:
        """Read until the peer ends the stream."""
        while await self.read():
            pass


Address: TypeAlias = IPv4Address | IPv6Address


class Resolver(Protocol):
    """Turns a host name into addresses, without judging them."""

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, at least one, the preferred ones first.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        ...


class Dialer(Protocol):
    """Connects to pinned addresses only."""

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Connect to the first address that answers.

        Raises:
            RequestRefused: no address answers.
        """
        ...


class RefusalCode(StrEnum):
    """Why the proxy responded instead of the origin."""

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


# Never 502: a client would take it for the origin's own gateway. 424 means that something this
# request depends on failed; the code names it.
_MEANINGS: dict[RefusalCode, tuple[int, type[CinderError]]] = {
    RefusalCode.NOT_HTTP: (400, ScrapeFailed),
    RefusalCode.BAD_REQUEST: (400, ScrapeFailed),
    RefusalCode.UNAUTHORIZED: (407, ScrapeFailed),
    RefusalCode.REQUEST_HEAD_TOO_LARGE: (431, ScrapeFailed),
    RefusalCode.OVERLOADED: (503, Overloaded),
    RefusalCode.EGRESS_BLOCKED: (403, EgressBlocked),
    RefusalCode.UNWANTED: (403, ScrapeFailed),
    RefusalCode.DNS_ERROR: (424, DnsFailed),
    RefusalCode.CONNECT_FAILED: (424, ConnectionFailed),
    RefusalCode.CONNECT_TIMEOUT: (504, ScrapeTimeout),
    RefusalCode.CONNECTION_LOST: (424, ConnectionFailed),
    RefusalCode.BAD_RESPONSE: (424, ScrapeFailed),
    RefusalCode.RESPONSE_HEAD_TOO_LARGE: (424, ScrapeFailed),
    RefusalCode.IDLE_TIMEOUT: (504, ScrapeTimeout),
}
# Reasons for callers who may not know the server's address.
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
    """Why the proxy did not get the origin's response."""

    code: RefusalCode
    message: str
    cause: str = ""
    """The system's error text, without an address; blank if there is none."""

    @property
    def status(self) -> int:
        """The HTTP status of the response to the client."""
        return _MEANINGS[self.code][0]

    def to_error(self, url: str) -> CinderError:
        """Return the error to raise for the requested URL."""
        return _MEANINGS[self.code][1](self.message, url=url)

    def to_error_without_address(self) -> CinderError:
        """Return the error to raise for callers who may not know the requested URL."""
        reason = _REASONS.get(self.code, _NO_CONNECTION)
        return _MEANINGS[self.code][1](f"{reason}: {self.cause}" if self.cause else reason)


class RequestRefused(Exception):
    """The proxy refuses a client's request."""

    def __init__(self, code: RefusalCode, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.refusal = ProxyRefusal(code, message, cause)
