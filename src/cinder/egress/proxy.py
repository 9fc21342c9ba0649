"""The forward proxy on loopback: every connection that cinder makes leaves through it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Self

import h11
import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.egress.base import READ_BYTES, ByteStream, Dialer, PlainUrl, Target
from cinder.egress.credentials import CredentialsRegistry, ProxyCredentials, Route
from cinder.egress.dialers import DirectDialer, Upstream, UpstreamDialer
from cinder.egress.policy import Guard
from cinder.egress.refusals import ProxyRefusal, RefusalCode, RequestRefused
from cinder.egress.relay import (
    Exchange,
    HttpStream,
    IdleLimit,
    header_tokens,
    request_for_origin,
    tunnel,
)
from cinder.errors import DnsFailed, EgressBlocked

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLimits:
    """How much of everything the proxy takes."""

    max_connections: int = 512
    max_request_head_bytes: int = 64 * 1024
    max_response_head_bytes: int = 256 * 1024
    max_informational: int = 8
    max_refusals_kept: int = 100
    head_timeout_seconds: float = 10
    slot_timeout_seconds: float = 10
    connect_timeout_seconds: float = 10
    idle_timeout_seconds: float = 120
    close_timeout_seconds: float = 2


class ForwardProxy:
    """An HTTP proxy that asks the guard before each connection and connects to what it pinned.

    A client connection carries one request. A plain request is judged, connected and answered
    by itself; were there a second, its bytes could meet the first one's origin.

    A plain request that is refused gets no answer: a page would take it for its own origin's, and
    so would an engine. To a browser both kinds of refusal are network errors; the pass has the
    reason.
    """

    def __init__(
        self, guard: Guard, limits: ProxyLimits | None = None, *, upstream: Upstream | None = None
    ) -> None:
        self._guard = guard
        self._limits = limits or ProxyLimits()
        self._dialers = _make_dialers(guard, self._limits, upstream)
        self._slots = asyncio.Semaphore(self._limits.max_connections)
        self._passes = CredentialsRegistry(max_refusals=self._limits.max_refusals_kept)
        self._tasks = BackgroundTasks()
        self._server: asyncio.Server | None = None

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

    async def judge(self, host: str, port: int) -> None:
        """Return if a host could be connected to now, without connecting to it.

        Raises:
            EgressBlocked: the policy refuses the host or port.
            DnsFailed: the name does not resolve.
        """
        await self._guard.judge(host, port)

    def issue_credentials(
        self,
        *,
        route: Route = Route.DIRECT,
        max_connections: int | None = 64,
        also_allowed: frozenset[Target] = frozenset(),
    ) -> ProxyCredentials:
        """Admit a client from now on; without `max_connections` it may take all there are.

        `also_allowed` is for a client that sends only what the owner wrote to where the owner
        wrote: its targets need no allow rule, which would open them to every page.

        Raises:
            ValueError: the route is through an upstream proxy, and there is none.
        """
        if route not in self._dialers:
            raise ValueError("There is no upstream proxy")
        return self._passes.issue(
            route=route, max_connections=max_connections, also_allowed=also_allowed
        )

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
            holder = self._admit(request)
            errand = _ProxiedRequest(client, request, holder, _parse_wanted(request))
        except RequestRefused as refused:
            await _decline(client, refused.refusal)
            return
        with holder.cover_connection():
            await self._run(errand)

    async def _read_request(self, client: HttpStream) -> h11.Request:
        try:
            async with asyncio.timeout(self._limits.head_timeout_seconds):
                event = await client.receive()
        except h11.RemoteProtocolError as exc:
            if exc.error_status_hint == 431:
                raise RequestRefused(
                    RefusalCode.REQUEST_HEAD_TOO_LARGE, "Headers too large"
                ) from exc
            raise RequestRefused(RefusalCode.NOT_HTTP, "This is not HTTP/1.1") from exc
        if not isinstance(event, h11.Request):
            raise ConnectionResetError
        return event

    def _admit(self, request: h11.Request) -> ProxyCredentials:
        sent = [value for name, value in request.headers if name == b"proxy-authorization"]
        if sent and (holder := self._passes.find(sent[0])):
            return holder
        raise RequestRefused(RefusalCode.UNAUTHORIZED, "The proxy's credentials are needed")

    async def _run(self, errand: "_ProxiedRequest") -> None:
        if errand.is_proxy_auth:
            await _send_empty(errand.client, 204)
            return
        try:
            async with self._slot(errand.holder):
                await self._handle(errand)
        except RequestRefused as refused:
            if errand.client.can_answer:
                errand.holder.record(errand.target, refused.refusal)
                if errand.is_for_tunnel:
                    await _decline(errand.client, refused.refusal)

    @asynccontextmanager
    async def _slot(self, holder: ProxyCredentials) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._limits.slot_timeout_seconds):
                    await held.enter_async_context(holder.slots)
                    await held.enter_async_context(self._slots)
            except TimeoutError:
                raise RequestRefused(
                    RefusalCode.OVERLOADED, "Too many connections are open"
                ) from None
            yield

    async def _handle(self, errand: "_ProxiedRequest") -> None:
        try:
            async with IdleLimit(self._limits.idle_timeout_seconds) as idle:
                # Reading past a CONNECT's head brings out what came after it; it has no body.
                if errand.is_for_tunnel:
                    await errand.client.receive()
                origin = await self._reach(errand)
                try:
                    await self._join(errand, origin, idle)
                finally:
                    origin.abort()
        except TimeoutError:
            raise RequestRefused(RefusalCode.IDLE_TIMEOUT, "The origin has gone quiet") from None

    async def _reach(self, errand: "_ProxiedRequest") -> ByteStream:
        target = errand.target
        if errand.holder.is_unwanted(target.host):
            _log.info("egress", host=target.host, port=target.port, decision="unwanted")
            raise RequestRefused(RefusalCode.UNWANTED, f"{target.host} is on a filter list")
        try:
            is_named = target in errand.holder.also_allowed
            addresses = await self._guard.pin(target.host, target.port, is_named=is_named)
        except (EgressBlocked, DnsFailed) as exc:
            raise RequestRefused(RefusalCode(exc.code), exc.message) from exc
        return await self._dialers[errand.holder.route].dial(target, addresses)

    async def _join(self, errand: "_ProxiedRequest", origin: ByteStream, idle: IdleLimit) -> None:
        if isinstance(errand.wanted, PlainUrl):
            await self._forward(errand, errand.wanted, origin, idle)
        else:
            await self._connect(errand.client, origin, idle)

    async def _connect(self, client: HttpStream, origin: ByteStream, idle: IdleLimit) -> None:
        await client.send(
            h11.Response(status_code=200, reason=b"Connection established", headers=[])
        )
        if client.beyond:
            await origin.write(client.beyond)
        await tunnel(client.stream, origin, idle)

    async def _forward(
        self, errand: "_ProxiedRequest", url: PlainUrl, stream: ByteStream, idle: IdleLimit
    ) -> None:
        http = h11.Connection(h11.CLIENT, self._limits.max_response_head_bytes)
        exchange = Exchange(
            client=errand.client,
            origin=HttpStream(stream, http),
            idle=idle,
            max_informational=self._limits.max_informational,
        )
        if await exchange.run(request_for_origin(errand.request, url)):
            await _swap_beyond(errand.client, exchange.origin)
            await tunnel(errand.client.stream, stream, idle)

    async def _say_goodbye(self, client: HttpStream) -> None:
        async with asyncio.timeout(self._limits.close_timeout_seconds):
            if client.is_mid_message:
                # Closing with input unread resets the connection, and the answer may be lost.
                client.stream.end()
                await client.stream.discard_input()
            await client.stream.close()


@dataclass(frozen=True, slots=True)
class _ProxiedRequest:
    """What a client that was admitted wants: a tunnel to a target, or an answer to a plain URL."""

    client: HttpStream
    request: h11.Request
    holder: ProxyCredentials
    wanted: Target | PlainUrl

    @property
    def target(self) -> Target:
        return self.wanted.target if isinstance(self.wanted, PlainUrl) else self.wanted

    @property
    def is_for_tunnel(self) -> bool:
        return isinstance(self.wanted, Target)

    @property
    def is_proxy_auth(self) -> bool:
        return self.request.target == self.holder.proxy_auth_url.encode()


def _make_dialers(
    guard: Guard, limits: ProxyLimits, upstream: Upstream | None
) -> dict[Route, Dialer]:
    direct = DirectDialer(timeout_seconds=limits.connect_timeout_seconds)
    if upstream is None:
        return {Route.DIRECT: direct}
    through_upstream = UpstreamDialer(
        upstream,
        guard.resolve,
        bypass_dialer=direct,
        timeout_seconds=limits.connect_timeout_seconds,
        max_head_bytes=limits.max_response_head_bytes,
    )
    return {Route.DIRECT: direct, Route.UPSTREAM: through_upstream}


async def _decline(client: HttpStream, refusal: ProxyRefusal) -> None:
    headers = []
    if refusal.code is RefusalCode.UNAUTHORIZED:
        headers.append((b"Proxy-Authenticate", b'Basic realm="cinder"'))
    if client.can_answer:
        await _send_empty(client, refusal.status, *headers)


async def _send_empty(client: HttpStream, status: int, *headers: tuple[bytes, bytes]) -> None:
    framing = [] if status == 204 else [(b"Content-Length", b"0")]
    closing = (b"Connection", b"close")
    await client.send(h11.Response(status_code=status, headers=[*framing, closing, *headers]))
    await client.send(h11.EndOfMessage())


async def _swap_beyond(client: HttpStream, origin: HttpStream) -> None:
    if client.beyond:
        await origin.stream.write(client.beyond)
    if origin.beyond:
        await client.stream.write(origin.beyond)


def _parse_wanted(request: h11.Request) -> Target | PlainUrl:
    if request.method == b"CONNECT":
        return _parse_connect_target(request)
    return _parse_plain_url(request)


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


def _bad_request(message: str) -> RequestRefused:
    return RequestRefused(RefusalCode.BAD_REQUEST, message)
