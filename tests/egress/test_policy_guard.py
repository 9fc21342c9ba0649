"""tests.egress.test_policy_guard"""

from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from cinder.egress import AddressPolicy, Guard
from cinder.errors import DnsFailed, EgressBlocked
from tests.egress.memory import MemoryResolver

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
