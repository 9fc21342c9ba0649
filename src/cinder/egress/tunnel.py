"""Tunnels: bytes carried both ways between two streams, unread."""

import asyncio

from cinder.egress.idle import IdleLimit
from cinder.egress.stream import ByteStream


async def tunnel(client: ByteStream, origin: ByteStream, idle: IdleLimit) -> None:
    """Carry bytes both ways until both sides have ended, or one breaks."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_carry(client, origin, idle))
        tasks.create_task(_carry(origin, client, idle))


async def _carry(source: ByteStream, sink: ByteStream, idle: IdleLimit) -> None:
    try:
        while data := await source.read():
            idle.touch()
            await sink.write(data)
        # Only this direction is over: the sink may still have an answer to send.
        sink.end()
    except OSError:
        source.abort()
        sink.abort()
