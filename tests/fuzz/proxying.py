"""The forward proxy, sent whatever comes to mind, with credentials and without."""

import asyncio
import re

from structlog.testing import capture_logs

from tests.egress.loopback import (
    OpenProxy,
    answer_of,
    answering,
    authorization,
    open_connection,
    open_origin,
    open_proxy,
)
from tests.fuzz.inputs import PROXY_REQUESTS
from tests.fuzz.properties import Property

_ANSWER = re.compile(rb"HTTP/1\.1 (204|4\d\d|5\d\d) ")
_ANSWER_SECONDS = 30


def proxy_property() -> Property:
    """Return what holds of the proxy: it answers by HTTP or not at all, and connects to nobody."""
    return Property("the proxy answers or hangs up", PROXY_REQUESTS, _hold)


def _hold(requests: list[bytes]) -> None:
    with capture_logs() as logs:
        asyncio.run(_send_all(requests))
    assert [line for line in logs if line["log_level"] == "error"] == []


async def _send_all(requests: list[bytes]) -> None:
    names = {"inner.example": [["127.0.0.1"]]}
    async with (
        open_origin(answering(answer_of(b"secret"))) as canary,
        open_proxy(answers=names) as proxy,
    ):
        for request in requests:
            for sent in (request, _signed(request, proxy)):
                answer = await _ask(proxy, sent)
                assert not answer or _ANSWER.match(answer)
        assert canary.connections == 0


def _signed(request: bytes, proxy: OpenProxy) -> bytes:
    """Return a request with credentials after its first line."""
    first, end, rest = request.partition(b"\r\n")
    return first + end + authorization(proxy) + rest


async def _ask(proxy: OpenProxy, request: bytes) -> bytes:
    async with open_connection(proxy) as (reader, writer), asyncio.timeout(_ANSWER_SECONDS):
        try:
            writer.write(request)
            writer.write_eof()
            return await reader.read(-1)
        except ConnectionError:
            return b""
