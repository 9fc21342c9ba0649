"""The address policy, and the guard that applies it to resolved addresses and pins the result."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network
from typing import Self, TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.egress.base import Address, Resolver, Target, parse_port
from cinder.errors import DnsFailed, EgressBlocked

Network: TypeAlias = IPv4Network | IPv6Network

# IANA's special-purpose registry without its globally reachable blocks (the anycast blocks of
# AS112 and AMT), plus multicast, which has a registry of its own, and a public address under which
# a cloud serves its own machines.
_SPECIAL_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carrier-grade NAT; clouds keep services in it
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's own services for a virtual machine, its secrets among them
        "169.254.0.0/16",  # link-local; cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; some are reachable, none serves pages
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4, withdrawn
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, among them Teredo and ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address of any kind, wrapped
        "3ffe::/16",  # the 6bone, given back
        "3fff::/20",  # documentation
    )
)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Allows public unicast addresses on the configured ports, and the owner's own rules.

    A pair allows its host on its port, whatever that host resolves to. A network allows its
    addresses on every port.
    """

    pairs: frozenset[Target]
    networks: tuple[Network, ...]
    ports: tuple[range, ...]

    @classmethod
    def from_rules(cls, *, allow: Iterable[str], ports: Iterable[str]) -> Self:
        """Read rules such as `127.0.0.1:8080` or `10.0.0.0/8`, and ports such as `8000-8999`.

        Raises:
            ValueError: a rule cannot be read; the message names it.
        """
        pairs: set[Target] = set()
        networks: list[Network] = []
        for rule in allow:
            if "/" in rule:
                try:
                    network = ip_network(rule)
                except ValueError as exc:
                    raise ValueError(f"egress.allow: {rule!r} is not a network: {exc}") from None
                if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped:
                    raise ValueError(f"egress.allow: {rule!r} must be written as an IPv4 network")
                networks.append(network)
                continue
            try:
                pairs.add(Target.from_pair(rule))
            except ValueError:
                raise ValueError(
                    f"egress.allow: {rule!r} is neither a host:port pair (an IPv6 address in "
                    "brackets) nor a network such as 10.0.0.0/8"
                ) from None
        ranges = []
        for rule in ports:
            first, _, last = rule.partition("-")
            try:
                allowed = range(parse_port(first), parse_port(last or first) + 1)
            except ValueError:
                allowed = range(0)
            if not allowed or rule.endswith("-"):
                raise ValueError(
                    f"egress.ports: {rule!r} is neither a port nor a range such as 8000-8999"
                )
            ranges.append(allowed)
        return cls(frozenset(pairs), tuple(networks), tuple(ranges))

    def names(self, target: Target) -> bool:
        """Whether a pair rule allows this target; its addresses need no check then."""
        return target in self.pairs

    def may_permit(self, port: int) -> bool:
        """Whether the policy allows this port on any address."""
        if port == 0:
            return False  # no service has it, and systems treat it differently
        return bool(self.networks) or any(port in allowed for allowed in self.ports)

    def permits(self, address: Address, port: int) -> bool:
        """Whether a connection to this address and port is allowed."""
        if not self.may_permit(port):
            return False
        address = unmapped(address)
        if any(address in network for network in self.networks):
            return True
        return is_public(address) and any(port in allowed for allowed in self.ports)


def unmapped(address: Address) -> Address:
    """Return the IPv4 address in a v4-mapped IPv6 address; other addresses unchanged."""
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or address


def is_public(address: Address) -> bool:
    """Whether this is a unicast address on the public internet."""
    address = unmapped(address)
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _SPECIAL_V4)
    # A scope ties an address to one of this machine's interfaces.
    if address.scope_id is not None or address not in _UNICAST_V6:
        return False
    return not any(address in block for block in _SPECIAL_V6)


_log: FilteringBoundLogger = structlog.get_logger()

# The addresses of a host that are checked at most, and that are tried.
_MAX_ANSWERS = 256
_MAX_TRIED = 8


class Guard:
    """Resolves and checks the host of each connection, and pins the checked addresses."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver

    async def pin(self, host: str, port: int, *, is_named: bool = False) -> list[Address]:
        """Return the addresses to try, in order, for a host as written in a canonical URL.

        A host that the owner named for this client (`is_named`) needs no check. For all others,
        one refused address refuses the host: the name server chooses which address a connection
        would use, and it may be hostile.

        Raises:
            EgressBlocked: the policy refuses the host or port.
            DnsFailed: the name does not resolve.
        """
        target = Target(host.lower(), port)
        addresses = await self._judge(target, is_named=is_named)
        _log.info("egress", host=target.host, port=port, decision="allowed")
        return [unmapped(address) for address in addresses[:_MAX_TRIED]]

    async def judge(self, host: str, port: int) -> None:
        """Return if a host could be connected to now, without connecting to it.

        Raises:
            EgressBlocked: the policy refuses the host or port.
            DnsFailed: the name does not resolve.
        """
        await self._judge(Target(host.lower(), port), is_named=False)

    async def _judge(self, target: Target, *, is_named: bool) -> list[Address]:
        port = target.port
        needs_check = not is_named and not self._policy.names(target)
        # No address could make a forbidden port allowed, so the name is not looked up.
        if needs_check and not self._policy.may_permit(port):
            raise _blocked(target)
        try:
            addresses = await self.resolve(target.host)
        except DnsFailed:
            _log.info("egress", host=target.host, port=port, decision="unresolved")
            raise
        # A hostile name has thousands of addresses; checking them all would block the event loop.
        if needs_check and not (
            len(addresses) <= _MAX_ANSWERS
            and all(self._policy.permits(address, port) for address in addresses)
        ):
            raise _blocked(target)
        return addresses

    async def resolve(self, host: str) -> list[Address]:
        """Return a host's addresses unchecked; use it only for hosts from the settings.

        Raises:
            DnsFailed: the name does not resolve.
        """
        try:
            return [ip_address(host)]
        except ValueError:
            return await self._resolver.resolve(host)


def _blocked(target: Target) -> EgressBlocked:
    _log.info("egress", host=target.host, port=target.port, decision="blocked")
    # The message must not depend on the resolved addresses: that would map the inner network.
    return EgressBlocked(
        f"{target} may not be connected to: only public addresses and the configured ports may. "
        f"To allow it, add {target} to CINDER_EGRESS__ALLOW"
    )
