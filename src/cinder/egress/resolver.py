"""The resolver that uses the operating system's name lookup, in threads of its own."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from cinder.egress.base import Address
from cinder.errors import DnsFailed

# The labels of a host name that identify its site: `example.com`, without `www`.
_SITE_LABELS = 2
# Under suffixes such as `co.uk` a site has one more label.
_COUNTRY_CHARS, _SHORT_CHARS = 2, 3


@dataclass(slots=True, eq=False)
class _Lookup:
    """A name lookup in a thread."""

    host: str
    site: str
    outcome: "asyncio.Future[list[Address]]"
    has_slot: bool = True
    is_over: bool = False


class SystemResolver:
    """Resolves names with `getaddrinfo`, in threads of its own.

    A running lookup cannot be cancelled. One that takes too long is given up: its slot becomes
    free, and its thread ends by itself. A site whose name server never answers occupies at most
    `max_per_site` threads.
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
        """Configure the limits; `max_given_up` limits lookups that were given up but still run."""
        self._timeout_seconds = timeout_seconds
        self._max_per_site = max_per_site
        self._max_given_up = max_given_up
        self._look_up = look_up or _look_up_in_system
        self._slots = asyncio.Semaphore(max_lookups)
        self._given_up = 0
        # Threads until they end, by site.
        self._of_site: Counter[str] = Counter()
        self._changed = asyncio.Event()

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, in the system's order.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        labels = host.rstrip(".").split(".")
        is_under_country = len(labels[-1]) == _COUNTRY_CHARS
        has_shared_suffix = is_under_country and len("".join(labels[-2:-1])) <= _SHORT_CHARS
        site = ".".join(labels[-_SITE_LABELS - has_shared_suffix :])
        try:
            async with asyncio.timeout(self._timeout_seconds):
                while self._of_site[site] >= self._max_per_site:
                    await self._changed.wait()
                self._of_site[site] += 1
                return await self._look_up_in_thread(
                    _Lookup(host, site, asyncio.get_running_loop().create_future())
                )
        except TimeoutError:
            raise DnsFailed(
                f"The host name {host!r} did not resolve within {self._timeout_seconds:g} seconds"
            ) from None
        # UnicodeError: the name is not valid in a query (a label is empty or too long).
        # RuntimeError: the system cannot start another thread.
        except (OSError, UnicodeError, RuntimeError) as exc:
            raise DnsFailed(f"The host name {host!r} could not be resolved") from exc

    async def _look_up_in_thread(self, lookup: _Lookup) -> list[Address]:
        loop = asyncio.get_running_loop()

        def work() -> None:
            addresses: list[Address] = []
            failure: Exception | None = None
            try:
                addresses = self._look_up(lookup.host)
            except Exception as exc:  # noqa: BLE001 - the future raises it in the waiting task
                failure = exc
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._finish, lookup, addresses, failure)

        try:
            await self._slots.acquire()
        except asyncio.CancelledError:
            lookup.has_slot = False
            self._end(lookup)
            raise
        try:
            threading.Thread(target=work, name="cinder-dns", daemon=True).start()
        except RuntimeError:
            self._end(lookup)
            raise
        try:
            return await lookup.outcome
        except asyncio.CancelledError:
            if not lookup.is_over and self._given_up < self._max_given_up:
                lookup.has_slot = False
                self._given_up += 1
                self._slots.release()
            raise

    def _finish(self, lookup: _Lookup, addresses: list[Address], failure: Exception | None) -> None:
        if not lookup.has_slot:
            self._given_up -= 1
        self._end(lookup)
        if lookup.outcome.done():
            return
        if failure is None:
            lookup.outcome.set_result(addresses)
        else:
            lookup.outcome.set_exception(failure)

    def _end(self, lookup: _Lookup) -> None:
        lookup.is_over = True
        if lookup.has_slot:
            self._slots.release()
        self._of_site[lookup.site] -= 1
        if not self._of_site[lookup.site]:
            del self._of_site[lookup.site]
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _look_up_in_system(host: str) -> list[Address]:
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [ip_address(sockaddr[0]) for _, _, _, _, sockaddr in answers]
