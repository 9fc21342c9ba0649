from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cinder.egress.base import Target
from cinder.egress.policy import AddressPolicy, Guard, is_public, unmapped
from cinder.errors import DnsFailed, EgressBlocked
from tests.egress.memory import MemoryResolver

PORTS = ("80", "443", "8000-8999")
PUBLIC_ONLY = AddressPolicy.from_rules(allow=(), ports=PORTS)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "11.0.0.1",
        "168.63.129.15",
        "168.63.129.17",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.31.196.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2003::1",
        "3ff0::1",
        "::ffff:1.1.1.1",
    ],
)
def test_public_unicast_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.0",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.9",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3ffe::1",
        "3fff::1",
        "3fff:fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2606:4700::1111%eth0",
    ],
)
def test_all_other_addresses_are_not(address: str) -> None:
    assert not is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_its_ipv4_address(address: IPv4Address) -> None:
    mapped = IPv6Address(f"::ffff:{address}")
    policy = AddressPolicy.from_rules(allow=["10.0.0.0/8"], ports=PORTS)
    assert is_public(mapped) == is_public(address)
    assert policy.permits(mapped, 80) == policy.permits(address, 80)


@given(st.ip_addresses(v=6))
def test_no_ipv6_address_outside_global_unicast_is_public(address: IPv6Address) -> None:
    if address.ipv4_mapped is None and int(address) >> 125 != 1:
        assert not is_public(address)


@given(st.ip_addresses())
def test_what_python_calls_private_or_multicast_is_never_public(
    address: IPv4Address | IPv6Address,
) -> None:
    meant = unmapped(address)
    if meant.is_private or meant.is_multicast or meant.is_loopback or meant.is_reserved:
        assert not is_public(address)


@pytest.mark.parametrize(
    ("port", "is_permitted"),
    [
        (80, True),
        (443, True),
        (8000, True),
        (8999, True),
        (22, False),
        (7999, False),
        (9000, False),
    ],
)
def test_only_the_configured_ports_are_permitted(port: int, is_permitted: bool) -> None:
    assert PUBLIC_ONLY.permits(IPv4Address("1.1.1.1"), port) is is_permitted


def test_no_rule_permits_port_0() -> None:
    policy = AddressPolicy.from_rules(allow=["10.0.0.0/8"], ports=PORTS)
    assert not policy.may_permit(0)
    assert not policy.permits(IPv4Address("10.1.2.3"), 0)
    assert not policy.permits(IPv4Address("1.1.1.1"), 0)


def test_a_network_rule_permits_its_addresses_on_every_port_and_no_others() -> None:
    policy = AddressPolicy.from_rules(allow=["10.1.0.0/16", "fd00::/8"], ports=PORTS)
    assert policy.permits(IPv4Address("10.1.2.3"), 22)
    assert policy.permits(IPv6Address("fd00::1"), 5432)
    assert not policy.permits(IPv4Address("10.2.0.1"), 80)
    assert not policy.permits(IPv6Address("fe80::1"), 80)


def test_a_pair_rule_names_one_host_on_one_port() -> None:
    policy = AddressPolicy.from_rules(
        allow=["Intranet.Corp:443", "127.0.0.1:80", "[0:0::1]:8080"], ports=PORTS
    )
    assert policy.pairs == {
        Target("intranet.corp", 443),
        Target("127.0.0.1", 80),
        Target("::1", 8080),
    }
    assert policy.names(Target("intranet.corp", 443))
    assert not policy.names(Target("intranet.corp", 80))
    assert not policy.names(Target("www.intranet.corp", 443))
    assert not policy.permits(IPv4Address("127.0.0.1"), 80)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "example.com",
        "10.0.0.1",
        "::1:8080",
        "[::1]",
        "example.com:",
        ":80",
        "example.com:0",
        "example.com:65536",
        "example.com:+80",
        "example.com:٨٠",
        "user@example.com:80",
        "exa mple.com:80",
        "example.com?:80",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "http://example.com:80",
        "example.com/8",
        "::ffff:10.0.0.0/104",
    ],
)
def test_a_bad_allow_rule_is_named_in_the_error(rule: str) -> None:
    with pytest.raises(ValueError, match=r"egress\.allow") as caught:
        AddressPolicy.from_rules(allow=[rule], ports=PORTS)
    assert repr(rule) in str(caught.value)


@pytest.mark.parametrize("rule", ["", "0", "80-", "-80", "90-80", "http", "1-2-3", "70000", " 80"])
def test_a_bad_port_rule_is_named_in_the_error(rule: str) -> None:
    with pytest.raises(ValueError, match=r"egress\.ports") as caught:
        AddressPolicy.from_rules(allow=(), ports=[rule])
    assert repr(rule) in str(caught.value)


def test_the_networks_of_a_policy_are_those_of_its_rules() -> None:
    policy = AddressPolicy.from_rules(allow=["10.0.0.0/8"], ports=["80"])
    assert policy.networks == (IPv4Network("10.0.0.0/8"),)
    assert policy.ports == (range(80, 81),)


PUBLIC, OTHER_PUBLIC, PRIVATE = "93.184.216.34", "1.1.1.1", "10.20.30.40"


def make_guard(
    *allow: str, answers: dict[str, list[list[str]]] | None = None
) -> tuple[Guard, MemoryResolver]:
    resolver = MemoryResolver(answers or {})
    policy = AddressPolicy.from_rules(allow=allow, ports=["80", "443"])
    return Guard(policy, resolver), resolver


async def test_all_answers_of_a_public_host_are_pinned_in_order() -> None:
    guard, _ = make_guard(answers={"site.example": [[PUBLIC, OTHER_PUBLIC]]})
    assert await guard.pin("site.example", 443) == [ip_address(PUBLIC), ip_address(OTHER_PUBLIC)]


async def test_a_literal_address_is_not_resolved() -> None:
    guard, resolver = make_guard()
    assert await guard.pin(PUBLIC, 80) == [ip_address(PUBLIC)]
    assert resolver.lookups == []


@pytest.mark.parametrize("answer", [[PUBLIC, PRIVATE], [PRIVATE, PUBLIC], ["::ffff:10.0.0.1"]])
async def test_one_private_answer_blocks_the_host(answer: list[str]) -> None:
    guard, _ = make_guard(answers={"site.example": [answer]})
    with pytest.raises(EgressBlocked):
        await guard.pin("site.example", 80)


async def test_a_block_tells_what_was_asked_and_what_to_do_but_not_the_address() -> None:
    guard, _ = make_guard(answers={"site.example": [[PRIVATE]]})
    with pytest.raises(EgressBlocked) as caught:
        await guard.pin("site.example", 8080)
    assert "site.example:8080" in caught.value.message
    assert "CINDER_EGRESS__ALLOW" in caught.value.message
    assert PRIVATE not in caught.value.message


async def test_a_block_reads_the_same_for_a_private_address_and_for_a_port() -> None:
    guard, _ = make_guard(answers={"site.example": [[PRIVATE], [PUBLIC]]})
    messages = []
    for _ in range(2):
        with pytest.raises(EgressBlocked) as caught:
            await guard.pin("site.example", 22)
        messages.append(caught.value.message)
    assert messages[0] == messages[1]


async def test_a_pair_rule_allows_its_host_wherever_it_resolves_to() -> None:
    guard, _ = make_guard("intranet.corp:9000", answers={"intranet.corp": [[PRIVATE]]})
    assert await guard.pin("Intranet.Corp", 9000) == [ip_address(PRIVATE)]
    with pytest.raises(EgressBlocked):
        await guard.pin("intranet.corp", 80)


async def test_a_pair_rule_for_an_address_does_not_allow_names_that_resolve_to_it() -> None:
    guard, _ = make_guard(f"{PRIVATE}:80", answers={"evil.example": [[PRIVATE]]})
    assert await guard.pin(PRIVATE, 80) == [ip_address(PRIVATE)]
    with pytest.raises(EgressBlocked):
        await guard.pin("evil.example", 80)


async def test_a_mapped_answer_is_pinned_as_ipv4() -> None:
    guard, _ = make_guard(answers={"site.example": [[f"::ffff:{PUBLIC}"]]})
    assert await guard.pin("site.example", 80) == [ip_address(PUBLIC)]


async def test_each_connection_is_judged_by_its_own_lookup() -> None:
    guard, resolver = make_guard(answers={"rebinding.example": [[PUBLIC], [PRIVATE]]})
    assert await guard.pin("rebinding.example", 80) == [ip_address(PUBLIC)]
    with pytest.raises(EgressBlocked):
        await guard.pin("rebinding.example", 80)
    assert resolver.lookups == ["rebinding.example"] * 2


async def test_of_many_answers_all_are_judged_and_few_are_tried() -> None:
    many = [str(ip_address(PUBLIC) + i) for i in range(200)]
    guard, _ = make_guard(answers={"many.example": [many], "mixed.example": [[*many, PRIVATE]]})
    assert await guard.pin("many.example", 80) == [ip_address(PUBLIC) + i for i in range(8)]
    with pytest.raises(EgressBlocked):
        await guard.pin("mixed.example", 80)


async def test_a_name_with_more_answers_than_are_judged_is_blocked() -> None:
    flood = [str(ip_address(PUBLIC) + i) for i in range(4096)]
    guard, _ = make_guard(answers={"flood.example": [flood]})
    with pytest.raises(EgressBlocked):
        await guard.pin("flood.example", 80)


async def test_a_name_is_not_looked_up_for_a_port_that_is_never_allowed() -> None:
    guard, resolver = make_guard(answers={"site.example": [[PUBLIC]]})
    with pytest.raises(EgressBlocked):
        await guard.pin("site.example", 25)
    assert resolver.lookups == []


async def test_an_allowed_network_has_every_port_so_that_names_are_looked_up() -> None:
    guard, _ = make_guard(
        "10.0.0.0/8", answers={"db.corp": [[PRIVATE]], "site.example": [[PUBLIC]]}
    )
    assert await guard.pin("db.corp", 25) == [ip_address(PRIVATE)]
    with pytest.raises(EgressBlocked):
        await guard.pin("site.example", 25)


async def test_a_name_that_does_not_resolve_is_a_dns_failure() -> None:
    guard, _ = make_guard()
    with pytest.raises(DnsFailed):
        await guard.pin("nowhere.example", 80)


async def test_every_decision_is_logged_without_addresses() -> None:
    guard, _ = make_guard(answers={"site.example": [[PUBLIC], [PRIVATE]]})
    with capture_logs() as logs:
        await guard.pin("site.example", 80)
        with pytest.raises(EgressBlocked):
            await guard.pin("site.example", 80)
        with pytest.raises(DnsFailed):
            await guard.pin("nowhere.example", 443)
    about = {"event": "egress", "host": "site.example", "port": 80}
    assert logs == [
        about | {"decision": "allowed", "log_level": "info"},
        about | {"decision": "blocked", "log_level": "info"},
        {
            "event": "egress",
            "host": "nowhere.example",
            "port": 443,
            "decision": "unresolved",
            "log_level": "info",
        },
    ]
