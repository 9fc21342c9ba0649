"""A listener that several processes share: each takes its part, and nobody waits in vain."""

import asyncio
import socket
import time
from contextlib import closing

import pytest

from cinder.server.shared_listener import ConnectionCounts, SharedListener, listen

DEADLINE_SECONDS = 60


def make_listener() -> SharedListener:
    (listener,) = listen("127.0.0.1", 0, 10)
    return listener


def accept_within_deadline(listener: SharedListener) -> socket.socket:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        try:
            return listener.accept()[0]
        except BlockingIOError:
            continue
    raise TimeoutError


def test_one_connection_is_taken_a_turn() -> None:
    with closing(make_listener()) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(2)]
        accepted = [listener.accept()[0]]
        with pytest.raises(BlockingIOError):
            listener.accept()
        accepted.append(listener.accept()[0])
        for each in (*clients, *accepted):
            each.close()


def test_a_connection_is_left_to_who_has_fewer_but_not_for_long() -> None:
    counts = ConnectionCounts(2)
    counts.enter(0)
    counts.enter(1)
    counts.add(0, 5)
    with closing(make_listener().share_fairly(counts, 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        with pytest.raises(BlockingIOError):
            listener.accept()
        accepted = accept_within_deadline(listener)
        accepted.close()
        client.close()


def test_a_process_that_is_not_there_is_not_waited_for() -> None:
    counts = ConnectionCounts(2)
    counts.enter(0)
    counts.add(0, 5)
    assert not counts.has_too_many(0)
    counts.enter(1)
    assert counts.has_too_many(0)
    counts.leave(1)
    assert not counts.has_too_many(0)


def test_a_connection_counts_until_it_is_closed() -> None:
    counts = ConnectionCounts(2)
    counts.enter(0)
    counts.enter(1)
    with closing(make_listener().share_fairly(counts, 0)) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(2)]
        accepted = [accept_within_deadline(listener) for _ in clients]
        assert counts.has_too_many(0)
        for each in (*accepted, *clients):
            each.close()
            each.close()
        assert not counts.has_too_many(0)
        assert not counts.has_too_many(1)


async def test_answers_are_sent_without_delay() -> None:
    """Small writes that wait for an acknowledgement cost 40 ms each."""
    options: asyncio.Queue[int] = asyncio.Queue()

    async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted: socket.socket = writer.get_extra_info("socket")
        options.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = make_listener()
    async with await asyncio.start_server(note, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert await options.get()
        writer.close()
        await writer.wait_closed()


def test_an_address_in_use_is_refused_although_it_is_shared() -> None:
    with closing(make_listener()) as listener, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", listener.getsockname()[1], 10)
