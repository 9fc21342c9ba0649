"""What it takes to be a resolver, and to be a way to the addresses that were pinned."""

from ipaddress import IPv4Address, IPv6Address
from typing import Protocol, TypeAlias

from cinder.egress.stream import ByteStream
from cinder.egress.target import Target

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
