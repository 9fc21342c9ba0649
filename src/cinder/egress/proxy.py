"""The forward proxy on loopback: every connection that cinder makes leaves through it."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Self

import h11
import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.egress.base import (
    READ_BYTES,
    ByteStream,
    Dialer,
    PlainUrl,
    ProxyRefusal,
    RefusalCode,
    RequestRefused,
    Target,
)
from cinder.egress.credentials import CredentialsRegistry, ProxyCredentials, Route
from cinder.egress.dialers import DirectDialer, Upstream, UpstreamDialer
from cinder.egress.policy import Guard
from cinder.egress.pools import PoolExit, PoolSetup, ProxyPool
from cinder.egress.relay import (
    Exchange,
    HttpStream,
    IdleLimit,
    header_tokens,
    request_for_origin,
    tunnel,
)
from cinder.errors import DnsFailed, EgressBlocked, ScrapeFailed
from cinder.models.url import host_and_port

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLimits:
    """The limits of the proxy."""

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

    A client connection carries one request. A plain request is checked, connected and answered
    by itself; the bytes of a second one could reach the first one's origin.

    A plain request that is refused gets no response: a page or an engine would take it for the
    origin's. A browser shows both kinds of refusal as network errors; the client's credentials
    record the reason.
    """

    def __init__(
        self,
        guard: Guard,
        limits: ProxyLimits | None = None,
        *,
        upstream: Upstream | None = None,
        pools: Mapping[str, PoolSetup] | None = None,
    ) -> None:
        self._guard = guard
        self._limits = limits or ProxyLimits()
        direct = DirectDialer(timeout_seconds=self._limits.connect_timeout_seconds)
        make_dialer = partial(
            UpstreamDialer,
            resolve=guard.resolve,
            bypass_dialer=direct,
            timeout_seconds=self._limits.connect_timeout_seconds,
            max_head_bytes=self._limits.max_response_head_bytes,
        )
        self._dialers: dict[Route, Dialer] = {Route.DIRECT: direct}
        if upstream is not None:
            self._dialers[Route.UPSTREAM] = make_dialer(upstream)
        self.pools = {
            name: ProxyPool(name, list(map(make_dialer, setup.proxies)), setup.options, setup.clock)
            for name, setup in (pools or {}).items()
        }
        """The pools of upstream proxies, by name."""
        self._slots = asyncio.Semaphore(self._limits.max_connections)
        self._credentials = CredentialsRegistry(max_refusals=self._limits.max_refusals_kept)
        self._tasks = BackgroundTasks()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._server:
                self._tasks.start(self._serve(ByteStream(reader, writer)))
            else:
                writer.transport.abort()

        await self._tasks.__aenter__()
        self._server = await asyncio.start_server(
            accept, "127.0.0.1", 0, limit=READ_BYTES, backlog=self._limits.max_connections
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

    def open_exit(self, pool: str, url: str) -> PoolExit:
        """Choose the proxy of a pool through which a page leaves.

        Raises:
            ConnectionFailed: all of them are down.
            ScrapeFailed: the settings no longer have the pool of a running job.
        """
        if pool not in self.pools:
            raise ScrapeFailed(f"There is no pool {pool!r} in egress.proxy-pools", url=url)
        try:
            return PoolExit(self.pools[pool], host_and_port(url)[0])
        except RequestRefused as refused:
            raise refused.refusal.to_error(url) from None

    def issue_credentials(
        self,
        *,
        route: Route = Route.DIRECT,
        max_connections: int | None = 64,
        also_allowed: frozenset[Target] = frozenset(),
    ) -> ProxyCredentials:
        """Admit a client from now on; without `max_connections` it may use all slots.

        `also_allowed` is for a client that sends requests only to URLs from the settings: an
        allow rule for them would open them to every page.

        Raises:
            ValueError: the route is through an upstream proxy, and none is configured.
        """
        if route is not Route.POOL and route not in self._dialers:
            raise ValueError("There is no upstream proxy")
        return self._credentials.issue(
            route=route, max_connections=max_connections, also_allowed=also_allowed
        )

    async def _serve(self, stream: ByteStream) -> None:
        http = h11.Connection(h11.SERVER, self._limits.max_request_head_bytes)
        client = HttpStream(stream, http)
        try:
            await self._respond(client)
            async with asyncio.timeout(self._limits.close_timeout_seconds):
                if client.is_mid_message:
                    # Closing with unread input resets the connection, and loses the response.
                    stream.end()
                    await stream.discard_input()
                await stream.close()
        except OSError:
            return
        except Exception:  # noqa: BLE001 - the outermost loop: one connection must not end all
            _log.exception("egress connection failed")
        finally:
            stream.abort()

    async def _respond(self, client: HttpStream) -> None:
        try:
            try:
                async with asyncio.timeout(self._limits.head_timeout_seconds):
                    request = await client.receive()
            except h11.RemoteProtocolError as exc:
                if exc.error_status_hint == 431:
                    code = RefusalCode.REQUEST_HEAD_TOO_LARGE
                    raise RequestRefused(code, "Headers too large") from exc
                raise RequestRefused(RefusalCode.NOT_HTTP, "This is not HTTP/1.1") from exc
            if not isinstance(request, h11.Request):
                raise ConnectionResetError
            sent = [value for name, value in request.headers if name == b"proxy-authorization"]
            holder = self._credentials.find(sent[0]) if sent else None
            if holder is None:
                message = "The proxy's credentials are needed"
                raise RequestRefused(RefusalCode.UNAUTHORIZED, message)
            proxied = _ProxiedRequest(client, request, holder, _parse_destination(request))
        except RequestRefused as refused:
            await _decline(client, refused.refusal)
            return
        with holder.cover_connection():
            if request.target == holder.proxy_auth_url.encode():
                await _send_empty(client, 204)
            else:
                await self._run(proxied)

    async def _run(self, proxied: "_ProxiedRequest") -> None:
        client, holder = proxied.client, proxied.holder
        try:
            async with AsyncExitStack() as held:
                try:
                    async with asyncio.timeout(self._limits.slot_timeout_seconds):
                        await held.enter_async_context(holder.slots)
                        await held.enter_async_context(self._slots)
                except TimeoutError:
                    message = "Too many connections are open"
                    raise RequestRefused(RefusalCode.OVERLOADED, message) from None
                await self._relay(proxied)
        except RequestRefused as refused:
            if client.can_answer:
                holder.record(proxied.target, refused.refusal)
                if isinstance(proxied.destination, Target):
                    await _decline(client, refused.refusal)

    async def _relay(self, proxied: "_ProxiedRequest") -> None:
        client, destination = proxied.client, proxied.destination
        try:
            async with IdleLimit(self._limits.idle_timeout_seconds) as idle:
                # A CONNECT has no body: the next event leaves the bytes after its head.
                if isinstance(destination, Target):
                    await client.receive()
                origin = await self._connect(proxied.target, proxied.holder)
                try:
                    http = h11.Connection(h11.CLIENT, self._limits.max_response_head_bytes)
                    server = HttpStream(origin, http)
                    if isinstance(destination, Target):
                        reason = b"Connection established"
                        await client.send(h11.Response(status_code=200, reason=reason, headers=[]))
                    else:
                        limit = self._limits.max_informational
                        exchange = Exchange(
                            client=client, origin=server, idle=idle, max_informational=limit
                        )
                        request = request_for_origin(proxied.request, destination)
                        if not await exchange.run(request):
                            return
                    if client.beyond:
                        await origin.write(client.beyond)
                    if server.beyond:
                        await client.stream.write(server.beyond)
                    await tunnel(client.stream, origin, idle)
                finally:
                    origin.abort()
        except TimeoutError:
            raise RequestRefused(RefusalCode.IDLE_TIMEOUT, "The origin has gone quiet") from None

    async def _connect(self, target: Target, holder: ProxyCredentials) -> ByteStream:
        if holder.is_unwanted(target.host):
            _log.info("egress", host=target.host, port=target.port, decision="unwanted")
            raise RequestRefused(RefusalCode.UNWANTED, f"{target.host} is on a filter list")
        try:
            is_named = target in holder.also_allowed
            addresses = await self._guard.pin(target.host, target.port, is_named=is_named)
        except (EgressBlocked, DnsFailed) as exc:
            raise RequestRefused(RefusalCode(exc.code), exc.message) from exc
        dialer = self._dialers.get(holder.route, holder.exit)
        if dialer is None:
            raise RequestRefused(RefusalCode.CONNECT_FAILED, "No page uses this connection's proxy")
        return await dialer.dial(target, addresses)


@dataclass(frozen=True, slots=True)
class _ProxiedRequest:
    """The request of an admitted client: a tunnel to a target, or a plain URL."""

    client: HttpStream
    request: h11.Request
    holder: ProxyCredentials
    destination: Target | PlainUrl

    @property
    def target(self) -> Target:
        destination = self.destination
        return destination.target if isinstance(destination, PlainUrl) else destination


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


def _parse_destination(request: h11.Request) -> Target | PlainUrl:
    if request.method != b"CONNECT":
        try:
            return PlainUrl.parse(request.target.decode("ascii"))
        except ValueError:
            message = "Only http: URLs are forwarded; use CONNECT for others"
            raise RequestRefused(RefusalCode.BAD_REQUEST, message) from None
    if header_tokens(request, b"transfer-encoding") or header_tokens(request, b"content-length"):
        raise RequestRefused(RefusalCode.BAD_REQUEST, "CONNECT has no body")
    try:
        return Target.from_pair(request.target.decode("ascii"))
    except ValueError:
        raise RequestRefused(RefusalCode.BAD_REQUEST, "CONNECT needs host:port") from None
