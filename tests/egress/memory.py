"""A resolver whose answers are given to it; it passes the contract suite of resolvers."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from cinder.egress.base import Address
from cinder.errors import DnsFailed


class MemoryResolver:
    """Gives a name's answers one lookup after the other, and the last one ever after."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {host: list(lookups) for host, lookups in answers.items()}
        self.lookups: list[str] = []

    async def resolve(self, host: str) -> list[Address]:
        self.lookups.append(host)
        if host not in self._answers:
            raise DnsFailed(f"The host name {host!r} could not be resolved")
        lookups = self._answers[host]
        answer = lookups.pop(0) if len(lookups) > 1 else lookups[0]
        return [ip_address(address) for address in answer]
