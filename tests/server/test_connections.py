"""tests.server.test_connections"""

from contextlib import ExitStack
from functools import partial

import pytest

from cinder.errors import Overloaded
from cinder.server.connections import ClientConnection, ConnectionLimits, Connections

HERE, THERE, PROXY = "192.0.2.1", "192.0.2.2", "198.51.100.9"
LIMITS = ConnectionLimits(
    max_connections=6,
    max_per_address=4,
    max_unauthenticated_per_address=3,
    trusted_proxies=("198.51.100.0/24",),
)


class Opening:
    """Opens connections, and notes which of them were closed for others."""

    def __init__(self) -> None:
        self.connections = Connections(LIMITS)
        self.closed: list[str] = []

    def open(self, *names: str, address: str = HERE) -> list[ClientConnection]:
        closing = [partial(self.closed.append, name) for name in names]
        return [self.connections.open(address, close) for close in closing]


def test_the_oldest_of_an_address_is_closed_for_a_new_one() -> None:
    opening = Opening()
    opening.open("a", "b", "c")
    opening.open("other", address=THERE)
    assert opening.closed == []
    opening.open("d", "e")
    assert opening.closed == ["a", "b"]


def test_a_network_of_ipv6_is_one_address() -> None:
    opening = Opening()
    for number in range(5):
        opening.open(str(number), address=f"2001:db8::{number + 1:x}")
    opening.open("other", address="2001:db8:0:1::1")
    assert opening.closed == ["0", "1"]


def test_a_connection_without_a_request_is_closed_first() -> None:
    opening = Opening()
    asking, _, _ = opening.open("asking", "silent", "silent too")
    asking.ask()
    opening.open("new", "newer", "newest")
    assert opening.closed == ["silent", "silent too", "new"]
    asking.wait()
    opening.open("last")
    assert opening.closed[3:] == ["newer"]


def test_unauthenticated_requests_are_closed_where_there_is_nothing_else() -> None:
    opening = Opening()
    for connection in opening.open("a", "b", "c"):
        connection.ask()
    opening.open("d")
    assert opening.closed == ["a"]


def test_an_authenticated_request_is_never_closed() -> None:
    opening = Opening()
    served = opening.open("a", "b", "c")
    with ExitStack() as serving:
        for connection in served:
            connection.ask()
            serving.enter_context(connection.serve(HERE))
        opening.open("d", "e", "f", "g")
        assert opening.closed == ["d"]


def test_a_connection_that_was_authenticated_does_not_count_as_unauthenticated() -> None:
    opening = Opening()
    for connection in opening.open("a", "b", "c"):
        with connection.serve(HERE):
            connection.wait()
    opening.open("d", "e", "f")
    assert opening.closed == []


def test_when_all_are_taken_the_address_with_the_most_gives_one() -> None:
    opening = Opening()
    opening.open("a", "b", "c")
    opening.open("x", "y", address=THERE)
    opening.open("1", "2", address="203.0.113.1")
    assert opening.closed == ["a"]


def test_a_trusted_proxy_has_no_share_but_the_whole() -> None:
    opening = Opening()
    opening.open(*"abcdef", address=PROXY)
    assert opening.closed == []
    opening.open("g", address=PROXY)
    opening.open("x", address=HERE)
    assert opening.closed == ["a", "b"]


def test_a_closed_connection_makes_room_and_stays_closed() -> None:
    opening = Opening()
    first, *_ = opening.open("a", "b", "c")
    first.leave()
    first.wait()
    opening.open("d")
    assert opening.closed == []


def test_requests_of_one_address_are_refused_beyond_its_share() -> None:
    opening = Opening()
    with ExitStack() as serving:
        for connection in opening.open(*"abcd", address=PROXY):
            serving.enter_context(connection.serve(HERE))
        (more,) = opening.open("e", address=PROXY)
        with pytest.raises(Overloaded, match="max-connections-per-address"), more.serve(HERE):
            pass
        with more.serve(THERE):
            pass
    with more.serve(HERE):
        pass


def test_requests_of_all_addresses_are_refused_beyond_the_limit() -> None:
    opening = Opening()
    with ExitStack() as serving:
        for number, connection in enumerate(opening.open(*"abcdef", address=PROXY)):
            serving.enter_context(connection.serve(f"203.0.113.{number}"))
        (more,) = opening.open("g")
        with pytest.raises(Overloaded, match=r"server\.max-connections\)"), more.serve(HERE):
            pass
