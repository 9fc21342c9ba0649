"""Real origins, clients and proxies on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from curl_cffi import AsyncSession, CurlOpt, Response

from cinder.egress.base import RefusalCode, Target
from cinder.egress.credentials import ProxyCredentials, Route
from cinder.egress.dialers import Upstream
from cinder.egress.policy import AddressPolicy, Guard
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from tests.egress.memory import MemoryResolver

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter

WAIT_SECONDS = 60
PORTS = ("80", "443")
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
DECLINED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Origin:
    """A server on loopback that does what a test tells it to."""

    port: int = 0
    connections: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    freed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.pair}/"


Behaviour = Callable[[Origin, Reader, Writer], Awaitable[None]]


@asynccontextmanager
async def open_origin(
    behaviour: Behaviour, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Origin]:
    origin = Origin()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: Reader, writer: Writer) -> None:
        origin.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await behaviour(origin, reader, writer)
        finally:
            origin.freed.set()
            writer.close()

    async with asyncio.TaskGroup() as tasks:
        server = await asyncio.start_server(
            lambda reader, writer: serving.add(tasks.create_task(serve(reader, writer))),
            host,
            port,
            ssl=tls,
        )
        origin.port = server.sockets[0].getsockname()[1]
        try:
            yield origin
        finally:
            server.close()
            for task in serving:
                task.cancel()


def answering(answer: bytes) -> Behaviour:
    """Read a request, send these bytes, close."""

    async def behave(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        writer.write(answer)
        await writer.drain()

    return behave


async def read_request(origin: Origin, reader: Reader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    origin.heads.append(head)
    lengths = [
        int(line.partition(b":")[2])
        for line in head.splitlines()
        if line.lower().startswith(b"content-length:")
    ]
    origin.bodies.append(await reader.readexactly(lengths[0]) if lengths else b"")


async def echo(origin: Origin, reader: Reader, writer: Writer) -> None:
    """Send back everything, and end after the peer has ended."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    origin.freed.set()


def acting_as_proxy(
    *, sent_along: bytes = b"", declined: frozenset[str] = frozenset()
) -> Behaviour:
    """Open a tunnel to whatever is asked for, as any HTTP proxy does, but for the declined."""

    async def behave(origin: Origin, reader: Reader, writer: Writer) -> None:
        origin.heads.append(await reader.readuntil(b"\r\n\r\n"))
        host, port = origin.heads[-1].split()[1].decode().rsplit(":", 1)
        if host in declined:
            writer.write(DECLINED)
            return
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(CONNECTED + sent_along)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pump(reader, far_writer))
            tasks.create_task(pump(far_reader, writer))

    return behave


async def pump(reader: Reader, writer: Writer) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def answer_of(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@dataclass(frozen=True)
class OpenProxy:
    """A running proxy and a pass for it."""

    proxy: ForwardProxy
    holder: ProxyCredentials

    @property
    def url(self) -> str:
        return self.proxy.url

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def with_credentials(self, holder: ProxyCredentials) -> "OpenProxy":
        return OpenProxy(self.proxy, holder)

    def refusal_code(self, pair: str) -> RefusalCode | None:
        target = Target.from_pair(pair)
        refusal = self.holder.refusal_for(target.host, target.port)
        return refusal.code if refusal else None


@asynccontextmanager
async def open_proxy(
    *allow: str,
    answers: Mapping[str, Sequence[Sequence[str]]] | None = None,
    limits: ProxyLimits | None = None,
    upstream: Upstream | None = None,
) -> AsyncIterator[OpenProxy]:
    """Open a proxy, with a pass through the upstream proxy if there is one."""
    policy = AddressPolicy.from_rules(allow=allow, ports=PORTS)
    guard = Guard(policy, MemoryResolver(answers or {}))
    async with ForwardProxy(guard, limits, upstream=upstream) as proxy:
        route = Route.UPSTREAM if upstream else Route.DIRECT
        yield OpenProxy(proxy, proxy.issue_credentials(route=route))


@asynccontextmanager
async def open_session(
    proxy: OpenProxy, extra: Mapping[CurlOpt, int] | None = None
) -> AsyncIterator[AsyncSession[Response]]:
    async with AsyncSession[Response](
        proxy=proxy.url,
        proxy_auth=proxy.holder.credentials,
        http_version="v1",
        timeout=WAIT_SECONDS,
        curl_options={
            CurlOpt.NOPROXY: "",
            CurlOpt.PROTOCOLS_STR: "http,https",
            **(extra or {}),
        },
    ) as session:
        yield session


@asynccontextmanager
async def open_connection(proxy: OpenProxy) -> AsyncIterator[tuple[Reader, Writer]]:
    reader, writer = await asyncio.open_connection(*proxy.address)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def authorization(proxy: OpenProxy) -> bytes:
    return b"Proxy-Authorization: " + proxy.holder.credentials.to_header() + b"\r\n"


def request_head(proxy: OpenProxy, start: str, *headers: bytes) -> bytes:
    """The head of a request with credentials; `start` is method and target."""
    lines = b"".join(header + b"\r\n" for header in headers)
    return (
        f"{start} HTTP/1.1\r\nHost: forged.example\r\n".encode()
        + authorization(proxy)
        + lines
        + b"\r\n"
    )


async def ask(proxy: OpenProxy, request: bytes) -> bytes:
    """Send bytes to the proxy and return all that it answers until it closes."""
    async with open_connection(proxy) as (reader, writer), asyncio.timeout(WAIT_SECONDS):
        writer.write(request)
        return await reader.read(-1)


async def open_tunnel(proxy: OpenProxy, pair: str, reader: Reader, writer: Writer) -> bytes:
    """Ask for a tunnel on an open connection and return the head of the answer."""
    writer.write(request_head(proxy, f"CONNECT {pair}"))
    async with asyncio.timeout(WAIT_SECONDS):
        return await reader.readuntil(b"\r\n\r\n")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])
