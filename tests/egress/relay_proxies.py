"""Real proxies on loopback that speak HTTP CONNECT and SOCKS5, and count what they relay."""

import asyncio
import socket
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import quote

from tests.egress.loopback import DECLINED, Reader, Writer, pump

NEEDS_CREDENTIALS = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
    b"Content-Length: 0\r\n\r\n"
)
_SOCKS_TARGET_BYTES = {1: 4, 4: 16}
_SOCKS_NAME = 3


@dataclass
class RelayProxy:
    """A proxy that relays whatever it is asked for, until it is stopped."""

    scheme: str = "http"
    user: str = ""
    password: str = ""
    port: int = 0
    relayed: list[str] = field(default_factory=list)
    """The targets as they were asked for, one for each connection."""
    unauthorized: int = 0
    _server: asyncio.Server | None = None
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        credentials = f"{quote(self.user)}:{quote(self.password)}@" if self.user else ""
        return f"{self.scheme}://{credentials}127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; on the same port as before, if it was stopped."""
        serve = self._serve_http if self.scheme == "http" else self._serve_socks

        async def accept(reader: Reader, writer: Writer) -> None:
            task = asyncio.current_task()
            assert task
            self._serving.add(task)
            try:
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await serve(reader, writer)
            finally:
                self._serving.discard(task)
                writer.transport.abort()

        # A port that was just closed can be listened on at once.
        self._server = await asyncio.start_server(
            accept, "127.0.0.1", self.port, family=socket.AF_INET, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close all connections, and refuse new ones."""
        if self._server is not None:
            self._server.close()
            serving = list(self._serving)
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving)
            self._server = None

    async def _serve_http(self, reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if self.user:
            expected = b64encode(f"{self.user}:{self.password}".encode())
            if b"Proxy-Authorization: Basic " + expected not in head:
                self.unauthorized += 1
                writer.write(NEEDS_CREDENTIALS)
                await writer.drain()
                return
        target = head.split()[1].decode()
        await self._relay(target, reader, writer, b"HTTP/1.1 200 OK\r\n\r\n", DECLINED)

    async def _serve_socks(self, reader: Reader, writer: Writer) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        method = 2 if self.user else 0
        writer.write(bytes((5, method if method in methods else 255)))
        if method not in methods:
            self.unauthorized += 1
            await writer.drain()
            return
        if self.user:
            await reader.readexactly(1)
            user = await reader.readexactly((await reader.readexactly(1))[0])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = (user.decode(), password.decode()) == (self.user, self.password)
            self.unauthorized += not is_right
            writer.write(bytes((1, not is_right)))
            if not is_right:
                await writer.drain()
                return
        *_, kind = await reader.readexactly(4)
        if kind == _SOCKS_NAME:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ip_address(await reader.readexactly(_SOCKS_TARGET_BYTES[kind])))
        port = int.from_bytes(await reader.readexactly(2), "big")
        rest = bytes((0, 1, 0, 0, 0, 0, 0, 0))
        accepted, declined = bytes((5, 0)) + rest, bytes((5, 5)) + rest
        await self._relay(f"{host}:{port}", reader, writer, accepted, declined)

    async def _relay(
        self, target: str, reader: Reader, writer: Writer, accepted: bytes, declined: bytes
    ) -> None:
        self.relayed.append(target)
        host, _, port = target.rpartition(":")
        try:
            far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except OSError:
            writer.write(declined)
            await writer.drain()
            return
        writer.write(accepted)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(pump(reader, far_writer))
                tasks.create_task(pump(far_reader, writer))
        finally:
            far_writer.transport.abort()


@asynccontextmanager
async def open_relays(*relays: RelayProxy) -> AsyncIterator[tuple[RelayProxy, ...]]:
    """Start proxies, and stop them at the end."""
    try:
        for relay in relays:
            await relay.start()
        yield relays
    finally:
        for relay in relays:
            await relay.stop()


def three_relays() -> tuple[RelayProxy, RelayProxy, RelayProxy]:
    """One of each kind: HTTP, HTTP with credentials, SOCKS5."""
    return (
        RelayProxy(),
        RelayProxy(user="some one", password="p@ss:w0rd"),
        RelayProxy(scheme="socks5", user="so", password="cks"),
    )
