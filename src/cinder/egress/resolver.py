"""The resolver that uses the operating system's name lookup, in threads of its own."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

from cinder.egress.base import Address
from cinder.errors import DnsFailed

# How much of a host name those share who answer for it: `example.com`, and not `www`.
_SITE_LABELS = 2
# Under a country's own, such as `co.uk`, it is one more.
_COUNTRY_CHARS, _SHORT_CHARS = 2, 3


@dataclass(slots=True, eq=False)
class _Lookup:
    """A name that a thread asks the system for."""

    host: str
    site: str
    outcome: "asyncio.Future[list[Address]]"
    has_place: bool = True
    is_over: bool = False


class SystemResolver:
    """Resolves as every other program on this machine does, in threads of its own.

    The system cannot be told to give a lookup up, and does so in its own time. Nobody waits for one
    that takes too long: its place is another's then, and its thread ends by itself. A site whose
    name server never answers holds a few threads at most, and others have all the rest.
    """

    def __init__(
        self,
        *,
        timeout_seconds: float = 5,
        max_lookups: int = 16,
        max_per_site: int = 4,
        max_given_up: int = 64,
        look_up: Callable[[str], list[Address]] | None = None,
    ) -> None:
        """Take how long a lookup may take, how many run at once, and how many may still hang."""
        self._timeout_seconds = timeout_seconds
        self._max_per_site = max_per_site
        self._max_given_up = max_given_up
        self._look_up = look_up or _ask_system
        self._places = asyncio.Semaphore(max_lookups)
        self._given_up = 0
        # Every thread counts here until it ends.
        self._of_site: Counter[str] = Counter()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave what hangs to itself: the threads are no reason for the process to stay."""

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, in the system's order.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        site = _site_of(host)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._take_share(site)
                return await self._run(host, site)
        except TimeoutError:
            raise DnsFailed(
                f"The host name {host!r} did not resolve within {self._timeout_seconds:g} seconds"
            ) from None
        # UnicodeError: the name cannot be put into a query (an empty label, one too long).
        # RuntimeError: the system has no thread left.
        except (OSError, UnicodeError, RuntimeError) as exc:
            raise DnsFailed(f"The host name {host!r} could not be resolved") from exc

    async def _take_share(self, site: str) -> None:
        while self._of_site[site] >= self._max_per_site:
            await self._changed.wait()
        self._of_site[site] += 1

    async def _run(self, host: str, site: str) -> list[Address]:
        loop = asyncio.get_running_loop()
        lookup = _Lookup(host, site, loop.create_future())
        try:
            await self._places.acquire()
        except asyncio.CancelledError:
            lookup.has_place = False
            self._end(lookup)
            raise
        try:
            threading.Thread(
                target=self._work, args=(lookup, loop), name="cinder-dns", daemon=True
            ).start()
        except RuntimeError:
            self._end(lookup)
            raise
        try:
            return await lookup.outcome
        except asyncio.CancelledError:
            self._give_up(lookup)
            raise

    def _work(self, lookup: _Lookup, loop: asyncio.AbstractEventLoop) -> None:
        """Ask the system, in a thread."""
        addresses: list[Address] = []
        failure: Exception | None = None
        try:
            addresses = self._look_up(lookup.host)
        except Exception as exc:  # noqa: BLE001 - whoever waits for the outcome raises it
            failure = exc
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(self._finish, lookup, addresses, failure)

    def _finish(self, lookup: _Lookup, addresses: list[Address], failure: Exception | None) -> None:
        if not lookup.has_place:
            self._given_up -= 1
        self._end(lookup)
        if lookup.outcome.done():
            return
        if failure is None:
            lookup.outcome.set_result(addresses)
        else:
            lookup.outcome.set_exception(failure)

    def _give_up(self, lookup: _Lookup) -> None:
        """Let another have the place of a lookup that nobody waits for, if not too many hang."""
        if not lookup.is_over and self._given_up < self._max_given_up:
            lookup.has_place = False
            self._given_up += 1
            self._places.release()

    def _end(self, lookup: _Lookup) -> None:
        lookup.is_over = True
        if lookup.has_place:
            self._places.release()
        self._of_site[lookup.site] -= 1
        if not self._of_site[lookup.site]:
            del self._of_site[lookup.site]
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _site_of(host: str) -> str:
    labels = host.rstrip(".").split(".")
    is_shared = len(labels[-1]) == _COUNTRY_CHARS and len("".join(labels[-2:-1])) <= _SHORT_CHARS
    return ".".join(labels[-_SITE_LABELS - is_shared :])


def _ask_system(host: str) -> list[Address]:
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [ip_address(sockaddr[0]) for _, _, _, _, sockaddr in answers]
