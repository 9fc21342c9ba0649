"""Targets, byte streams and refusals of the egress proxy."""

import asyncio
from collections.abc import Callable

import pytest

from cinder.egress.base import ByteStream, PlainUrl, ProxyRefusal, RefusalCode, Target
from cinder.errors import (
    ConnectionFailed,
    DnsFailed,
    EgressBlocked,
    Overloaded,
    ScrapeFailed,
    ScrapeTimeout,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("example.com:443", Target("example.com", 443)),
        ("EXAMPLE.com:80", Target("example.com", 80)),
        ("bücher.example:80", Target("xn--bcher-kva.example", 80)),
        ("127.1:80", Target("127.0.0.1", 80)),
        ("0x7f000001:80", Target("127.0.0.1", 80)),
        ("[::FFFF:127.0.0.1]:80", Target("::ffff:7f00:1", 80)),
    ],
)
def test_a_pair_is_read_as_browsers_read_hosts(text: str, target: Target) -> None:
    assert Target.from_pair(text) == target


@pytest.mark.parametrize(
    "text",
    ["example.com", "/", "a/b:80", "a@b:80", "a#b:80", "a\\b:80", "[::1]", "[::1%25lo]:80", "h:-1"],
)
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Target.from_pair(text)


def test_a_target_is_written_as_in_a_url() -> None:
    assert str(Target("::1", 80)) == "[::1]:80"
    assert str(Target("example.com", 443)) == "example.com:443"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://h", PlainUrl(Target("h", 80), "h", "/")),
        ("http://h:81/a?b#c", PlainUrl(Target("h", 81), "h:81", "/a?b")),
        ("http://h:80/a?", PlainUrl(Target("h", 80), "h", "/a?")),
        ("http://[::1]:81/", PlainUrl(Target("::1", 81), "[::1]:81", "/")),
        ("http://127.1/x", PlainUrl(Target("127.0.0.1", 80), "127.0.0.1", "/x")),
        ("http://h\\@x/", PlainUrl(Target("h", 80), "h", "/@x/")),
    ],
)
def test_a_plain_url_has_one_meaning(text: str, url: PlainUrl) -> None:
    assert PlainUrl.parse(text) == url


@pytest.mark.parametrize("text", ["https://h/", "/path", "*", "ftp://h/", "http://u:p@h/", "h:80"])
def test_what_is_no_plain_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        PlainUrl.parse(text)


@pytest.mark.parametrize("read", [Target.from_pair, PlainUrl.parse])
def test_a_lone_surrogate_is_no_target(read: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="Not a valid URL"):
        read("http://\ud800.example:80")


MUCH = bytes(8 * 1024 * 1024)


async def test_a_stream_that_closed_by_itself_can_be_aborted() -> None:
    received = bytearray()
    is_over = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65_536):
            received.extend(chunk)
        writer.close()
        is_over.set()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        stream = ByteStream(reader, writer)
        # More than fits into the socket: it is sent while the stream closes.
        writer.write(MUCH)
        await stream.close()
        await is_over.wait()
        stream.abort()
    assert len(received) == len(MUCH)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_code_has_a_status_that_no_gateway_uses(code: RefusalCode) -> None:
    status = ProxyRefusal(code, "x").status
    assert 400 <= status < 600
    assert status != 502


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (RefusalCode.EGRESS_BLOCKED, EgressBlocked),
        (RefusalCode.DNS_ERROR, DnsFailed),
        (RefusalCode.CONNECT_TIMEOUT, ScrapeTimeout),
        (RefusalCode.IDLE_TIMEOUT, ScrapeTimeout),
        (RefusalCode.CONNECT_FAILED, ConnectionFailed),
        (RefusalCode.CONNECTION_LOST, ConnectionFailed),
        (RefusalCode.BAD_RESPONSE, ScrapeFailed),
        (RefusalCode.OVERLOADED, Overloaded),
    ],
)
def test_a_refusal_becomes_the_error_for_its_url(code: RefusalCode, error: type) -> None:
    raised = ProxyRefusal(code, "why").to_error("http://h/")
    assert type(raised) is error
    assert (raised.message, raised.url) == ("why", "http://h/")


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_can_be_told_without_an_address(code: RefusalCode) -> None:
    refusal = ProxyRefusal(code, "inner.example:8080 is down", "Connection refused")
    raised = refusal.to_error_without_address()
    assert type(raised) is type(refusal.to_error("http://h/"))
    assert raised.message.endswith(": Connection refused")
    assert "inner.example" not in raised.message
    assert raised.url is None
