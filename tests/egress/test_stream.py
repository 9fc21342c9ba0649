"""The streams that the egress proxy reads from and writes to."""

import asyncio

from cinder.egress.stream import ByteStream

MUCH = bytes(8 * 1024 * 1024)


async def test_a_stream_that_closed_by_itself_can_be_aborted() -> None:
    received = bytearray()
    is_over = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65_536):
            received.extend(chunk)
        writer.close()
        is_over.set()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        stream = ByteStream(reader, writer)
        # More than fits into the socket: it is sent while the stream closes.
        writer.write(MUCH)
        await stream.close()
        await is_over.wait()
        stream.abort()
    assert len(received) == len(MUCH)
