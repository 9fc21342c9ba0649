"""MCP over streamable HTTP: the endpoint for /mcp, and who may address it from a browser."""

import ipaddress
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from cinder.app import App
from cinder.config import ServerSettings
from cinder.surfaces.caller import caller_of
from cinder.surfaces.mcp.caller_sessions import CallerSessions
from cinder.surfaces.mcp.server import build_server

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
        yield _BoundToCallers(CallerSessions(sessions.asgi_app, most))


class _BoundToCallers:
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
