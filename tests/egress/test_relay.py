import asyncio
import ssl
from pathlib import Path

import pytest
from curl_cffi import CurlOpt
from curl_cffi.requests import RequestsError

from cinder.egress.base import RefusalCode
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
    open_session,
    open_tunnel,
    read_request,
    request_head,
    status_of,
)
from tests.site.certificate import write_certificate


async def test_a_page_comes_through_as_the_origin_sent_it() -> None:
    body = b"x" * 300_000
    answer = answer_of(body, b"Content-Type: text/html", b"Set-Cookie: a=1", b"Set-Cookie: b=2")
    async with (
        open_origin(answering(answer)) as origin,
        open_proxy(origin.pair) as proxy,
        open_session(proxy) as session,
    ):
        response = await session.get(f"{origin.url}path?q=1")
    assert (response.status_code, response.content) == (200, body)
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert proxy.refusal_code(origin.pair) is None
    assert origin.heads[0].startswith(
        b"GET /path?q=1 HTTP/1.1\r\nHost: %s\r\n" % origin.pair.encode()
    )


async def test_a_posted_body_reaches_the_origin() -> None:
    body = b"y" * 200_000
    async with (
        open_origin(answering(answer_of(b"done"))) as origin,
        open_proxy(origin.pair) as proxy,
        open_session(proxy) as session,
    ):
        response = await session.post(origin.url, data=body)
    assert response.content == b"done"
    assert origin.bodies == [body]


async def test_a_chunked_body_reaches_the_origin_framed_once() -> None:
    async def read_chunks(origin: Origin, reader: Reader, writer: Writer) -> None:
        origin.heads.append(await reader.readuntil(b"\r\n\r\n"))
        origin.bodies.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(answer_of(b"done"))

    async with open_origin(read_chunks) as origin, open_proxy(origin.pair) as proxy:
        framing = (b"Transfer-Encoding: chunked", b"Content-Length: 3")
        head = request_head(proxy, f"POST {origin.url}", *framing)
        await ask(proxy, head + b"5\r\nhello\r\n0\r\nX-Trailer: x\r\n\r\n")
    assert origin.bodies == [b"5\r\nhello\r\n0\r\n\r\n"]
    assert b"content-length" not in origin.heads[0].lower()


async def test_the_origin_sees_no_header_that_is_the_proxys() -> None:
    async with open_origin(answering(answer_of(b""))) as origin, open_proxy(origin.pair) as proxy:
        headers = (
            b"Proxy-Connection: keep-alive",
            b"Connection: X-Private, Upgrade, Content-Length",
            b"X-Private: 1",
            b"Upgrade: h2c",
            b"TE: trailers",
            b"X-Kept: 1",
            b"Content-Length: 2",
        )
        await ask(proxy, request_head(proxy, f"POST {origin.url}", *headers) + b"hi")
    assert origin.heads[0].split(b"\r\n") == [
        b"POST / HTTP/1.1",
        b"Host: " + origin.pair.encode(),
        b"X-Kept: 1",
        b"Content-Length: 2",
        b"Connection: close",
        b"",
        b"",
    ]
    assert origin.bodies == [b"hi"]


async def test_the_client_sees_no_header_that_is_a_proxys_and_no_trailer() -> None:
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nProxy-Status: x\r\n\r\nHTTP/1.1 200 OK\r\n"
        b"Transfer-Encoding: chunked\r\nProxy-Authenticate: Basic\r\nKeep-Alive: 5\r\n\r\n"
        b"2\r\nhi\r\n0\r\nX-Trailer: x\r\n\r\n"
    )
    async with open_origin(answering(answer)) as origin, open_proxy(origin.pair) as proxy:
        received = await ask(proxy, request_head(proxy, f"GET {origin.url}"))
    assert received == (
        b"HTTP/1.1 103 Early Hints\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\n\r\n"
    )


async def test_bytes_after_a_request_reach_no_origin() -> None:
    async with (
        open_origin(answering(answer_of(b"one"))) as first,
        open_origin(answering(answer_of(b"two"))) as second,
        open_proxy(first.pair, second.pair) as proxy,
    ):
        pipelined = request_head(proxy, f"GET {first.url}") + request_head(
            proxy, f"GET {second.url}"
        )
        received = await ask(proxy, pipelined)
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.endswith(b"one")
    assert [len(first.heads), second.connections] == [1, 0]


async def test_a_head_request_ends_without_a_body() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    async with open_origin(answering(answer)) as origin, open_proxy(origin.pair) as proxy:
        received = await ask(proxy, request_head(proxy, f"HEAD {origin.url}"))
    assert received == b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"\x16\x03\x01 garbage\r\n\r\n", RefusalCode.BAD_RESPONSE),
        (b"", RefusalCode.BAD_RESPONSE),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", RefusalCode.BAD_RESPONSE),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            RefusalCode.BAD_RESPONSE,
        ),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", RefusalCode.BAD_RESPONSE),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, RefusalCode.BAD_RESPONSE),
        (
            b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
            RefusalCode.BAD_RESPONSE,
        ),
        (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 500_000, RefusalCode.RESPONSE_HEAD_TOO_LARGE),
    ],
)
async def test_an_answer_that_no_client_should_see_is_refused(
    answer: bytes, code: RefusalCode
) -> None:
    async with open_origin(answering(answer)) as origin, open_proxy(origin.pair) as proxy:
        received = await ask(proxy, request_head(proxy, f"GET {origin.url}"))
    assert b"HTTP/1.1 2" not in received
    assert b"HTTP/1.1 4" not in received
    assert proxy.refusal_code(origin.pair) is code


async def test_an_answer_that_breaks_off_breaks_off_for_the_client() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    async with (
        open_origin(answering(answer)) as origin,
        open_proxy(origin.pair) as proxy,
        open_session(proxy) as session,
    ):
        with pytest.raises(RequestsError):
            await session.get(origin.url)
    assert proxy.refusal_code(origin.pair) is None


async def test_a_reset_before_the_answer_is_a_lost_connection() -> None:
    async def reset(origin: Origin, reader: Reader, writer: Writer) -> None:
        # Closing with input unread makes the system send a reset.
        await reader.readexactly(1)
        writer.transport.abort()

    async with open_origin(reset) as origin, open_proxy(origin.pair) as proxy:
        head = request_head(proxy, f"POST {origin.url}", b"Content-Length: 3000000")
        received = await ask(proxy, head + b"z" * 3_000_000)
    assert received == b""
    assert proxy.refusal_code(origin.pair) in (
        RefusalCode.CONNECTION_LOST,
        RefusalCode.BAD_RESPONSE,
    )


async def test_an_answer_given_before_the_body_is_read_arrives() -> None:
    async def answer_early(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer_of(b"too much", status=b"413 Too Large"))
        writer.write_eof()
        await reader.read(-1)

    async with open_origin(answer_early) as origin, open_proxy(origin.pair) as proxy:
        head = request_head(proxy, f"POST {origin.url}", b"Content-Length: 2000000")
        received = await ask(proxy, head + b"z" * 2_000_000)
    assert status_of(received) == 413
    assert received.endswith(b"too much")


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome"])
async def test_a_client_that_leaves_frees_the_origin(sent: bytes) -> None:
    asked = asyncio.Event()

    async def wait_for_end(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        writer.write(sent)
        asked.set()
        await reader.read(-1)

    async with open_origin(wait_for_end) as origin, open_proxy(origin.pair) as proxy:
        async with open_connection(proxy) as (reader, writer), asyncio.timeout(WAIT_SECONDS):
            writer.write(request_head(proxy, f"GET {origin.url}"))
            await asked.wait()
            if sent:
                await reader.readuntil(b"some")
        async with asyncio.timeout(WAIT_SECONDS):
            await origin.freed.wait()


async def test_an_origin_that_goes_quiet_is_refused_as_a_timeout() -> None:
    async def say_nothing(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.read(-1)

    limits = ProxyLimits(idle_timeout_seconds=0.05)
    async with open_origin(say_nothing) as origin, open_proxy(origin.pair, limits=limits) as proxy:
        received = await ask(proxy, request_head(proxy, f"GET {origin.url}"))
    assert received == b""
    assert proxy.refusal_code(origin.pair) is RefusalCode.IDLE_TIMEOUT


async def test_an_expected_continue_is_passed_on() -> None:
    async def invite(origin: Origin, reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        origin.bodies.append(await reader.readexactly(5))
        writer.write(answer_of(b"thanks"))

    async with (
        open_origin(invite) as origin,
        open_proxy(origin.pair) as proxy,
        open_connection(proxy) as (reader, writer),
        asyncio.timeout(WAIT_SECONDS),
    ):
        headers = (b"Expect: 100-continue", b"Content-Length: 5")
        writer.write(request_head(proxy, f"POST {origin.url}", *headers))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"hello")
        assert (await reader.read(-1)).endswith(b"thanks")
    assert origin.bodies == [b"hello"]


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
