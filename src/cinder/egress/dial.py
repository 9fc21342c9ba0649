"""Dialling: a connection to one of the addresses that were pinned, straight from here."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from cinder.egress.base import Address
from cinder.egress.refusal import RefusalCode, Refused
from cinder.egress.stream import READ_BYTES, ByteStream
from cinder.egress.target import Target


class DirectDialer:
    """Connects from this machine."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Connect to the first address that answers.

        Raises:
            Refused: none of them does.
        """
        return await dial_each(
            str(target),
            addresses,
            lambda address: open_stream(address, target.port),
            timeout_seconds=self._timeout_seconds,
        )


async def dial_each(
    peer: str,
    addresses: list[Address],
    connect: Callable[[Address], Awaitable[ByteStream]],
    *,
    timeout_seconds: float,
) -> ByteStream:
    """Return the first connection that comes about; each gets its share of the time that is left.

    Raises:
        Refused: none does; it says so of `peer`, or as `connect` says it.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    failure = Refused(RefusalCode.CONNECT_FAILED, f"{peer} has no address")
    for tried, address in enumerate(addresses):
        share = (deadline - loop.time()) / (len(addresses) - tried)
        try:
            async with asyncio.timeout(share):
                return await connect(address)
        except Refused as refused:
            failure = refused
        except TimeoutError:
            message = f"{peer} did not accept a connection within {timeout_seconds:g} seconds"
            failure = Refused(RefusalCode.CONNECT_TIMEOUT, message)
        except OSError as exc:
            # The error's own text has the address in it.
            reason = os.strerror(exc.errno) if exc.errno else "no connection"
            message = f"Could not connect to {peer}: {reason}"
            failure = Refused(RefusalCode.CONNECT_FAILED, message, reason)
    raise failure


async def open_stream(address: Address, port: int) -> ByteStream:
    """Connect to an address."""
    reader, writer = await asyncio.open_connection(str(address), port, limit=READ_BYTES)
    return ByteStream(reader, writer)
