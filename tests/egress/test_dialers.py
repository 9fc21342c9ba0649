import asyncio
import socket
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from ipaddress import IPv4Address

import pytest
from structlog.testing import capture_logs

from cinder.egress.base import ProxyRefusal, RefusalCode, RequestRefused, Target
from cinder.egress.credentials import Route
from cinder.egress.dialers import DirectDialer, Upstream
from cinder.egress.proxy import ProxyLimits
from tests.egress.loopback import (
    CONNECTED,
    DECLINED,
    WAIT_SECONDS,
    OpenProxy,
    Origin,
    Reader,
    Writer,
    acting_as_proxy,
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


def through(
    upstream: Origin, *allow: str, answers: dict[str, list[list[str]]] | None = None
) -> AbstractAsyncContextManager[OpenProxy]:
    configured = Upstream(server=upstream.url, username="user", password="secret")
    return open_proxy(*allow, answers=answers, upstream=configured)


async def test_a_plain_request_leaves_through_the_upstream_proxy_to_the_pinned_address() -> None:
    async with (
        open_origin(answering(answer_of(b"far"))) as origin,
        open_origin(acting_as_proxy()) as upstream,
        through(upstream, "127.0.0.1/32", answers={"site.example": [["127.0.0.1"]]}) as proxy,
    ):
        head = request_head(proxy, f"GET http://site.example:{origin.port}/page")
        received = await ask(proxy, head)
    assert received.endswith(b"far")
    assert upstream.heads[0].split(b"\r\n") == [
        b"CONNECT 127.0.0.1:%d HTTP/1.1" % origin.port,
        b"Host: 127.0.0.1:%d" % origin.port,
        b"Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=",
        b"",
        b"",
    ]
    assert origin.heads[0].startswith(b"GET /page HTTP/1.1\r\nHost: site.example:")
    assert b"proxy-" not in origin.heads[0].lower()


async def test_a_tunnel_through_the_upstream_proxy_loses_no_byte() -> None:
    async def greet_back(origin: Origin, reader: Reader, writer: Writer) -> None:
        writer.write(b"got " + await reader.readexactly(5))

    async with (
        open_origin(greet_back) as origin,
        open_origin(acting_as_proxy(sent_along=b"early ")) as upstream,
        through(upstream, origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        assert await open_tunnel(proxy, origin.pair, reader, writer) == CONNECTED
        writer.write(b"hello")
        assert await reader.read(-1) == b"early got hello"


async def test_what_the_guard_refuses_never_reaches_the_upstream_proxy() -> None:
    async with open_origin(acting_as_proxy()) as upstream, through(upstream) as proxy:
        received = await ask(proxy, request_head(proxy, f"CONNECT {upstream.pair}"))
    assert status_of(received) == 403
    assert proxy.refusal_code(upstream.pair) is RefusalCode.EGRESS_BLOCKED
    assert upstream.connections == 0


async def test_a_direct_pass_and_a_bypassed_host_leave_without_the_upstream_proxy() -> None:
    async with (
        open_origin(answering(answer_of(b"near"))) as origin,
        open_origin(acting_as_proxy()) as upstream,
        open_proxy(
            "127.0.0.1/32",
            answers={"inner.example": [["127.0.0.1"]]},
            upstream=Upstream(server=upstream.url, bypass=("inner.example",)),
        ) as proxy,
    ):
        direct = proxy.with_credentials(proxy.proxy.issue_credentials(route=Route.DIRECT))
        assert (await ask(direct, request_head(direct, f"GET {origin.url}"))).endswith(b"near")
        head = request_head(proxy, f"GET http://inner.example:{origin.port}/")
        assert (await ask(proxy, head)).endswith(b"near")
    assert upstream.connections == 0


async def test_an_address_that_the_upstream_proxy_cannot_reach_is_followed_by_the_next() -> None:
    async with (
        open_origin(answering(answer_of(b"far"))) as origin,
        open_origin(acting_as_proxy(declined=frozenset({"127.0.0.2"}))) as upstream,
        through(
            upstream, "127.0.0.0/8", answers={"site.example": [["127.0.0.2", "127.0.0.1"]]}
        ) as proxy,
    ):
        head = request_head(proxy, f"GET http://site.example:{origin.port}/")
        assert (await ask(proxy, head)).endswith(b"far")
    assert upstream.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        DECLINED,
        b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 500_000,
        b"",
    ],
)
async def test_an_upstream_proxy_that_declines_is_named_by_its_setting_and_in_the_log(
    answer: bytes,
) -> None:
    with capture_logs() as log:
        refusal, upstream = await _declined_with(answer)
    (line,) = [line for line in log if line["event"] == "the upstream proxy made no connection"]
    assert "CINDER_BROWSER__PROXY_SERVER" in refusal.message
    assert str(upstream.port) not in refusal.message
    assert (line["upstream"], line["reason"]) == (upstream.pair, refusal.message)
    assert line["log_level"] == ("info" if answer is DECLINED else "warning")
    assert "secret" not in str(log)


async def _declined_with(answer: bytes) -> tuple[ProxyRefusal, Origin]:
    async with (
        open_origin(answering(answer)) as upstream,
        through(upstream, "127.0.0.1:9") as proxy,
    ):
        received = await ask(proxy, request_head(proxy, "CONNECT 127.0.0.1:9"))
    refusal = proxy.holder.refusal_for("127.0.0.1", 9)
    assert refusal
    assert (status_of(received), refusal.code) == (424, RefusalCode.CONNECT_FAILED)
    return refusal, upstream


async def test_an_upstream_proxy_that_is_not_there_is_a_failed_connection() -> None:
    async with open_origin(acting_as_proxy()) as closed:
        pass
    with capture_logs() as log:
        async with through(closed, "127.0.0.1:9") as proxy:
            await ask(proxy, request_head(proxy, "GET http://127.0.0.1:9/"))
    refusal = proxy.holder.refusal_for("127.0.0.1", 9)
    assert refusal
    assert refusal.code is RefusalCode.CONNECT_FAILED
    assert "CINDER_BROWSER__PROXY_SERVER" in refusal.message
    assert str(closed.port) not in refusal.message
    assert closed.pair in [line.get("upstream") for line in log]


async def test_an_upstream_proxy_is_resolved_and_not_judged() -> None:
    names = {"proxy.inner": [["127.0.0.1"]]}
    async with (
        open_origin(answering(answer_of(b"far")), host="127.0.0.2") as origin,
        open_origin(acting_as_proxy()) as upstream,
        open_proxy(
            f"127.0.0.2:{origin.port}",
            answers=names,
            upstream=Upstream(server=f"http://proxy.inner:{upstream.port}"),
        ) as proxy,
    ):
        received = await ask(proxy, request_head(proxy, f"GET http://127.0.0.2:{origin.port}/"))
    assert received.endswith(b"far")
    assert b"Proxy-Authorization" not in upstream.heads[0]


async def test_an_upstream_proxy_without_an_address_is_a_failed_connection() -> None:
    upstream = Upstream(server="http://nowhere.example:3128")
    async with open_proxy("127.0.0.1:9", upstream=upstream) as proxy:
        await ask(proxy, request_head(proxy, "CONNECT 127.0.0.1:9"))
    assert proxy.refusal_code("127.0.0.1:9") is RefusalCode.CONNECT_FAILED


async def test_an_upstream_proxy_that_says_nothing_is_a_timeout_and_is_let_go() -> None:
    async def say_nothing(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.read(-1)

    limits = ProxyLimits(connect_timeout_seconds=0.05)
    async with open_origin(say_nothing) as quiet:
        upstream = Upstream(server=quiet.url)
        async with (
            open_proxy("127.0.0.1:9", limits=limits, upstream=upstream) as proxy,
            asyncio.timeout(WAIT_SECONDS),
        ):
            await ask(proxy, request_head(proxy, "CONNECT 127.0.0.1:9"))
            await quiet.freed.wait()
    assert proxy.refusal_code("127.0.0.1:9") is RefusalCode.CONNECT_TIMEOUT


@pytest.mark.parametrize(
    ("server", "target"),
    [
        ("http://proxy.inner:3128", Target("proxy.inner", 3128)),
        ("HTTP://10.0.0.1:3128/", Target("10.0.0.1", 3128)),
        ("http://[fd00::1]:3128", Target("fd00::1", 3128)),
        ("http://proxy.inner", Target("proxy.inner", 80)),
        ("socks5://Proxy.inner", Target("proxy.inner", 1080)),
        ("socks5://[fd00::1]:9050", Target("fd00::1", 9050)),
    ],
)
def test_a_server_is_read_as_a_target(server: str, target: Target) -> None:
    assert Upstream(server=server).target == target


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("https://proxy:3128", "not https://"),
        ("socks5h://proxy:1080", "not socks5h://"),
        ("proxy:3128", "not proxy://"),
        ("proxy", "http://host:port"),
        ("http://proxy:99999", "http://host:port"),
        ("http://user:secret@proxy:3128", "by their own settings"),
        ("http://proxy:3128/path", "without a path"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_with_the_reason(server: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"browser\.proxy-server") as caught:
        Upstream(server=server)
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_user_name_with_a_colon_is_refused() -> None:
    with pytest.raises(ValueError, match="colon"):
        Upstream(server="http://proxy:3128", username="a:b")


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(Upstream(server="http://p:1", username="u", password="secret"))


@pytest.mark.parametrize(
    ("host", "is_bypassed"),
    [
        ("inner.example", True),
        ("a.wide.example", True),
        ("wide.example", False),
        ("notwide.example", False),
        ("a.inner.example", False),
    ],
)
def test_hosts_are_bypassed_by_name_or_suffix(host: str, is_bypassed: bool) -> None:
    upstream = Upstream(server="http://p:1", bypass=("Inner.example", ".wide.example"))
    assert upstream.is_bypassed_for(host) is is_bypassed


FIRST, SECOND = IPv4Address("127.0.0.1"), IPv4Address("127.0.0.2")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port of the first address on which connections neither open nor fail."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((str(FIRST), 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.settimeout(0)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def test_an_address_that_refuses_is_followed_by_the_next() -> None:
    async with open_origin(echo, host=str(SECOND)) as origin:
        target = Target("site.example", origin.port)
        stream = await DirectDialer(timeout_seconds=30).dial(target, [FIRST, SECOND])
        await stream.write(b"hello")
        assert await stream.read() == b"hello"
        await stream.close()


async def test_an_address_that_does_not_answer_leaves_time_for_the_next(silent_port: int) -> None:
    async with open_origin(echo, host=str(SECOND), port=silent_port):
        target = Target("site.example", silent_port)
        stream = await DirectDialer(timeout_seconds=2).dial(target, [FIRST, SECOND])
        await stream.close()


async def test_no_answer_at_all_is_a_timeout(silent_port: int) -> None:
    with pytest.raises(RequestRefused) as caught:
        await DirectDialer(timeout_seconds=0.05).dial(Target("site.example", silent_port), [FIRST])
    assert caught.value.refusal.code is RefusalCode.CONNECT_TIMEOUT


async def test_a_failure_names_the_host_and_not_its_address() -> None:
    async with open_origin(echo) as closed:
        pass
    with pytest.raises(RequestRefused) as caught:
        await DirectDialer(timeout_seconds=30).dial(Target("site.example", closed.port), [FIRST])
    assert caught.value.refusal.code is RefusalCode.CONNECT_FAILED
    assert f"site.example:{closed.port}" in caught.value.refusal.message
    assert str(FIRST) not in caught.value.refusal.message
