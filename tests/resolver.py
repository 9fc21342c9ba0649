"""A resolver for tests: it knows the names of a table."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from cinder.errors import DnsFailed


class TableResolver:
    """Resolves the names of a table; what is in none of its rows does not exist."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self._table = table

    async def resolve(self, host: str) -> list[IPv4Address | IPv6Address]:
        if host not in self._table:
            raise DnsFailed(f"{host} does not resolve")
        return [ip_address(text) for text in self._table[host]]
