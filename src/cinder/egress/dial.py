"""Dialling: a connection to one of the addresses that were pinned, and to nothing else."""

import asyncio
import os

from cinder.egress.base import Address
from cinder.egress.refusal import RefusalCode, Refused
from cinder.egress.stream import READ_BYTES, ByteStream
from cinder.egress.target import Target


async def dial(target: Target, addresses: list[Address], *, timeout_seconds: float) -> ByteStream:
    """Connect to the first address that answers; each gets its share of the time that is left.

    Raises:
        Refused: none of them answers.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    failure = Refused(RefusalCode.CONNECT_FAILED, f"{target} has no address")
    for tried, address in enumerate(addresses):
        share = (deadline - loop.time()) / (len(addresses) - tried)
        try:
            async with asyncio.timeout(share):
                return await _connect(address, target.port)
        except TimeoutError:
            message = f"{target} did not accept a connection within {timeout_seconds:g} seconds"
            failure = Refused(RefusalCode.CONNECT_TIMEOUT, message)
        except OSError as exc:
            # The error's own text has the address in it.
            reason = os.strerror(exc.errno) if exc.errno else "no connection"
            failure = Refused(
                RefusalCode.CONNECT_FAILED, f"Could not connect to {target}: {reason}"
            )
    raise failure


async def _connect(address: Address, port: int) -> ByteStream:
    reader, writer = await asyncio.open_connection(str(address), port, limit=READ_BYTES)
    return ByteStream(reader, writer)
