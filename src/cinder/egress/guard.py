"""The guard: resolves a host once, judges every answer, and pins what may be connected to."""

from ipaddress import ip_address

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.egress.base import Address, Resolver
from cinder.egress.policy import AddressPolicy, unmapped
from cinder.egress.target import Target
from cinder.errors import DnsFailed, EgressBlocked

_log: FilteringBoundLogger = structlog.get_logger()


class Guard:
    """Decides for each connection anew, by the answer that this connection then uses."""

    def __init__(
        self,
        policy: AddressPolicy,
        resolver: Resolver,
        *,
        max_answers: int = 256,
        max_tried: int = 8,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._max_answers = max_answers
        self._max_tried = max_tried

    async def pin(self, host: str, port: int, *, is_named: bool = False) -> list[Address]:
        """Return the addresses to try, in order, for a host as it stands in a canonical URL.

        A host that the owner named to the one who asks needs no judging. Of all others, one
        refused address among the host's answers refuses the host: which of them a
        connection would use is the name server's choice, and it may be hostile.

        Raises:
            EgressBlocked: the policy refuses the host or port.
            DnsFailed: the name does not resolve.
        """
        target = Target(host.lower(), port)
        addresses = await self._judge(target, is_named=is_named)
        _log.info("egress", host=target.host, port=port, decision="allowed")
        return [unmapped(address) for address in addresses[: self._max_tried]]

    async def judge(self, host: str, port: int) -> None:
        """Return if a host could be connected to now, without connecting to it.

        Raises:
            EgressBlocked: the policy refuses the host or port.
            DnsFailed: the name does not resolve.
        """
        await self._judge(Target(host.lower(), port), is_named=False)

    async def _judge(self, target: Target, *, is_named: bool) -> list[Address]:
        port = target.port
        needs_judging = not is_named and not self._policy.names(target)
        # Whoever answers for a name is not asked for a port that no answer could open.
        if needs_judging and not self._policy.may_permit(port):
            raise _blocked(target)
        try:
            addresses = await self.resolve(target.host)
        except DnsFailed:
            _log.info("egress", host=target.host, port=port, decision="unresolved")
            raise
        if needs_judging and not self._are_permitted(addresses, port):
            raise _blocked(target)
        return addresses

    async def resolve(self, host: str) -> list[Address]:
        """Return a host's addresses unjudged: as they are, only for a host from the settings.

        Raises:
            DnsFailed: the name does not resolve.
        """
        try:
            return [ip_address(host)]
        except ValueError:
            return await self._resolver.resolve(host)

    def _are_permitted(self, addresses: list[Address], port: int) -> bool:
        # A hostile name has thousands, and judging them all would hold everyone else up.
        return len(addresses) <= self._max_answers and all(
            self._policy.permits(address, port) for address in addresses
        )


def _blocked(target: Target) -> EgressBlocked:
    _log.info("egress", host=target.host, port=target.port, decision="blocked")
    return EgressBlocked(_explain_block(target))


def _explain_block(target: Target) -> str:
    # Nothing here may depend on what the name resolved to: that would map the inner network.
    return (
        f"{target} may not be connected to: only public addresses and the configured ports may. "
        f"To allow it, add {target} to CINDER_EGRESS__ALLOW"
    )
