"""Byte streams: one TCP connection of the proxy, to a client or to an origin."""

import asyncio
from contextlib import suppress

READ_BYTES = 64 * 1024


class ByteStream:
    """A TCP connection. Its failures are OSErrors."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unread = b""

    async def read(self) -> bytes:
        """Return what has come in; nothing at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        return await self._reader.read(READ_BYTES)

    def unread(self, data: bytes) -> None:
        """Put back what was read too far, for the next read."""
        self._unread = data + self._unread

    async def write(self, data: bytes) -> None:
        """Send, and wait while the peer is behind with reading."""
        # On a closed transport asyncio only logs.
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    def end(self) -> None:
        """Tell the peer that nothing more will be sent."""
        if not self._writer.is_closing():
            with suppress(OSError):
                self._writer.write_eof()

    def abort(self) -> None:
        """Close at once; what was not yet sent is lost."""
        # One that sent its last bytes while it closed has let go of its loop, and asyncio trips
        # over that.
        with suppress(AttributeError):
            self._writer.transport.abort()

    async def close(self) -> None:
        """Close once everything is sent."""
        self._writer.close()
        await self._writer.wait_closed()

    async def discard_input(self) -> None:
        """Read until the peer has nothing more to say."""
        while await self.read():
            pass
