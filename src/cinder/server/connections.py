"""Limits on open connections, in all and by client address."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import structlog

from cinder.errors import Overloaded
from cinder.services.rate_limits import rate_limit_key

log = structlog.get_logger()

_LOG_EVERY_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How many connections may be open at once."""

    max_connections: int
    """With an authenticated request in progress; as many again may be open without one."""
    max_per_address: int
    """With an authenticated request in progress, of one address."""
    max_unauthenticated_per_address: int
    trusted_proxies: Collection[str] = ()
    """Addresses and networks of proxies, which serve many clients."""


class _ConnectionState(Enum):
    """The state of a connection that may be closed for a new one."""

    SILENT = auto()
    """Never authenticated, without a request."""
    ASKING = auto()
    """Never authenticated, with a request in progress."""
    IDLE = auto()
    """Authenticated before, without a request."""


class _AddressConnections:
    """The connections of one address that may be closed for a new one, oldest first."""

    def __init__(self) -> None:
        self.queues: dict[_ConnectionState, OrderedDict[ClientConnection, None]] = {
            state: OrderedDict() for state in _ConnectionState
        }

    def __len__(self) -> int:
        return sum(map(len, self.queues.values()))

    @property
    def unauthenticated(self) -> int:
        return len(self.queues[_ConnectionState.SILENT]) + len(self.queues[_ConnectionState.ASKING])

    def oldest(self, *states: _ConnectionState) -> "ClientConnection":
        """Return the oldest connection in the first of these states that has any."""
        return next(connection for state in states for connection in self.queues[state])


class Connections:
    """All open connections of this process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._proxies = _TrustedNetworks(limits.trusted_proxies)
        self._groups: dict[str, _AddressConnections] = {}
        self._waiting = 0
        self._under_way: Counter[str] = Counter()
        self._logged_at = float("-inf")

    def open(self, address: str, close: Callable[[], None]) -> "ClientConnection":
        """Count a new connection; close the oldest one if there are too many."""
        key = rate_limit_key(address)
        group = self._groups.get(key)
        most = self._limits.max_unauthenticated_per_address
        if group is not None and group.unauthenticated >= most and address not in self._proxies:
            self._close(group.oldest(_ConnectionState.SILENT, _ConnectionState.ASKING), key)
        elif self._waiting >= self._limits.max_connections:
            largest = max(self._groups, key=lambda name: len(self._groups[name]))
            oldest = self._groups[largest].oldest(
                _ConnectionState.SILENT, _ConnectionState.IDLE, _ConnectionState.ASKING
            )
            self._close(oldest, largest)
        connection = ClientConnection(self, key, close)
        connection.wait()
        return connection

    @contextmanager
    def count_request(self, address: str) -> Iterator[None]:
        """Count an authenticated request of an address while it is in progress.

        Raises:
            Overloaded: too many requests are in progress.
        """
        key, limits = rate_limit_key(address), self._limits
        if self._under_way.total() >= limits.max_connections:
            raise Overloaded(
                f"{limits.max_connections} requests are under way, as many as this server takes at "
                "once (setting server.max-connections). Try again in a moment."
            )
        if self._under_way[key] >= limits.max_per_address:
            raise Overloaded(
                f"{limits.max_per_address} requests from your address are under way, as many as "
                "one address may have (setting server.max-connections-per-address). Wait for one "
                "to end, or close a stream."
            )
        self._under_way[key] += 1
        try:
            yield
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    def enqueue(self, connection: "ClientConnection", key: str, state: _ConnectionState) -> None:
        """Add a connection to those of its address that may be closed."""
        self._groups.setdefault(key, _AddressConnections()).queues[state][connection] = None
        self._waiting += 1

    def dequeue(self, connection: "ClientConnection", key: str, state: _ConnectionState) -> None:
        """Remove a connection from those that may be closed."""
        group = self._groups[key]
        del group.queues[state][connection]
        self._waiting -= 1
        if not len(group):
            del self._groups[key]

    def _close(self, connection: "ClientConnection", key: str) -> None:
        connection.leave()
        connection.close()
        now = time.monotonic()
        if now - self._logged_at > _LOG_EVERY_SECONDS:
            self._logged_at = now
            log.warning("closing connections of an address that has too many", address=key)


class ClientConnection:
    """One open connection, and whether it may be closed for a new one."""

    __slots__ = ("_all", "_is_authenticated", "_is_open", "_key", "_state", "close")

    def __init__(self, all_: Connections, key: str, close: Callable[[], None]) -> None:
        self.close = close
        self._all = all_
        self._key = key
        self._is_authenticated = False
        self._is_open = True
        self._state: _ConnectionState | None = None

    def wait(self) -> None:
        """Record that no request is in progress."""
        self._enter(_ConnectionState.IDLE if self._is_authenticated else _ConnectionState.SILENT)

    def ask(self) -> None:
        """Record that a request has started and is not authenticated yet."""
        self._enter(_ConnectionState.IDLE if self._is_authenticated else _ConnectionState.ASKING)

    def leave(self) -> None:
        """Record that the connection is closed."""
        self._enter(None)
        self._is_open = False

    @contextmanager
    def serve(self, address: str) -> Iterator[None]:
        """Keep the connection open for an authenticated request of a client address.

        Raises:
            Overloaded: too many requests are in progress.
        """
        with self._all.count_request(address):
            self._is_authenticated = True
            # Until `wait` is called after the response.
            self._enter(None)
            yield

    def _enter(self, state: _ConnectionState | None) -> None:
        if not self._is_open:
            return
        if self._state is not None:
            self._all.dequeue(self, self._key, self._state)
        self._state = state
        if state is not None:
            self._all.enqueue(self, self._key, state)


class _TrustedNetworks:
    """A set of addresses and networks; anything else, such as a name, matches nothing."""

    def __init__(self, networks: Collection[str]) -> None:
        self._is_everything = "*" in networks
        self._networks: list[IPv4Network | IPv6Network] = []
        for text in networks:
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                continue

    def __contains__(self, address: str) -> bool:
        if self._is_everything:
            return True
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)
