"""Targets: the host and port that someone wants to reach, in the one spelling that is judged."""

from dataclasses import dataclass
from typing import Self

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
        parsed = _parse(text)
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


def _parse(text: str) -> can_ada.URL:
    try:
        return can_ada.parse(text)
    except TypeError:  # what holds a lone surrogate is no text to the parser
        raise ValueError("Not a valid URL") from None


def _canonical_host(text: str) -> str:
    parsed = _parse(f"http://{text}/")
    # Whatever in `text` is not part of the host (a path, a user name) shows in the URL.
    if not parsed.hostname or parsed.href != f"http://{parsed.hostname}/":
        raise ValueError("Not a host")
    return parsed.hostname.strip("[]")
