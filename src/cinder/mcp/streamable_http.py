"""MCP over streamable HTTP: the /mcp endpoint, allowed hosts, and sessions per caller."""

import ipaddress
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.api.requests import caller_of, error_response
from cinder.app import App
from cinder.config import ServerSettings
from cinder.errors import RateLimited
from cinder.mcp.server import build_server

_SESSION_HEADER = "mcp-session-id"
_REVISION_HEADER = "mcp-protocol-version"
_NOT_FOUND = 404


class CallerSessions:
    """Bounds the sessions of each caller before an endpoint that keeps them.

    Beyond the bound, the session that was idle for the longest ends: its client gets a 404 for its
    next request, by which the protocol has it begin another. A caller all of whose sessions are in
    use, by a request or an open stream, is refused as RATE_LIMITED.
    """

    def __init__(self, endpoint: ASGIApp, most: int) -> None:
        """Take the endpoint, and how many sessions one caller may have."""
        self._endpoint = endpoint
        self._most = most
        # By caller: each session with the requests that use it now, the longest unused first.
        self._sessions: defaultdict[str, OrderedDict[str, int]] = defaultdict(OrderedDict)
        self._opening: defaultdict[str, int] = defaultdict(int)

    async def serve(self, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a caller's."""
        headers = Headers(scope=scope)
        revision, session = headers.get(_REVISION_HEADER), headers.get(_SESSION_HEADER)
        if revision is not None and revision not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._endpoint(scope, receive, send)
        elif session is None:
            await self._open(caller, scope, receive, send)
        else:
            await self._use(caller, session, scope, receive, send)

    async def _open(self, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._make_room(caller, scope):
            refusal = RateLimited(
                f"{self._most} sessions of yours are in use, as many as one caller may have "
                "(setting server.mcp-max-sessions-per-caller). End one first."
            )
            await error_response(refusal)(scope, receive, send)
            return

        own, opened = self._sessions[caller], ""

        async def noted(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = Headers(raw=message["headers"]).get(_SESSION_HEADER, "")
            if opened and opened not in own:
                own[opened] = 1  # until this request is answered
                self._opening[caller] -= 1
            await send(message)

        self._opening[caller] += 1
        try:
            await self._endpoint(scope, receive, noted)
        finally:
            if opened in own:
                own[opened] -= 1
            elif not opened:
                self._opening[caller] -= 1
            self._tidy(caller)

    async def _use(
        self, caller: str, session: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_ended = scope["method"] == "DELETE" and message["status"] < 400
                if is_ended or message["status"] == _NOT_FOUND:
                    self._sessions[caller].pop(session, None)
            await send(message)

        with self._in_use(caller, session):
            await self._endpoint(scope, receive, noted)
        self._tidy(caller)

    @contextmanager
    def _in_use(self, caller: str, session: str) -> Iterator[None]:
        own = self._sessions[caller]
        if session not in own:  # unknown, or another caller's: the endpoint says so
            yield
            return
        own[session] += 1
        try:
            yield
        finally:
            if session in own:
                own[session] -= 1
                own.move_to_end(session)

    async def _make_room(self, caller: str, scope: Scope) -> bool:
        """Return whether a session may be opened; the longest idle one may have to end first."""
        own = self._sessions[caller]
        while len(own) + self._opening[caller] >= self._most:
            idle = next((session for session, uses in own.items() if uses == 0), None)
            if idle is None:
                self._tidy(caller)
                return False
            del own[idle]
            await self._end(idle, scope)
        return True

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session as its client would."""
        host = [(name, value) for name, value in scope["headers"] if name == b"host"]
        headers = [*host, (_SESSION_HEADER.encode(), session.encode())]
        asked = {**scope, "method": "DELETE", "headers": headers}
        await self._endpoint(asked, _receive_nothing, _send_nowhere)

    def _tidy(self, caller: str) -> None:
        """Forget a caller without sessions."""
        if not self._sessions[caller] and not self._opening[caller]:
            self._sessions.pop(caller, None)
            self._opening.pop(caller, None)


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send_nowhere(_message: Message) -> None:
    """Drop an answer that nobody waits for."""


_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


BuildServer = Callable[[App], Server]


@asynccontextmanager
async def open_http(app: App, build: BuildServer = build_server) -> AsyncIterator[ASGIApp]:
    """Open the endpoint, which serves under whatever path it is routed to, until the exit."""
    server = app.settings.server
    sessions = StreamableHTTPSessionManager(
        app=build(app),
        security_settings=transport_security(server),
        max_request_body_size=server.max_request_bytes,
    )
    async with sessions.run():
        most = server.mcp_max_sessions_per_caller
        yield _CallerBoundEndpoint(CallerSessions(sessions.asgi_app, most))


class _CallerBoundEndpoint:
    """The endpoint for callers that the gate knows: a session is theirs whose token opened it."""

    def __init__(self, sessions: CallerSessions) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        caller = caller_of(Request(scope))
        # The SDK compares these; the secret itself it need not know.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller.id, scopes=[]))
        # Blanks around a header's value are no part of it, and not every parser drops them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        known = {**scope, "headers": headers, "user": user}
        await self._sessions.serve(caller.id, known, receive, send)


def transport_security(server: ServerSettings) -> TransportSecuritySettings:
    """Return which Host and Origin headers are let through: a web page elsewhere has neither."""
    hosts = list(dict.fromkeys(_hosts(server)))
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )


def _hosts(server: ServerSettings) -> Iterable[str]:
    # Port 0 is any free one, known only once the server listens.
    port = server.port or "*"
    for name in (*_LOOPBACK, *_own_address(server.host)):
        yield f"{name}:{port}"
        if port in (80, 443):
            yield name
    for name in server.allowed_hosts:
        yield name
        if ":" not in name:
            yield f"{name}:{port}"


def _own_address(host: str) -> Iterable[str]:
    """Return the address listened on as a Host header has it; a name must be allowed expressly."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ()
    if address.is_unspecified:
        return ()
    return (f"[{address}]" if address.version == 6 else str(address),)
