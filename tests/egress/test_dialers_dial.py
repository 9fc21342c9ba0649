"""tests.egress.test_dialers_dial"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Address

import pytest

from cinder.egress.base import Target
from cinder.egress.dialers import DirectDialer
from cinder.egress.refusals import RefusalCode, RequestRefused
from tests.egress.loopback import echo, open_origin

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
