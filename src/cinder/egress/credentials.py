"""Credentials of the proxy's clients, each with its route, its limits and its refusals."""

import asyncio
import secrets
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from hmac import compare_digest
from typing import Any, NamedTuple, Self

from cinder.egress.base import Dialer, ProxyRefusal, RefusalCode, Target


class BasicCredentials(NamedTuple):
    """A user name and password."""

    user: str
    password: str

    @classmethod
    def generate(cls) -> Self:
        """Make random credentials."""
        return cls(secrets.token_hex(16), secrets.token_urlsafe(24))

    def to_header(self) -> bytes:
        """Return them as the value of a Proxy-Authorization header."""
        return b"Basic " + b64encode(f"{self.user}:{self.password}".encode())

    def has_password(self, password: bytes) -> bool:
        """Whether this is the password, compared in constant time."""
        return compare_digest(password, self.password.encode())


def read_authorization(value: bytes) -> tuple[bytes, bytes] | None:
    """Return the user name and password in a Proxy-Authorization header; None without them."""
    scheme, _, encoded = value.partition(b" ")
    try:
        decoded = b64decode(encoded.strip(), validate=True)
    except ValueError:
        return None
    user, _, password = decoded.partition(b":")
    return (user, password) if scheme.lower() == b"basic" else None


class Route(StrEnum):
    """How a client's connections leave."""

    DIRECT = "direct"
    UPSTREAM = "upstream"
    POOL = "pool"
    """Through a proxy of a pool, which is chosen for each page."""


class ProxyCredentials:
    """Admit one client, such as a browser context, until they are revoked.

    Refusals are recorded here instead of sent: a browser does not show the engine a response to
    CONNECT, and a page can read any response to a plain request.
    """

    def __init__(
        self,
        *,
        route: Route,
        max_connections: int | None,
        max_refusals: int,
        also_allowed: frozenset[Target],
        on_revoke: Callable[["ProxyCredentials"], object],
    ) -> None:
        self.is_unwanted: Callable[[str], bool] = lambda _: False
        """Whether the client itself blocks a host, such as an ad server."""
        self.exit: Dialer | None = None
        """What connects on the route `POOL`; without it, nothing does."""
        self.credentials = BasicCredentials.generate()
        self.route = route
        self.also_allowed = also_allowed
        """Targets that only this client may reach, whatever the address policy says."""
        self.slots = (
            nullcontext() if max_connections is None else asyncio.Semaphore(max_connections)
        )
        self._max_refusals = max_refusals
        self._on_revoke = on_revoke
        self._refusals: OrderedDict[Target, ProxyRefusal] = OrderedDict()
        # Any: the tasks' results are not used.
        self._connections: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.revoke()

    @property
    def proxy_auth_url(self) -> str:
        """The URL at which the proxy itself responds with 204 to these credentials.

        A browser context that visited it sends the credentials with every later request. The URL
        is secret, so pages cannot use it to detect the proxy.
        """
        return f"http://{self.credentials.user}.invalid/"

    def refusal_for(self, host: str, port: int) -> ProxyRefusal | None:
        """Return the last refusal for a host (as in a canonical URL) and port."""
        return self._refusals.get(Target(host.lower(), port))

    @property
    def last_blocked(self) -> ProxyRefusal | None:
        """The last recorded refusal by the address policy."""
        newest_first = reversed(self._refusals.values())
        return next((r for r in newest_first if r.code is RefusalCode.EGRESS_BLOCKED), None)

    def reset_refusals(self, *, is_unwanted: Callable[[str], bool]) -> None:
        """Forget all refusals, and set the blocked hosts of the client's next page."""
        self._refusals.clear()
        self.is_unwanted = is_unwanted

    def record(self, target: Target, refusal: ProxyRefusal) -> None:
        """Record a refusal, and forget the oldest when there are too many."""
        self._refusals[target] = refusal
        self._refusals.move_to_end(target)
        if len(self._refusals) > self._max_refusals:
            self._refusals.popitem(last=False)

    @contextmanager
    def cover_connection(self) -> Iterator[None]:
        """Cancel the current task when the credentials are revoked."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A connection is served by a task")
        self._connections.add(task)
        try:
            yield
        finally:
            self._connections.discard(task)

    def revoke(self) -> None:
        """Invalidate the credentials, and close their connections."""
        self._on_revoke(self)
        self.close_connections()

    def close_connections(self) -> None:
        """Close all connections of these credentials; new ones may be made."""
        for task in self._connections:
            task.cancel()


class CredentialsRegistry:
    """The credentials that are currently valid."""

    def __init__(self, *, max_refusals: int) -> None:
        self._max_refusals = max_refusals
        self._by_user: dict[bytes, ProxyCredentials] = {}

    def issue(
        self,
        *,
        route: Route,
        max_connections: int | None,
        also_allowed: frozenset[Target] = frozenset(),
    ) -> ProxyCredentials:
        """Make credentials, valid from now on."""
        issued = ProxyCredentials(
            route=route,
            max_connections=max_connections,
            max_refusals=self._max_refusals,
            also_allowed=also_allowed,
            on_revoke=lambda it: self._by_user.pop(it.credentials.user.encode(), None),
        )
        self._by_user[issued.credentials.user.encode()] = issued
        return issued

    def find(self, authorization: bytes) -> ProxyCredentials | None:
        """Return the valid credentials that a Proxy-Authorization header has."""
        if (parsed := read_authorization(authorization)) is None:
            return None
        user, password = parsed
        found = self._by_user.get(user)
        return found if found and found.credentials.has_password(password) else None
