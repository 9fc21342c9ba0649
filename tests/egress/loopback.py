"""Real origins, clients and proxies on loopback."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from curl_cffi import AsyncSession, CurlOpt, Response

from cinder.egress import AddressPolicy, ForwardProxy, Guard, ProxyLimits
from tests.egress.memory import MemoryResolver

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter

WAIT_SECONDS = 10
PORTS = ("80", "443")


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


def answer_of(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@asynccontextmanager
async def open_proxy(
    *allow: str,
    answers: Mapping[str, Sequence[Sequence[str]]] | None = None,
    limits: ProxyLimits | None = None,
) -> AsyncIterator[ForwardProxy]:
    policy = AddressPolicy.from_rules(allow=allow, ports=PORTS)
    async with ForwardProxy(Guard(policy, MemoryResolver(answers or {})), limits) as proxy:
        yield proxy


@asynccontextmanager
async def open_session(
    proxy: ForwardProxy, extra: Mapping[CurlOpt, int] | None = None
) -> AsyncIterator[AsyncSession[Response]]:
    async with AsyncSession[Response](
        proxy=proxy.url,
        proxy_auth=proxy.credentials,
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
async def open_connection(proxy: ForwardProxy) -> AsyncIterator[tuple[Reader, Writer]]:
    host, port = proxy.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def authorization(proxy: ForwardProxy, user: str | None = None) -> bytes:
    pair = f"{user or proxy.credentials.user}:{proxy.credentials.password}"
    return b"Proxy-Authorization: Basic " + b64encode(pair.encode()) + b"\r\n"


def request_head(proxy: ForwardProxy, start: str, *headers: bytes) -> bytes:
    """The head of a request with credentials; `start` is method and target."""
    lines = b"".join(header + b"\r\n" for header in headers)
    return (
        f"{start} HTTP/1.1\r\nHost: forged.example\r\n".encode()
        + authorization(proxy)
        + lines
        + b"\r\n"
    )


async def ask(proxy: ForwardProxy, request: bytes) -> bytes:
    """Send bytes to the proxy and return all that it answers until it closes."""
    async with open_connection(proxy) as (reader, writer), asyncio.timeout(WAIT_SECONDS):
        writer.write(request)
        return await reader.read(-1)


async def open_tunnel(proxy: ForwardProxy, pair: str, reader: Reader, writer: Writer) -> bytes:
    """Ask for a tunnel on an open connection and return the head of the answer."""
    writer.write(request_head(proxy, f"CONNECT {pair}"))
    async with asyncio.timeout(WAIT_SECONDS):
        return await reader.readuntil(b"\r\n\r\n")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def headers_of(answer: bytes) -> dict[str, str]:
    lines = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
