"""A listening socket that worker processes share, each with its fair share of connections."""

import mmap
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

# How long a connection is left to a process that has fewer: that it sleeps is no matter of more.
_YIELD_SECONDS = 0.002
_SLACK = 1
_NOT_ACCEPTING = 1 << 40


class ConnectionCounts:
    """How many connections each process has, in memory that a fork shares."""

    def __init__(self, size: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, size * 8)).cast("q")
        for number in range(size):
            self.leave(number)

    def leave(self, number: int) -> None:
        """Note that a process takes no connections."""
        self._counts[number] = _NOT_ACCEPTING

    def enter(self, number: int) -> None:
        """Note that a process takes connections, and has none yet."""
        self._counts[number] = 0

    def add(self, number: int, connections: int) -> None:
        """Note that a process has more connections, or fewer."""
        self._counts[number] += connections

    def has_too_many(self, number: int) -> bool:
        """Whether another process has fewer connections, by more than chance."""
        return self._counts[number] > min(self._counts) + _SLACK


class SharedListener(socket.socket):
    """A listening socket of which each event loop takes one connection a turn, in fair shares.

    asyncio takes all that wait, so that of a burst one process would get everything. The kernel's
    own way, SO_REUSEPORT, spreads by chance, loses what waits for a process that dies, and lets a
    second server take half of the first one's connections unnoticed.
    """

    _counts: ConnectionCounts | None = None
    _number = 0
    _has_accepted = False
    _left_since: float | None = None

    def share_fairly(self, counts: ConnectionCounts, number: int) -> Self:
        """Take connections as one of several processes from now on."""
        self._counts, self._number = counts, number
        return self

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection, unless it is another turn or another process's."""
        if self._has_accepted or self._leaves_it():
            self._has_accepted = False
            raise BlockingIOError
        accepted, address = super().accept()
        self._has_accepted, self._left_since = True, None
        if self._counts is not None:
            accepted = _CountedConnection(accepted, self._counts, self._number)
        return accepted, address

    def _leaves_it(self) -> bool:
        """Whether a connection is left to another process; if none takes it, not for long."""
        if self._counts is None or not self._counts.has_too_many(self._number):
            self._left_since = None
            return False
        now = time.monotonic()
        self._left_since = self._left_since or now
        if now - self._left_since >= _YIELD_SECONDS:
            return False
        os.sched_yield()
        return True


class _CountedConnection(socket.socket):
    """A connection that counts until it is closed."""

    def __init__(self, accepted: socket.socket, counts: ConnectionCounts, number: int) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self._ended: Callable[[], None] = partial(counts.add, number, -1)
        counts.add(number, 1)

    def close(self) -> None:
        """Close it, and count it no longer."""
        super().close()
        ended, self._ended = self._ended, _do_nothing
        ended()


def _do_nothing() -> None:
    pass


def listen(host: str, port: int, backlog: int) -> Sequence[SharedListener]:
    """Return a listening socket for each address of a host.

    Raises:
        OSError: it cannot be listened on.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners: list[SharedListener] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            # asyncio sends without delay only where the protocol is named.
            listener = SharedListener(family, kind, protocol)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(backlog)
            listener.setblocking(False)
    except OSError:
        for opened in listeners:
            opened.close()
        raise
    return listeners
