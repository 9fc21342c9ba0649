"""What it takes to be a resolver."""

from ipaddress import IPv4Address, IPv6Address
from typing import Protocol, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address


class Resolver(Protocol):
    """Turns a host name into addresses; it decides nothing about them."""

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, the preferred ones first; never none.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        ...
