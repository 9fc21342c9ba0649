"""MCP over streamable HTTP: the /mcp endpoint, allowed hosts, and sessions per caller."""

import ipaddress
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

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
from cinder.app.composition import App
from cinder.config.serving import ServerSettings
from cinder.errors import RateLimited

BuildServer = Callable[[App], Server]

_SESSION_HEADER = "mcp-session-id"
_REVISION_HEADER = "mcp-protocol-version"
_NOT_FOUND = 404
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@asynccontextmanager
async def open_http(app: App, build: BuildServer) -> AsyncIterator[ASGIApp]:
    """Open the endpoint until the exit; it serves under any path that is routed to it."""
    server = app.settings.server
    manager = StreamableHTTPSessionManager(
        app=build(app),
        security_settings=transport_security(server),
        max_request_body_size=server.max_request_bytes,
    )
    async with manager.run():
        yield CallerSessions(manager.asgi_app, server.mcp_max_sessions_per_caller)


class CallerSessions:
    """The endpoint for authenticated callers, with a limit on the sessions of each.

    A session belongs to the caller whose token opened it. Beyond the limit, the session that has
    been idle for the longest ends: its client gets a 404 for the next request, and the protocol
    then has it open another. A caller whose sessions are all in use, by a request or an open
    stream, is refused as RATE_LIMITED.
    """

    def __init__(self, endpoint: ASGIApp, max_sessions: int) -> None:
        """Take the endpoint, and how many sessions one caller may have."""
        self._endpoint = endpoint
        self._max_sessions = max_sessions
        # By caller: the number of requests that use each session, least recently used first.
        self._sessions: defaultdict[str, OrderedDict[str, int]] = defaultdict(OrderedDict)
        self._opening: defaultdict[str, int] = defaultdict(int)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        caller = caller_of(Request(scope)).id
        # The SDK compares the client ids; it does not need the token itself.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))
        # Not every parser strips the optional whitespace around a header's value.
        raw = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": raw, "user": user}
        headers = Headers(scope=scope)
        revision, session = headers.get(_REVISION_HEADER), headers.get(_SESSION_HEADER)
        if revision is not None and revision not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._endpoint(scope, receive, send)
            return
        try:
            if session is not None:
                await self._use(caller, session, scope, receive, send)
            elif await self._make_room(caller, scope):
                await self._open(caller, scope, receive, send)
            else:
                refusal = RateLimited(
                    f"{self._max_sessions} sessions of yours are in use, as many as one caller may "
                    "have (setting server.mcp-max-sessions-per-caller). End one first."
                )
                await error_response(refusal)(scope, receive, send)
        finally:
            if not self._sessions[caller] and not self._opening[caller]:
                self._sessions.pop(caller, None)
                self._opening.pop(caller, None)

    async def _open(self, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        own, opened = self._sessions[caller], ""

        async def send_and_note(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = Headers(raw=message["headers"]).get(_SESSION_HEADER, "")
            if opened and opened not in own:
                own[opened] = 1  # until this request is answered
                self._opening[caller] -= 1
            await send(message)

        self._opening[caller] += 1
        try:
            await self._endpoint(scope, receive, send_and_note)
        finally:
            if opened in own:
                own[opened] -= 1
            elif not opened:
                self._opening[caller] -= 1

    async def _use(
        self, caller: str, session: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        own = self._sessions[caller]

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_ended = scope["method"] == "DELETE" and message["status"] < 400
                if is_ended or message["status"] == _NOT_FOUND:
                    own.pop(session, None)
            await send(message)

        # The endpoint refuses sessions that are unknown or another caller's.
        is_known = session in own
        if is_known:
            own[session] += 1
        try:
            await self._endpoint(scope, receive, send_and_note)
        finally:
            if is_known and session in own:
                own[session] -= 1
                own.move_to_end(session)

    async def _make_room(self, caller: str, scope: Scope) -> bool:
        """Return whether a session may be opened; end the caller's longest idle ones if needed."""

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Message) -> None:
            pass

        own = self._sessions[caller]
        host = [(name, value) for name, value in scope["headers"] if name == b"host"]
        while len(own) + self._opening[caller] >= self._max_sessions:
            idle = next((session for session, uses in own.items() if uses == 0), None)
            if idle is None:
                return False
            del own[idle]
            headers = [*host, (_SESSION_HEADER.encode(), idle.encode())]
            request = {**scope, "method": "DELETE", "headers": headers}
            await self._endpoint(request, receive, send)
        return True


def transport_security(server: ServerSettings) -> TransportSecuritySettings:
    """Return the allowed Host and Origin headers, which web pages on other sites do not have."""
    own = list(_LOOPBACK)
    try:
        address = ipaddress.ip_address(server.host)
    except ValueError:
        pass  # a host name must be in allowed_hosts
    else:
        if not address.is_unspecified:
            own.append(f"[{address}]" if address.version == 6 else str(address))
    # Port 0 means any free port, which is known only after the server listens.
    port = server.port or "*"
    hosts = [f"{name}:{port}" for name in own]
    if port in (80, 443):
        hosts += own
    for name in server.allowed_hosts:
        hosts += [name] if ":" in name else [name, f"{name}:{port}"]
    hosts = list(dict.fromkeys(hosts))
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )
