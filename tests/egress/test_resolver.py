from ipaddress import ip_address

import pytest

from cinder.egress.base import Resolver
from cinder.egress.resolver import SystemResolver
from cinder.errors import DnsFailed
from tests.egress.memory import MemoryResolver


@pytest.fixture(params=["system", "memory"])
async def resolver(request: pytest.FixtureRequest) -> Resolver:
    if request.param == "memory":
        return MemoryResolver({"localhost": [["127.0.0.1"]]})
    return SystemResolver()


async def test_a_name_resolves_to_its_addresses(resolver: Resolver) -> None:
    addresses = await resolver.resolve("localhost")
    assert addresses
    assert set(addresses) <= {ip_address("127.0.0.1"), ip_address("::1")}


# All of these fail before a query is sent: tests leave the name server alone.
@pytest.mark.parametrize("host", ["", ".", "a..b", "a" * 64 + ".example", "fe80::1%nowhere"])
async def test_a_name_without_addresses_is_a_dns_failure(resolver: Resolver, host: str) -> None:
    with pytest.raises(DnsFailed):
        await resolver.resolve(host)


async def test_a_lookup_that_takes_too_long_is_a_dns_failure() -> None:
    with pytest.raises(DnsFailed, match="did not resolve within 0 seconds"):
        await SystemResolver(timeout_seconds=0).resolve("localhost")
