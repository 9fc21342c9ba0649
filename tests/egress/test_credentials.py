import asyncio
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.egress.base import ProxyRefusal, RefusalCode, Target
from cinder.egress.credentials import (
    BasicCredentials,
    CredentialsRegistry,
    ProxyCredentials,
    Route,
    read_authorization,
)
from cinder.egress.proxy import ProxyLimits
from tests.egress.loopback import (
    WAIT_SECONDS,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    ask,
    echo,
    open_connection,
    open_origin,
    open_proxy,
    open_tunnel,
    request_head,
    status_of,
)


def make_office(max_refusals: int = 100) -> CredentialsRegistry:
    return CredentialsRegistry(max_refusals=max_refusals)


def issue(office: CredentialsRegistry) -> ProxyCredentials:
    return office.issue(route=Route.DIRECT, max_connections=None)


def test_a_pass_is_found_by_its_own_credentials_only() -> None:
    office = make_office()
    first, second = issue(office), issue(office)
    mixed = f"{first.credentials.user}:{second.credentials.password}"
    assert office.find(first.credentials.to_header()) is first
    assert office.find(second.credentials.to_header()) is second
    assert office.find(b"Basic " + b64encode(mixed.encode())) is None


@given(st.binary())
def test_no_other_bytes_find_a_pass(value: bytes) -> None:
    office = make_office()
    user = issue(office).credentials.user.encode()
    assert office.find(value) is None
    assert office.find(b"Basic " + b64encode(value)) is None
    assert office.find(b"Basic " + b64encode(user + b":" + value)) is None


def test_a_revoked_pass_is_not_found() -> None:
    office = make_office()
    with issue(office) as revoked:
        kept = issue(office)
    revoked.revoke()
    assert office.find(revoked.credentials.to_header()) is None
    assert office.find(kept.credentials.to_header()) is kept


def test_the_last_refusals_are_kept_by_target() -> None:
    holder = issue(make_office(max_refusals=2))
    blocked = ProxyRefusal(RefusalCode.EGRESS_BLOCKED, "blocked")
    lost = ProxyRefusal(RefusalCode.CONNECTION_LOST, "lost")
    for host, refusal in [("a", blocked), ("b", blocked), ("a", lost), ("c", lost)]:
        holder.record(Target(host, 80), refusal)
    assert [holder.refusal_for(host, 80) for host in ("A", "b", "c")] == [lost, None, lost]
    assert holder.refusal_for("a", 443) is None


def test_the_last_refusal_by_the_policy_is_told() -> None:
    holder = issue(make_office())
    assert holder.last_blocked is None
    first, second = (ProxyRefusal(RefusalCode.EGRESS_BLOCKED, each) for each in "12")
    lost = ProxyRefusal(RefusalCode.CONNECTION_LOST, "lost")
    for host, refusal in [("b", first), ("a", second), ("c", lost)]:
        holder.record(Target(host, 80), refusal)
    assert holder.last_blocked is second


async def test_refusals_are_kept_apart_by_pass() -> None:
    async with open_proxy() as proxy:
        other = proxy.with_credentials(proxy.proxy.issue_credentials())
        await ask(proxy, request_head(proxy, "CONNECT 127.0.0.1:9"))
        await ask(other, request_head(other, "GET http://127.0.0.2:9/"))
    assert proxy.refusal_code("127.0.0.1:9") is RefusalCode.EGRESS_BLOCKED
    assert other.refusal_code("127.0.0.2:9") is RefusalCode.EGRESS_BLOCKED
    assert other.refusal_code("127.0.0.1:9") is None
    assert proxy.refusal_code("127.0.0.2:9") is None


async def test_signing_in_is_answered_by_the_proxy_itself() -> None:
    async with open_proxy() as proxy:
        other = proxy.with_credentials(proxy.proxy.issue_credentials())
        head = request_head(proxy, f"GET {proxy.holder.proxy_auth_url}")
        foreign = request_head(other, f"GET {proxy.holder.proxy_auth_url}")
        assert await ask(proxy, head) == b"HTTP/1.1 204 \r\nConnection: close\r\n\r\n"
        assert await ask(proxy, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % head.split()[1])
        assert await ask(other, foreign) == b""


async def test_a_revoked_pass_is_no_longer_admitted() -> None:
    async with (
        open_origin(answering(answer_of(b"ok"))) as origin,
        open_proxy(origin.pair) as proxy,
    ):
        head = request_head(proxy, f"GET {origin.url}")
        assert status_of(await ask(proxy, head)) == 200
        proxy.holder.revoke()
        assert status_of(await ask(proxy, head)) == 407


async def test_revoking_closes_the_connections_of_that_pass_and_of_no_other() -> None:
    async def say_nothing(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read(-1)

    asked = asyncio.Event()
    async with (
        open_origin(echo) as tunnelled,
        open_origin(say_nothing) as quiet,
        open_origin(echo) as kept,
        open_proxy("127.0.0.1/32") as proxy,
        open_connection(proxy) as (tunnel_reader, tunnel_writer),
        open_connection(proxy) as (_, plain_writer),
        open_connection(proxy) as (kept_reader, kept_writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        other = proxy.with_credentials(proxy.proxy.issue_credentials())
        await open_tunnel(proxy, tunnelled.pair, tunnel_reader, tunnel_writer)
        await open_tunnel(other, kept.pair, kept_reader, kept_writer)
        plain_writer.write(request_head(proxy, f"GET {quiet.url}"))
        await asked.wait()
        proxy.holder.revoke()
        await tunnelled.freed.wait()
        await quiet.freed.wait()
        kept_writer.write(b"alive")
        assert await kept_reader.readexactly(5) == b"alive"


async def test_a_pass_that_has_all_its_connections_leaves_the_others_theirs() -> None:
    limits = ProxyLimits(slot_timeout_seconds=0.05)
    async with (
        open_origin(echo) as held,
        open_proxy(held.pair, limits=limits) as proxy,
        open_connection(proxy) as (reader, writer),
        open_connection(proxy) as (other_reader, other_writer),
    ):
        narrow = proxy.with_credentials(proxy.proxy.issue_credentials(max_connections=1))
        await open_tunnel(narrow, held.pair, reader, writer)
        received = await ask(narrow, request_head(narrow, f"CONNECT {held.pair}"))
        answer = await open_tunnel(proxy, held.pair, other_reader, other_writer)
    assert [status_of(received), status_of(answer)] == [503, 200]
    assert narrow.refusal_code(held.pair) is RefusalCode.OVERLOADED


async def test_a_pass_that_has_all_its_connections_waits_for_one_to_end() -> None:
    async with (
        open_origin(echo) as held,
        open_origin(answering(answer_of(b"ok"))) as origin,
        open_proxy(held.pair, origin.pair) as proxy,
        asyncio.timeout(WAIT_SECONDS),
        asyncio.TaskGroup() as tasks,
    ):
        narrow = proxy.with_credentials(proxy.proxy.issue_credentials(max_connections=1))
        async with open_connection(narrow) as (reader, writer):
            await open_tunnel(narrow, held.pair, reader, writer)
            waiting = tasks.create_task(ask(narrow, request_head(narrow, f"GET {origin.url}")))
            writer.write(b"x")
            await reader.readexactly(1)
            assert origin.connections == 0
        assert status_of(await waiting) == 200


async def test_what_a_pass_also_allows_is_open_to_its_holder_alone() -> None:
    async with (
        open_origin(answering(answer_of(b"ok"))) as named,
        open_origin(answering(answer_of(b"ok"))) as other,
        open_proxy(answers={"named.test": [["127.0.0.1"]]}) as proxy,
    ):
        targets = (Target("127.0.0.1", named.port), Target("named.test", named.port))
        also = proxy.with_credentials(
            proxy.proxy.issue_credentials(also_allowed=frozenset(targets))
        )
        allowed = [
            status_of(await ask(also, request_head(also, f"GET http://{target}/")))
            for target in targets
        ]
        refused = [
            await ask(holder, request_head(holder, f"GET http://{pair}/"))
            for holder, pair in [
                (also, other.pair),
                (also, f"named.test:{other.port}"),
                (proxy, named.pair),
                (proxy, f"named.test:{named.port}"),
            ]
        ]
    assert (allowed, refused) == ([200, 200], [b""] * 4)
    assert also.refusal_code(other.pair) is RefusalCode.EGRESS_BLOCKED
    assert proxy.refusal_code(named.pair) is RefusalCode.EGRESS_BLOCKED
    assert other.connections == 0


def test_credentials_survive_the_header() -> None:
    credentials = BasicCredentials("nåme", "pass:wörd")
    shown = read_authorization(credentials.to_header())
    assert shown == ("nåme".encode(), "pass:wörd".encode())
    assert credentials.has_password(shown[1])


@pytest.mark.parametrize("scheme", [b"Basic ", b"bAsIc  "])
def test_the_scheme_is_read_in_any_case(scheme: bytes) -> None:
    assert read_authorization(scheme + b64encode(b"a:b")) == (b"a", b"b")


@pytest.mark.parametrize("value", [b"", b"Basic", b"Bearer YTpi", b"Basic \xff\xfe", b"Basic Y"])
def test_what_is_no_authorization_is_none(value: bytes) -> None:
    assert not any(read_authorization(value) or ())


@given(st.binary())
def test_any_bytes_can_be_shown(value: bytes) -> None:
    read_authorization(value)
    read_authorization(b"Basic " + value)
    assert read_authorization(b"Basic " + b64encode(value))
    assert not BasicCredentials("cinder", "pass:word").has_password(value)


def test_generated_credentials_are_a_pair_and_differ() -> None:
    first, second = BasicCredentials.generate(), BasicCredentials.generate()
    assert not {*first} & {*second}
    assert first.user.isalnum()
