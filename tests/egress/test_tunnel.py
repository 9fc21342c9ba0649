import asyncio
import ssl
from pathlib import Path

import pytest
from curl_cffi import CurlOpt

from cinder.egress import ProxyLimits
from tests.egress.loopback import (
    WAIT_SECONDS,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    echo,
    open_connection,
    open_origin,
    open_proxy,
    open_session,
    open_tunnel,
    read_request,
    request_head,
    status_of,
)
from tests.site.certificate import write_certificate


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    path = tmp_path / "origin.pem"
    write_certificate(path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def test_a_page_over_tls_comes_through_a_tunnel(tls: ssl.SSLContext) -> None:
    body = b"s" * 200_000
    async with (
        open_origin(answering(answer_of(body)), tls=tls) as origin,
        open_proxy(origin.pair) as proxy,
        open_session(proxy) as session,
    ):
        response = await session.get(f"https://{origin.pair}/secret", verify=False)
    assert (response.status_code, response.content) == (200, body)
    assert origin.heads[0].startswith(b"GET /secret HTTP/1.1\r\n")
    assert b"proxy-" not in origin.heads[0].lower()


async def test_a_tunnel_carries_any_protocol() -> None:
    async with (
        open_origin(answering(answer_of(b"plain"))) as origin,
        open_proxy(origin.pair) as proxy,
        open_session(proxy, {CurlOpt.HTTPPROXYTUNNEL: 1}) as session,
    ):
        response = await session.get(origin.url)
    assert response.content == b"plain"


async def test_a_side_that_has_ended_still_gets_the_answer() -> None:
    sent = b"e" * 1_000_000
    async with (
        open_origin(echo) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        assert await open_tunnel(proxy, origin.pair, reader, writer) == (
            b"HTTP/1.1 200 Connection established\r\n\r\n"
        )
        writer.write(sent)
        writer.write_eof()
        assert await reader.read(-1) == sent


async def test_bytes_sent_along_with_connect_are_not_lost() -> None:
    async with (
        open_origin(echo) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        writer.write(request_head(proxy, f"CONNECT {origin.pair}") + b"early")
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == b"early"


async def test_a_client_that_leaves_a_tunnel_frees_the_origin() -> None:
    async with open_origin(echo) as origin, open_proxy(origin.pair) as proxy:
        async with open_connection(proxy) as (reader, writer):
            await open_tunnel(proxy, origin.pair, reader, writer)
        async with asyncio.timeout(WAIT_SECONDS):
            await origin.freed.wait()


async def test_an_origin_that_breaks_off_ends_the_tunnel() -> None:
    async def break_off(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.readexactly(1)
        writer.transport.abort()

    async with (
        open_origin(break_off) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        await open_tunnel(proxy, origin.pair, reader, writer)
        writer.write(b"x")
        assert await reader.read(-1) == b""


async def test_a_tunnel_that_stands_still_is_closed() -> None:
    limits = ProxyLimits(idle_timeout_seconds=0.05)
    async with (
        open_origin(echo) as origin,
        open_proxy(origin.pair, limits=limits) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        await open_tunnel(proxy, origin.pair, reader, writer)
        assert await reader.read(-1) == b""
        await origin.freed.wait()


async def switch_and_echo(origin: Origin, reader: Reader, writer: Writer) -> None:
    await read_request(origin, reader)
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: k\r\n\r\nwelcome"
    )
    await echo(origin, reader, writer)


WEBSOCKET = (b"Connection: keep-alive, Upgrade", b"Upgrade: WebSocket", b"Sec-WebSocket-Key: k")


async def test_a_websocket_goes_on_as_a_tunnel() -> None:
    async with (
        open_origin(switch_and_echo) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        writer.write(request_head(proxy, f"GET {origin.url}chat", *WEBSOCKET) + b"early")
        head = await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(12) == b"welcomeearly"
        writer.write(b"frame")
        assert await reader.readexactly(5) == b"frame"
    assert status_of(head) == 101
    assert b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" in origin.heads[0]


async def test_bytes_that_arrive_before_the_switch_are_not_lost() -> None:
    asked, early = asyncio.Event(), asyncio.Event()

    async def switch_late(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        asked.set()
        await early.wait()
        for _ in range(10):  # turns of the loop, in which the proxy reads what is there
            await asyncio.sleep(0)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
        await echo(origin, reader, writer)

    async with (
        open_origin(switch_late) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        writer.write(request_head(proxy, f"GET {origin.url}chat", *WEBSOCKET))
        await asked.wait()
        writer.write(b"early")
        early.set()
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == b"early"


async def test_a_websocket_that_the_origin_declines_is_an_ordinary_answer() -> None:
    async with (
        open_origin(answering(answer_of(b"no", status=b"400 No"))) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        writer.write(request_head(proxy, f"GET {origin.url}chat", *WEBSOCKET))
        received = await reader.read(-1)
    assert status_of(received) == 400
    assert received.endswith(b"no")
