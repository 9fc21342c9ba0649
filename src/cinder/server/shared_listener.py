"""A listening socket that worker processes share, each with its fair share of connections."""

import mmap
import os
import socket
import time
from collections.abc import Sequence
from typing import Self

# How long a connection is left to a process that has fewer; it needs no longer to wake up.
_YIELD_SECONDS = 0.002
_SLACK = 1
_NOT_ACCEPTING = 1 << 40


class ConnectionCounts:
    """The number of connections of each process, in memory that forked processes share."""

    def __init__(self, size: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, size * 8)).cast("q")
        for number in range(size):
            self.leave(number)

    def leave(self, number: int) -> None:
        """Record that a process accepts no connections."""
        self._counts[number] = _NOT_ACCEPTING

    def enter(self, number: int) -> None:
        """Record that a process accepts connections, and has none."""
        self._counts[number] = 0

    def add(self, number: int, connections: int) -> None:
        """Add to the number of connections of a process."""
        self._counts[number] += connections

    def has_too_many(self, number: int) -> bool:
        """Whether another process has clearly fewer connections."""
        return self._counts[number] > min(self._counts) + _SLACK


class SharedListener(socket.socket):
    """A listening socket from which each event loop accepts one connection at a time.

    asyncio accepts all waiting connections, so that one process would get a whole burst.
    SO_REUSEPORT distributes at random, loses the connections that wait for a process that dies,
    and lets a second server take half of the connections unnoticed.
    """

    _counts: ConnectionCounts | None = None
    _number = 0
    _has_accepted = False
    _left_since: float | None = None

    def share_fairly(self, counts: ConnectionCounts, number: int) -> Self:
        """Accept connections as one of several processes."""
        self._counts, self._number = counts, number
        return self

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection, unless this turn has had one or another process has fewer."""
        if self._has_accepted or self._leaves_it():
            self._has_accepted = False
            raise BlockingIOError
        accepted, address = super().accept()
        self._has_accepted, self._left_since = True, None
        if self._counts is not None:
            accepted = _CountedConnection(accepted, self._counts, self._number)
        return accepted, address

    def _leaves_it(self) -> bool:
        """Whether to leave a connection to another process, for a short time."""
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
    """A connection that is counted until it is closed."""

    def __init__(self, accepted: socket.socket, counts: ConnectionCounts, number: int) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self._counts: ConnectionCounts | None = counts
        self._number = number
        counts.add(number, 1)

    def close(self) -> None:
        """Close the connection, and stop counting it."""
        super().close()
        counts, self._counts = self._counts, None
        if counts is not None:
            counts.add(self._number, -1)


def listen(host: str, port: int, backlog: int) -> Sequence[SharedListener]:
    """Return a listening socket for each address of a host.

    Raises:
        OSError: the address cannot be used.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners: list[SharedListener] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            # asyncio sets TCP_NODELAY only if the protocol is named.
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
