import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from cinder.egress.base import RefusalCode, RequestRefused
from cinder.egress.credentials import Route
from cinder.egress.dialers import DirectDialer, Upstream, UpstreamDialer
from cinder.egress.policy import AddressPolicy, Guard
from cinder.egress.pools import PoolExit, PoolOptions, PoolSetup, ProxyPool, Rotation
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from cinder.errors import CinderError
from tests.egress.loopback import (
    OpenProxy,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    ask,
    open_origin,
    request_head,
    status_of,
)
from tests.egress.memory import MemoryResolver
from tests.egress.relay_proxies import RelayProxy, open_relays, three_relays


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def upstream_of(url: str, number: int = 1) -> Upstream:
    return Upstream.from_url(
        url, name=f"proxy {number} of the pool 'eu' (egress.proxy-pools.eu)", setting="proxy"
    )


def make_pool(
    count: int, rotation: Rotation = Rotation.REQUEST, clock: Callable[[], float] | None = None
) -> ProxyPool:
    """A pool of proxies that nothing connects to."""
    guard = Guard(AddressPolicy.from_rules(allow=(), ports=()), MemoryResolver({}))
    dialers = [
        UpstreamDialer(
            upstream_of(f"http://127.0.0.1:{number}"),
            guard.resolve,
            bypass_dialer=DirectDialer(timeout_seconds=1),
            timeout_seconds=1,
            max_head_bytes=1024,
        )
        for number in range(1, count + 1)
    ]
    return ProxyPool("eu", dialers, PoolOptions(rotation=rotation), clock or Clock())


HOSTS = [f"host{number}.example" for number in range(60)]


def test_requests_take_turns() -> None:
    pool = make_pool(3)
    assert [pool.choose("site.example").number for _ in range(7)] == [1, 2, 3, 1, 2, 3, 1]


@pytest.mark.parametrize("rotation", [Rotation.HOST, Rotation.BLOCKED])
def test_a_host_keeps_its_proxy_in_every_process_and_hosts_are_spread(rotation: Rotation) -> None:
    pool, other = make_pool(3, rotation), make_pool(3, rotation)
    chosen = [pool.choose(host).number for host in HOSTS]
    assert chosen == [pool.choose(host).number for host in HOSTS]
    assert chosen == [other.choose(host).number for host in HOSTS]
    assert set(chosen) == {1, 2, 3}


def test_hosts_of_a_proxy_that_is_down_move_and_come_back_and_others_stay() -> None:
    clock = Clock()
    pool = make_pool(3, Rotation.HOST, clock)
    before = [pool.choose(host) for host in HOSTS]
    pool.note_failure(before[0], "it is gone")
    during = [pool.choose(host) for host in HOSTS]
    assert before[0] not in during
    assert all(new is old for new, old in zip(during, before, strict=True) if old is not before[0])
    clock.now += 1
    assert [pool.choose(host) for host in HOSTS] == before


def test_the_back_off_doubles_up_to_a_limit_and_ends_with_a_success() -> None:
    clock = Clock()
    pool = make_pool(1, clock=clock)
    proxy = pool.choose("")
    waits = []
    for _ in range(8):
        pool.note_failure(proxy, "it is gone")
        pool.note_failure(proxy, "a connection that was made at the same time")
        waits.append(proxy.down_until - clock.now)
        clock.now = proxy.down_until
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    pool.note_success(proxy)
    pool.note_failure(proxy, "it is gone again")
    assert proxy.down_until - clock.now == 1


def test_without_a_working_proxy_the_error_names_the_pool_and_what_to_do() -> None:
    clock = Clock()
    pool = make_pool(2, clock=clock)
    for _ in range(2):
        pool.note_failure(pool.choose(""), "it is gone")
    with pytest.raises(RequestRefused) as caught:
        pool.choose("site.example")
    message = caught.value.refusal.message
    assert "pool 'eu'" in message
    assert "all 2 are down" in message
    assert "cinder doctor" in message
    assert "127.0.0.1" not in message


def test_only_a_blocked_page_changes_the_proxy_of_its_host() -> None:
    pool = make_pool(3, Rotation.BLOCKED)
    first = pool.choose("site.example")
    others = [pool.choose(host) for host in HOSTS]
    assert pool.rotate("site.example", first.number)
    second = pool.choose("site.example")
    # A page that was under way when the proxy was changed changes it no further.
    assert pool.rotate("site.example", first.number)
    assert pool.choose("site.example") is second
    assert pool.rotate("site.example", second.number)
    third = pool.choose("site.example")
    assert {first.number, second.number, third.number} == {1, 2, 3}
    assert pool.rotate("site.example", third.number)
    assert pool.choose("site.example") is first
    assert [pool.choose(host) for host in HOSTS] == others


def test_a_blocked_page_has_no_other_proxy_where_the_others_are_down() -> None:
    pool = make_pool(2, Rotation.BLOCKED)
    first = pool.choose("site.example")
    pool.rotate("site.example", first.number)
    pool.note_failure(pool.choose("site.example"), "it is gone")
    assert not pool.rotate("site.example", first.number)
    assert not make_pool(3, Rotation.HOST).rotate("site.example", 1)


def test_a_proxy_is_not_down_for_targets_that_get_no_answer_unless_there_are_many() -> None:
    pool = make_pool(2)
    proxy = pool.choose("")
    assert not pool.note_doubt(proxy, "no answer")
    assert not pool.note_doubt(proxy, "no answer")
    pool.note_success(proxy)
    assert [pool.note_doubt(proxy, "no answer") for _ in range(3)] == [False, False, True]


# Over real proxies


@dataclass
class Through:
    """A forward proxy with a pool, and a client that leaves through it."""

    proxy: OpenProxy
    pool: ProxyPool
    clock: Clock = field(default_factory=Clock)

    async def get(self, url: str) -> bytes:
        self.proxy.holder.exit = PoolExit(self.pool, "site.example")
        return await ask(self.proxy, request_head(self.proxy, f"GET {url}"))


@asynccontextmanager
async def through(
    relays: Sequence[RelayProxy],
    *allow: str,
    rotation: Rotation = Rotation.REQUEST,
    urls: Sequence[str] = (),
    limits: ProxyLimits | None = None,
) -> AsyncIterator[Through]:
    policy = AddressPolicy.from_rules(allow=allow, ports=("80", "443"))
    guard = Guard(policy, MemoryResolver({"site.example": [["127.0.0.1"]]}))
    named = urls or [relay.url for relay in relays]
    proxies = tuple(upstream_of(url, number) for number, url in enumerate(named, 1))
    clock = Clock()
    setup = PoolSetup(proxies=proxies, options=PoolOptions(rotation=rotation), clock=clock)
    async with ForwardProxy(guard, limits, pools={"eu": setup}) as proxy:
        opened = OpenProxy(proxy, proxy.issue_credentials(route=Route.POOL))
        yield Through(opened, proxy.pools["eu"], clock)


async def test_each_kind_of_proxy_is_asked_for_the_pinned_address_with_its_credentials() -> None:
    async with (
        open_relays(*three_relays()) as relays,
        open_origin(answering(answer_of(b"far"))) as origin,
        through(relays, "127.0.0.1/32") as client,
    ):
        for _ in relays:
            answer = await client.get(f"http://site.example:{origin.port}/page")
            assert answer.endswith(b"far")
    assert [relay.relayed for relay in relays] == [[origin.pair]] * 3
    assert [relay.unauthorized for relay in relays] == [0, 0, 0]
    assert all(b"Host: site.example:" in head for head in origin.heads)
    assert b"proxy-" not in b"".join(origin.heads).lower()


async def test_what_the_guard_refuses_is_asked_of_no_proxy() -> None:
    async with (
        open_relays(*three_relays()) as relays,
        open_origin(answering(answer_of(b"inner"))) as canary,
        through(relays) as client,
    ):
        for url in (canary.url, f"http://site.example:{canary.port}/"):
            assert await client.get(url) == b""
        assert client.proxy.refusal_code(canary.pair) is RefusalCode.EGRESS_BLOCKED
    assert canary.connections == 0
    assert [relay.relayed for relay in relays] == [[], [], []]


async def test_a_proxy_that_is_gone_is_skipped_and_comes_back() -> None:
    async with (
        open_relays(*three_relays()) as relays,
        open_origin(answering(answer_of(b"far"))) as origin,
        through(relays, origin.pair) as client,
    ):
        await relays[0].stop()
        for _ in range(4):
            assert (await client.get(origin.url)).endswith(b"far")
        assert [len(relay.relayed) for relay in relays] == [0, 2, 2]
        await relays[0].start()
        client.clock.now += 1
        for _ in range(3):
            assert (await client.get(origin.url)).endswith(b"far")
        assert [len(relay.relayed) for relay in relays] == [1, 3, 3]


async def test_when_all_proxies_are_gone_the_refusal_names_the_pool_until_one_is_back() -> None:
    async with (
        open_relays(*three_relays()) as relays,
        open_origin(answering(answer_of(b"far"))) as origin,
        through(relays, origin.pair) as client,
    ):
        for relay in relays:
            await relay.stop()
        with capture_logs() as log:
            assert await client.get(origin.url) == b""
        refusal = client.proxy.holder.refusal_for("127.0.0.1", origin.port)
        assert refusal
        assert "pool 'eu'" in refusal.message
        assert not any(str(relay.port) in refusal.message for relay in relays)
        downs = [line for line in log if line["event"] == "a proxy is down"]
        assert [line["upstream"] for line in downs] == [f"127.0.0.1:{r.port}" for r in relays]
        assert not any(r.password in str(log) for r in relays if r.password)
        await relays[1].start()
        client.clock.now += 1
        assert (await client.get(origin.url)).endswith(b"far")
    assert origin.connections == 1


@pytest.mark.parametrize("number", [1, 2])
async def test_a_proxy_that_does_not_take_its_credentials_is_down(number: int) -> None:
    relays = three_relays()
    async with (
        open_relays(*relays),
        open_origin(answering(answer_of(b"far"))) as origin,
    ):
        wrong = relays[number].url.replace("://", "://not-", 1)
        async with through(relays, origin.pair, urls=[wrong, relays[0].url]) as client:
            for _ in range(3):
                assert (await client.get(origin.url)).endswith(b"far")
    assert (relays[number].unauthorized, relays[number].relayed) == (1, [])


async def test_a_target_that_a_proxy_cannot_reach_does_not_make_it_down() -> None:
    async with open_origin(answering(b"")) as closed:
        pass
    async with (
        open_relays(*three_relays()) as relays,
        through(relays, closed.pair) as client,
    ):
        for _ in range(6):
            client.proxy.holder.exit = PoolExit(client.pool, "site.example")
            answer = await ask(client.proxy, request_head(client.proxy, f"CONNECT {closed.pair}"))
            assert status_of(answer) == 424
        assert [client.pool.choose("").failures for _ in relays] == [0, 0, 0]


async def test_a_proxy_that_never_answers_is_down_after_a_few_connections() -> None:
    async def say_nothing(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.read(-1)

    limits = ProxyLimits(connect_timeout_seconds=0.05)
    async with (
        open_origin(say_nothing) as quiet,
        open_origin(answering(answer_of(b"far"))) as origin,
        open_relays(RelayProxy()) as relays,
    ):
        urls = [f"socks5://{quiet.pair}", f"http://{quiet.pair}"]
        for url in urls:
            async with through((), origin.pair, urls=[url], limits=limits) as client:
                for _ in range(3):
                    assert await client.get(origin.url) == b""
                with pytest.raises(RequestRefused, match="all 1 are down"):
                    client.pool.choose("")
        assert relays[0].relayed == []
    assert origin.connections == 0


async def test_a_check_lists_the_proxies_that_cannot_be_used() -> None:
    relays = three_relays()
    async with open_relays(*relays):
        wrong = relays[2].url.replace("://", "://not-", 1)
        async with through((), urls=[relay.url for relay in relays]) as client:
            await client.pool.check()
            await relays[1].stop()
            with pytest.raises(CinderError, match="1 of 3 proxies cannot be used") as caught:
                await client.pool.check()
            assert f"127.0.0.1:{relays[1].port}" in caught.value.message
            assert relays[1].password not in caught.value.message
        async with through((), urls=[wrong]) as client:
            with pytest.raises(CinderError, match="credentials"):
                await client.pool.check()


async def test_a_client_of_a_pool_for_which_no_proxy_was_chosen_goes_nowhere() -> None:
    async with (
        open_relays(RelayProxy()) as relays,
        open_origin(answering(answer_of(b"far"))) as origin,
        through(relays, origin.pair) as client,
        asyncio.timeout(60),
    ):
        answer = await ask(client.proxy, request_head(client.proxy, f"CONNECT {origin.pair}"))
    assert (status_of(answer), origin.connections, relays[0].relayed) == (424, 0, [])
