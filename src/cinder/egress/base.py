"""Targets, byte streams, and the protocols of resolvers and dialers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol, Self, TypeAlias

import can_ada

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
        return cls(_canonical_host(host), parse_port(port))


@dataclass(frozen=True, slots=True)
class PlainUrl:
    """An http: URL as a proxy needs it: whom to connect to, and what to ask there."""

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
        ValueError: `text` is none.
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
    except TypeError:  # what holds a lone surrogate is no text to the parser
        raise ValueError("Not a valid URL") from None


def _canonical_host(text: str) -> str:
    parsed = _parse_url(f"http://{text}/")
    # Whatever in `text` is not part of the host (a path, a user name) shows in the URL.
    if not parsed.hostname or parsed.href != f"http://{parsed.hostname}/":
        raise ValueError("Not a host")
    return parsed.hostname.strip("[]")


READ_BYTES = 64 * 1024


class ByteStream:
    """A TCP connection. Its failures are OSErrors."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unread = b""

    async def read(self) -> bytes:
        """Return what has come in; nothing at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        return await self._reader.read(READ_BYTES)

    def unread(self, data: bytes) -> None:
        """Put back what was read too far, for the next read."""
        self._unread = data + self._unread

    async def write(self, data: bytes) -> None:
        """Send, and wait while the peer is behind with reading."""
        # On a closed transport asyncio only logs.
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
        """Close at once; what was not yet sent is lost."""
        # One that sent its last bytes while it closed has let go of its loop, and asyncio trips
        # over that.
        with suppress(AttributeError):
            self._writer.transport.abort()

    async def close(self) -> None:
        """Close once everything is sent."""
        self._writer.close()
        await self._writer.wait_closed()

    async def discard_input(self) -> None:
        """Read until the peer has nothing more to say."""
        while await self.read():
            pass


Address: TypeAlias = IPv4Address | IPv6Address


class Resolver(Protocol):
    """Turns a host name into addresses; it decides nothing about them."""

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, the preferred ones first; never none.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        ...


class Dialer(Protocol):
    """Makes connections to one of the addresses that were pinned, and to nothing else."""

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Connect to the first address that answers.

        Raises:
            Refused: none of them does.
        """
        ...
