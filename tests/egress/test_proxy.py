import asyncio
import socket

import pytest
from curl_cffi.requests import RequestsError

from cinder.egress.base import RefusalCode
from cinder.egress.credentials import Route
from cinder.egress.policy import AddressPolicy, Guard
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from tests.egress.loopback import (
    WAIT_SECONDS,
    OpenProxy,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    ask,
    authorization,
    echo,
    open_connection,
    open_origin,
    open_proxy,
    open_session,
    open_tunnel,
    request_head,
    status_of,
)
from tests.egress.memory import MemoryResolver

CANARY = answering(answer_of(b"secret"))


async def test_a_plain_request_to_a_private_address_gets_no_answer_and_no_connection() -> None:
    async with open_origin(CANARY) as canary, open_proxy() as proxy:
        assert await ask(proxy, request_head(proxy, f"GET {canary.url}")) == b""
    assert proxy.refusal_code(canary.pair) is RefusalCode.EGRESS_BLOCKED
    assert canary.connections == 0


async def test_a_tunnel_to_a_private_address_is_declined_unconnected() -> None:
    async with (
        open_origin(CANARY) as canary,
        open_proxy() as proxy,
        open_session(proxy) as session,
    ):
        with pytest.raises(RequestsError) as caught:
            await session.get(f"https://{canary.pair}/")
    # The static engine knows by this code that no tunnel came about.
    assert (caught.value.code, caught.value.response.status_code) == (7, 0)
    assert proxy.refusal_code(canary.pair) is RefusalCode.EGRESS_BLOCKED
    assert canary.connections == 0


async def test_what_the_holder_does_not_want_is_refused_until_it_begins_anew() -> None:
    async with open_origin(CANARY) as origin, open_proxy(origin.pair) as proxy:
        proxy.holder.reset_refusals(is_unwanted=lambda host: host == "127.0.0.1")
        assert await ask(proxy, request_head(proxy, f"GET {origin.url}")) == b""
        assert proxy.refusal_code(origin.pair) is RefusalCode.UNWANTED
        assert origin.connections == 0
        proxy.holder.reset_refusals(is_unwanted=lambda _: False)
        assert proxy.refusal_code(origin.pair) is None
        assert status_of(await ask(proxy, request_head(proxy, f"GET {origin.url}"))) == 200


@pytest.mark.parametrize("start", ["GET http://nowhere.example/", "CONNECT nowhere.example:80"])
async def test_a_name_that_does_not_resolve_is_refused(start: str) -> None:
    async with open_proxy() as proxy:
        await ask(proxy, request_head(proxy, start))
    assert proxy.refusal_code("nowhere.example:80") is RefusalCode.DNS_ERROR


async def test_a_name_that_resolves_to_loopback_is_refused_without_telling_so() -> None:
    async with open_origin(CANARY) as canary:
        names = {"inner.example": [["127.0.0.1"]]}
        async with open_proxy(answers=names) as proxy:
            head = request_head(proxy, f"CONNECT inner.example:{canary.port}")
            received = await ask(proxy, head)
    refusal = proxy.holder.refusal_for("inner.example", canary.port)
    assert refusal
    assert (status_of(received), refusal.code) == (403, RefusalCode.EGRESS_BLOCKED)
    assert "127.0.0.1" not in refusal.message + received.decode()
    assert canary.connections == 0


async def test_each_connection_is_judged_by_the_answer_that_it_uses() -> None:
    async with (
        open_origin(answering(answer_of(b"public"))) as origin,
        open_origin(CANARY, host="127.0.0.2", port=origin.port) as canary,
        open_proxy(
            "127.0.0.1/32", answers={"rebinding.example": [["127.0.0.1"], ["127.0.0.2"]]}
        ) as proxy,
    ):
        head = request_head(proxy, f"GET http://rebinding.example:{origin.port}/")
        answers = [await ask(proxy, head) for _ in range(3)]
    assert answers[0].endswith(b"public")
    assert answers[1:] == [b"", b""]
    assert [origin.connections, canary.connections] == [1, 0]


async def test_a_redirect_to_a_private_address_is_refused() -> None:
    async with open_origin(CANARY) as canary:
        redirect = answer_of(b"", b"Location: " + canary.url.encode(), status=b"302 Found")
        async with (
            open_origin(answering(redirect)) as origin,
            open_proxy(origin.pair) as proxy,
            open_session(proxy) as session,
        ):
            with pytest.raises(RequestsError):
                await session.get(origin.url)
    assert proxy.refusal_code(canary.pair) is RefusalCode.EGRESS_BLOCKED
    assert canary.connections == 0


async def test_the_host_header_cannot_name_another_target() -> None:
    async with (
        open_origin(CANARY) as canary,
        open_origin(answering(answer_of(b"ok"))) as origin,
        open_proxy(origin.pair) as proxy,
    ):
        head = f"GET {origin.url} HTTP/1.1\r\nHost: {canary.pair}\r\n".encode()
        await ask(proxy, head + authorization(proxy) + b"\r\n")
    assert b"Host: " + origin.pair.encode() in origin.heads[0]
    assert canary.connections == 0


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Proxy-Authorization: Basic Y2luZGVyOndyb25n\r\n",
        b"Proxy-Authorization: Basic \xff\xfe\r\n",
        b"Proxy-Authorization: Bearer x\r\n",
    ],
)
@pytest.mark.parametrize("method", ["GET http://{}/", "CONNECT {}"])
async def test_without_the_password_nothing_is_done(header: bytes, method: str) -> None:
    async with open_origin(CANARY) as canary, open_proxy(canary.pair) as proxy:
        start = f"{method.format(canary.pair)} HTTP/1.1\r\nHost: x\r\n".encode()
        received = await ask(proxy, start + header + b"\r\n")
    assert status_of(received) == 407
    assert b"Proxy-Authenticate: Basic" in received
    assert canary.connections == 0


@pytest.mark.parametrize(
    "start",
    [
        "GET https://127.0.0.1/",
        "GET /path",
        "OPTIONS *",
        "GET ftp://127.0.0.1/",
        "GET http://user:password@127.0.0.1/",
        "CONNECT 127.0.0.1",
        "CONNECT http://127.0.0.1:80",
        "CONNECT user@127.0.0.1:80",
        "CONNECT 127.0.0.1:0",
    ],
)
async def test_what_is_no_proxy_request_is_refused(start: str) -> None:
    async with open_proxy("127.0.0.0/8") as proxy:
        received = await ask(proxy, request_head(proxy, start))
    assert status_of(received) == 400


@pytest.mark.parametrize("framing", [b"Content-Length: 5", b"Transfer-Encoding: chunked"])
async def test_a_connect_with_a_body_is_refused(framing: bytes) -> None:
    async with open_origin(CANARY) as canary, open_proxy(canary.pair) as proxy:
        head = request_head(proxy, f"CONNECT {canary.pair}", framing)
        received = await ask(proxy, head + b"hello")
    assert status_of(received) == 400
    assert canary.connections == 0


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [(b"\x16\x03\x01\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nA: " + b"a" * 300_000, 431)],
)
async def test_what_is_no_http_is_refused(request_bytes: bytes, status: int) -> None:
    async with open_proxy() as proxy:
        assert status_of(await ask(proxy, request_bytes)) == status


async def test_a_closed_port_is_a_failed_connection() -> None:
    async with open_origin(CANARY) as closed:
        pass
    async with open_proxy(closed.pair) as proxy:
        assert await ask(proxy, request_head(proxy, f"GET {closed.url}")) == b""
        received = await ask(proxy, request_head(proxy, f"CONNECT {closed.pair}"))
    assert status_of(received) == 424
    assert proxy.refusal_code(closed.pair) is RefusalCode.CONNECT_FAILED


async def test_a_refused_upload_ends_in_order_even_if_the_client_first_sends_all() -> None:
    async with open_proxy() as proxy:
        head = request_head(proxy, "POST http://127.0.0.1:9/", b"Content-Length: 30000000")
        received = await asyncio.to_thread(send_all_then_read, proxy, head + b"z" * 30_000_000)
    assert received == b""


def send_all_then_read(proxy: OpenProxy, request: bytes) -> bytes:
    with socket.create_connection(proxy.address, timeout=WAIT_SECONDS) as connection:
        connection.sendall(request)
        return connection.recv(4096)


async def test_a_client_that_says_nothing_is_let_go() -> None:
    async with open_proxy(limits=ProxyLimits(head_timeout_seconds=0.05)) as proxy:
        assert await ask(proxy, b"GET http://") == b""


async def test_over_the_limit_a_request_waits_for_a_free_place() -> None:
    limits = ProxyLimits(max_connections=1)
    async with (
        open_origin(echo) as held,
        open_origin(answering(answer_of(b"ok"))) as origin,
        open_proxy(held.pair, origin.pair, limits=limits) as proxy,
        asyncio.timeout(WAIT_SECONDS),
        asyncio.TaskGroup() as tasks,
    ):
        async with open_connection(proxy) as (reader, writer):
            await open_tunnel(proxy, held.pair, reader, writer)
            waiting = tasks.create_task(ask(proxy, request_head(proxy, f"GET {origin.url}")))
            writer.write(b"x")
            await reader.readexactly(1)
            assert origin.connections == 0
        assert status_of(await waiting) == 200


async def test_a_request_that_gets_no_place_in_time_is_refused() -> None:
    limits = ProxyLimits(max_connections=1, slot_timeout_seconds=0.05)
    async with (
        open_origin(echo) as held,
        open_proxy(held.pair, limits=limits) as proxy,
        open_connection(proxy) as (reader, writer),
    ):
        await open_tunnel(proxy, held.pair, reader, writer)
        received = await ask(proxy, request_head(proxy, f"CONNECT {held.pair}"))
    assert status_of(received) == 503
    assert proxy.refusal_code(held.pair) is RefusalCode.OVERLOADED


async def test_closing_the_proxy_closes_every_connection_and_leaves_no_task() -> None:
    async def say_nothing(origin: Origin, reader: Reader, writer: Writer) -> None:
        origin.heads.append(await reader.readuntil(b"\r\n\r\n"))
        asked.set()
        await reader.read(-1)

    asked = asyncio.Event()
    async with (
        open_origin(echo) as tunnelled,
        open_origin(say_nothing) as quiet,
        asyncio.timeout(WAIT_SECONDS),
    ):
        before = asyncio.all_tasks()
        async with open_proxy(tunnelled.pair, quiet.pair) as proxy:
            idle, tunnel, plain = [await connect(proxy) for _ in range(3)]
            await open_tunnel(proxy, tunnelled.pair, *tunnel)
            plain[1].write(request_head(proxy, f"GET {quiet.url}"))
            await asked.wait()
        for reader, writer in (idle, tunnel, plain):
            assert await read_to_the_end(reader) == b""
            writer.close()
        await tunnelled.freed.wait()
        await quiet.freed.wait()
        names = {task.get_coro().__qualname__ for task in asyncio.all_tasks() - before}  # type: ignore[union-attr] # none has ended
        assert not {name for name in names if name.startswith("ForwardProxy")}


async def connect(proxy: OpenProxy) -> tuple[Reader, Writer]:
    return await asyncio.open_connection(*proxy.address)


async def read_to_the_end(reader: Reader) -> bytes:
    try:
        return await reader.read(-1)
    except ConnectionResetError:
        return b""


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with open_proxy():
            raise KeyError


async def test_a_route_through_an_upstream_proxy_needs_one() -> None:
    async with open_proxy() as proxy:
        with pytest.raises(ValueError, match="upstream"):
            proxy.proxy.issue_credentials(route=Route.UPSTREAM)


async def test_a_proxy_has_a_url_only_while_it_is_open() -> None:
    guard = Guard(AddressPolicy.from_rules(allow=(), ports=["80"]), MemoryResolver({}))
    async with ForwardProxy(guard) as proxy:
        assert proxy.url.startswith("http://127.0.0.1:")
    with pytest.raises(RuntimeError):
        _ = proxy.url


async def test_one_proxy_exchanges_tunnels_and_refuses() -> None:
    async with (
        open_origin(answering(answer_of(b"ok"))) as origin,
        open_origin(echo) as echoing,
        open_proxy(origin.pair, echoing.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        assert (await ask(proxy, request_head(proxy, f"GET {origin.url}"))).endswith(b"ok")
        assert status_of(await ask(proxy, request_head(proxy, "CONNECT 127.0.0.1:1"))) == 403
        await open_tunnel(proxy, echoing.pair, reader, writer)
        writer.write(b"frame")
        writer.write_eof()
        assert await reader.read(-1) == b"frame"
