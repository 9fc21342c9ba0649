"""Credentials of the proxy's clients: who may use it, by which route, and what it refused them."""

import asyncio
import secrets
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from hmac import compare_digest
from typing import Any, NamedTuple, Self

from cinder.egress.base import Target
from cinder.egress.refusals import ProxyRefusal, RefusalCode


class BasicCredentials(NamedTuple):
    """A name and the password that goes with it."""

    user: str
    password: str

    @classmethod
    def generate(cls) -> Self:
        """Make credentials that nobody can guess."""
        return cls(secrets.token_hex(16), secrets.token_urlsafe(24))

    def to_header(self) -> bytes:
        """Return them as the value of a Proxy-Authorization header."""
        return b"Basic " + b64encode(f"{self.user}:{self.password}".encode())

    def has_password(self, password: bytes) -> bool:
        """Whether this is the password, without telling by the time it takes how much of it is."""
        return compare_digest(password, self.password.encode())


def read_authorization(value: bytes) -> tuple[bytes, bytes] | None:
    """Return the name and password in a Proxy-Authorization header; None if it has none."""
    scheme, _, encoded = value.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        decoded = b64decode(encoded.strip(), validate=True)
    except ValueError:
        return None
    user, _, password = decoded.partition(b":")
    return user, password


class Route(StrEnum):
    """How a pass's connections leave."""

    DIRECT = "direct"
    UPSTREAM = "upstream"


class ProxyCredentials:
    """Admits one client, such as a browser context, until it is revoked.

    Its refusals are kept here and not sent: a browser shows its engine no answer to CONNECT, and
    a page can read any answer to a plain request.
    """

    def __init__(
        self,
        *,
        route: Route,
        max_connections: int | None,
        max_refusals: int,
        also_allowed: frozenset[Target],
        on_revoke: Callable[["ProxyCredentials"], None],
    ) -> None:
        self.is_unwanted: Callable[[str], bool] = _want_all
        """Whether the holder itself wants nothing from a host, such as one of ads."""
        self.credentials = BasicCredentials.generate()
        self.route = route
        self.also_allowed = also_allowed
        """What this client alone may reach, whatever the address policy says."""
        self.slots = (
            nullcontext() if max_connections is None else asyncio.Semaphore(max_connections)
        )
        self._max_refusals = max_refusals
        self._on_revoke = on_revoke
        self._refusals: OrderedDict[Target, ProxyRefusal] = OrderedDict()
        # Any: nobody asks what the tasks return.
        self._connections: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.revoke()

    @property
    def proxy_auth_url(self) -> str:
        """Where the proxy itself answers with 204, once it has seen this pass's credentials.

        A browser that has been there keeps the credentials and sends them with every request of
        that context. Nobody else can know the URL, so no page can tell by it where it runs.
        """
        return f"http://{self.credentials.user}.invalid/"

    def refusal_for(self, host: str, port: int) -> ProxyRefusal | None:
        """Return why the proxy last refused this pass a host (as in a canonical URL) and port."""
        return self._refusals.get(Target(host.lower(), port))

    @property
    def last_blocked(self) -> ProxyRefusal | None:
        """The last refusal by the address policy among those kept."""
        kept = reversed(self._refusals.values())
        return next((each for each in kept if each.code is RefusalCode.EGRESS_BLOCKED), None)

    def reset_refusals(self, *, is_unwanted: Callable[[str], bool]) -> None:
        """Forget what was refused, and take the wishes of the holder's next page."""
        self._refusals.clear()
        self.is_unwanted = is_unwanted

    def record(self, target: Target, refusal: ProxyRefusal) -> None:
        """Keep a refusal, and forget the oldest when there are too many."""
        self._refusals[target] = refusal
        self._refusals.move_to_end(target)
        if len(self._refusals) > self._max_refusals:
            self._refusals.popitem(last=False)

    @contextmanager
    def cover_connection(self) -> Iterator[None]:
        """Make the current task end when the pass is revoked."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A connection is served by a task")
        self._connections.add(task)
        try:
            yield
        finally:
            self._connections.discard(task)

    def revoke(self) -> None:
        """Admit nobody by this pass any more, and close the connections it was used for."""
        self._on_revoke(self)
        self.close_connections()

    def close_connections(self) -> None:
        """Close the connections that the pass was used for; new ones may be made."""
        for task in self._connections:
            task.cancel()


def _want_all(_: str) -> bool:
    return False


class CredentialsRegistry:
    """The passes that are good at present."""

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
        """Make a pass, good from now on."""
        issued = ProxyCredentials(
            route=route,
            max_connections=max_connections,
            max_refusals=self._max_refusals,
            also_allowed=also_allowed,
            on_revoke=self._forget,
        )
        self._by_user[issued.credentials.user.encode()] = issued
        return issued

    def find(self, authorization: bytes) -> ProxyCredentials | None:
        """Return the pass whose credentials a Proxy-Authorization header has."""
        if (shown := read_authorization(authorization)) is None:
            return None
        user, password = shown
        found = self._by_user.get(user)
        return found if found and found.credentials.has_password(password) else None

    def _forget(self, revoked: ProxyCredentials) -> None:
        self._by_user.pop(revoked.credentials.user.encode(), None)
