"""The resolver that asks the operating system."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Self

from cinder.egress.base import Address
from cinder.errors import DnsFailed


class SystemResolver:
    """Resolves as every other program on this machine does, in threads of its own.

    The loop's own executor would let slow name servers starve everything else that uses it.
    """

    def __init__(self, *, timeout_seconds: float = 5, max_threads: int = 16) -> None:
        self._timeout_seconds = timeout_seconds
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="cinder-dns")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # A lookup cannot be interrupted: the system gives it up in its own time.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def resolve(self, host: str) -> list[Address]:
        """Return every address of `host`, in the system's order.

        Raises:
            DnsFailed: the name does not resolve, or not in time.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await loop.run_in_executor(self._threads, _look_up, host)
        except TimeoutError:
            raise DnsFailed(
                f"The host name {host!r} did not resolve within {self._timeout_seconds:g} seconds"
            ) from None
        # UnicodeError: the name cannot be put into a query (an empty label, one too long).
        except (OSError, UnicodeError) as exc:
            raise DnsFailed(f"The host name {host!r} could not be resolved") from exc


def _look_up(host: str) -> list[Address]:
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [ip_address(sockaddr[0]) for _, _, _, _, sockaddr in answers]
