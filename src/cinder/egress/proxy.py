"""The forward proxy on loopback: every connection that cinder makes leaves through it."""

import asyncio
from dataclasses import dataclass
from typing import Self

import h11
import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.egress.credentials import Credentials
from cinder.egress.dial import dial
from cinder.egress.exchange import Exchange
from cinder.egress.guard import Guard
from cinder.egress.http import HttpStream, header_tokens, request_for_origin
from cinder.egress.idle import IdleLimit
from cinder.egress.refusal import BEFORE_CREDENTIALS, Marker, ProxyRefusal, RefusalCode, Refused
from cinder.egress.stream import READ_BYTES, ByteStream
from cinder.egress.target import PlainUrl, Target
from cinder.egress.tunnel import tunnel
from cinder.errors import DnsFailed, EgressBlocked

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLimits:
    """How much of everything the proxy takes."""

    max_connections: int = 512
    max_request_head_bytes: int = 64 * 1024
    max_response_head_bytes: int = 256 * 1024
    max_informational: int = 8
    head_timeout_seconds: float = 10
    slot_timeout_seconds: float = 10
    connect_timeout_seconds: float = 10
    idle_timeout_seconds: float = 120
    close_timeout_seconds: float = 2


class ForwardProxy:
    """An HTTP proxy that asks the guard before each connection and connects to what it pinned.

    A client connection carries one request. A plain request is judged, connected and answered
    by itself; were there a second, its bytes could meet the first one's origin.
    """

    def __init__(self, guard: Guard, limits: ProxyLimits | None = None) -> None:
        self._guard = guard
        self._limits = limits or ProxyLimits()
        self._slots = asyncio.Semaphore(self._limits.max_connections)
        self._tasks = BackgroundTasks()
        self._server: asyncio.Server | None = None
        self.credentials = Credentials.generate()
        self.marker = Marker()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, limit=READ_BYTES, backlog=self._limits.max_connections
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server:
            server.close()
        self._tasks.cancel_all()
        await self._tasks.__aexit__()
        if server:
            await server.wait_closed()

    @property
    def url(self) -> str:
        """Where the proxy listens; only while it is open."""
        if not self._server:
            raise RuntimeError("The proxy is not open")
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server:
            writer.transport.abort()
            return
        self._tasks.start(self._serve(ByteStream(reader, writer)))

    async def _serve(self, stream: ByteStream) -> None:
        http = h11.Connection(h11.SERVER, self._limits.max_request_head_bytes)
        client = HttpStream(stream, http)
        try:
            await self._answer(client)
            await self._say_goodbye(client)
        except OSError:
            return
        except Exception:  # noqa: BLE001 - the outermost loop: one connection must not end all
            _log.exception("egress connection failed")
        finally:
            stream.abort()

    async def _answer(self, client: HttpStream) -> None:
        try:
            request = await self._read_request(client)
            await self._take_slot()
            try:
                await self._handle(client, request)
            finally:
                self._slots.release()
        except Refused as refused:
            if client.can_answer:
                await self._refuse(client, refused.refusal)

    async def _read_request(self, client: HttpStream) -> h11.Request:
        try:
            async with asyncio.timeout(self._limits.head_timeout_seconds):
                event = await client.receive()
        except h11.RemoteProtocolError as exc:
            if exc.error_status_hint == 431:
                raise Refused(RefusalCode.REQUEST_HEAD_TOO_LARGE, "Headers too large") from exc
            raise Refused(RefusalCode.NOT_HTTP, "This is not HTTP/1.1") from exc
        if not isinstance(event, h11.Request):
            raise ConnectionResetError
        self._check_credentials(event)
        return event

    def _check_credentials(self, request: h11.Request) -> None:
        sent = [value for name, value in request.headers if name == b"proxy-authorization"]
        if not sent or not self.credentials.admit(sent[0]):
            raise Refused(RefusalCode.UNAUTHORIZED, "The proxy's credentials are needed")

    async def _take_slot(self) -> None:
        try:
            async with asyncio.timeout(self._limits.slot_timeout_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise Refused(RefusalCode.OVERLOADED, "Too many connections are open") from None

    async def _handle(self, client: HttpStream, request: h11.Request) -> None:
        try:
            async with IdleLimit(self._limits.idle_timeout_seconds) as idle:
                if request.method == b"CONNECT":
                    await self._connect(client, request, idle)
                else:
                    await self._forward(client, request, idle)
        except TimeoutError:
            raise Refused(RefusalCode.IDLE_TIMEOUT, "The origin has gone quiet") from None

    async def _connect(self, client: HttpStream, request: h11.Request, idle: IdleLimit) -> None:
        target = _parse_connect_target(request)
        # Reading past the head brings out what came after it; there is no body to wait for.
        await client.receive()
        origin = await self._reach(target)
        try:
            await client.send(
                h11.Response(status_code=200, reason=b"Connection established", headers=[])
            )
            if client.beyond:
                await origin.write(client.beyond)
            await tunnel(client.stream, origin, idle)
        finally:
            origin.abort()

    async def _forward(self, client: HttpStream, request: h11.Request, idle: IdleLimit) -> None:
        url = _parse_plain_url(request)
        stream = await self._reach(url.target)
        http = h11.Connection(h11.CLIENT, self._limits.max_response_head_bytes)
        origin = HttpStream(stream, http)
        exchange = Exchange(
            client=client,
            origin=origin,
            idle=idle,
            marker=self.marker.name,
            max_informational=self._limits.max_informational,
        )
        try:
            if await exchange.run(request_for_origin(request, url, self.marker.name)):
                await _swap_beyond(client, origin)
                await tunnel(client.stream, stream, idle)
        finally:
            stream.abort()

    async def _reach(self, target: Target) -> ByteStream:
        try:
            addresses = await self._guard.pin(target.host, target.port)
        except (EgressBlocked, DnsFailed) as exc:
            raise Refused(RefusalCode(exc.code), exc.message) from exc
        return await dial(target, addresses, timeout_seconds=self._limits.connect_timeout_seconds)

    async def _refuse(self, client: HttpStream, refusal: ProxyRefusal) -> None:
        headers = [(b"Content-Length", b"0"), (b"Connection", b"close")]
        if refusal.code is RefusalCode.UNAUTHORIZED:
            headers.append((b"Proxy-Authenticate", b'Basic realm="cinder"'))
        # Whoever has shown no credentials must not learn the marker's secret either.
        if refusal.code not in BEFORE_CREDENTIALS:
            headers.append(self.marker.write(refusal))
        await client.send(h11.Response(status_code=refusal.status, headers=headers))
        await client.send(h11.EndOfMessage())

    async def _say_goodbye(self, client: HttpStream) -> None:
        async with asyncio.timeout(self._limits.close_timeout_seconds):
            if client.is_mid_message:
                # Closing with input unread resets the connection, and the answer may be lost.
                client.stream.end()
                await client.stream.discard_input()
            await client.stream.close()


async def _swap_beyond(client: HttpStream, origin: HttpStream) -> None:
    if client.beyond:
        await origin.stream.write(client.beyond)
    if origin.beyond:
        await client.stream.write(origin.beyond)


def _parse_connect_target(request: h11.Request) -> Target:
    if header_tokens(request, b"transfer-encoding") or header_tokens(request, b"content-length"):
        raise _bad_request("CONNECT has no body")
    try:
        return Target.from_pair(request.target.decode("ascii"))
    except ValueError:
        raise _bad_request("CONNECT needs host:port") from None


def _parse_plain_url(request: h11.Request) -> PlainUrl:
    try:
        return PlainUrl.parse(request.target.decode("ascii"))
    except ValueError:
        raise _bad_request("Only http: URLs are forwarded; use CONNECT for others") from None


def _bad_request(message: str) -> Refused:
    return Refused(RefusalCode.BAD_REQUEST, message)
