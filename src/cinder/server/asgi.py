"""The ASGI app: REST, MCP, docs, health and metrics routes behind the middleware."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from http import HTTPStatus
from pathlib import Path

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from cinder import __version__
from cinder.api.openapi import OpenApi, make_document
from cinder.api.requests import CallerDisconnected, caller_with_scope, error_response, json_response
from cinder.api.v1 import routes as rest_v1
from cinder.api.v1.events import OpenStreams, WatchedJobs
from cinder.api.v2 import routes as rest_v2
from cinder.app.composition import App
from cinder.app.rate_limits import check_rate_limits
from cinder.config.settings import Settings
from cinder.errors import Forbidden
from cinder.event_loop import LoopMonitor
from cinder.mcp.server import build_server
from cinder.mcp.streamable_http import BuildServer, open_http
from cinder.mcp.tool_calls import check_tool_selection
from cinder.models.caller import TokenScope
from cinder.models.document import Json
from cinder.server.auth import (
    Authenticator,
    AuthMiddleware,
    login_routes,
    protected_resource_routes,
)
from cinder.server.load_shedding import LoadShedder, LoadSheddingMiddleware, SheddingLimits
from cinder.server.local_access import find_token
from cinder.server.request_limits import BodyLimits

log = structlog.get_logger()

DESCRIPTION = (
    "A URL in; clean, honest, citable content out. Paste the token to try a route here. MCP "
    "is served at `/mcp`."
)

_DOCS_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'",
}


def create_app(
    settings: Settings,
    opening: AbstractAsyncContextManager[App],
    build_mcp: BuildServer = build_server,
) -> Starlette:
    """Return the ASGI app of the server, which opens all parts as it starts.

    Raises:
        UnsafeSettings: the server would be open to anyone who can reach it.
        SettingsError: the settings name unknown tools, or an invalid rate limit.
    """
    check_tool_selection(settings.server)
    check_rate_limits(settings.server)
    tokens = Authenticator(find_token(settings))

    @asynccontextmanager
    async def lifespan(api: Starlette) -> AsyncIterator[None]:
        async with opening as app, open_http(app, build_mcp) as mcp, LoopMonitor() as monitor:
            app.metrics.watch_loop(lambda: monitor.lag_seconds)
            api.state.callers = app.callers
            api.state.access_tokens = app.access_tokens
            api.state.rate_limits = app.make_rate_limits()
            shedder.monitor = monitor
            api.state.watched_jobs = WatchedJobs(app.jobs)
            api.router.routes += [
                *rest_v2.build_routes(app),
                *rest_v1.build_routes(app),
                Route("/mcp", endpoint=mcp),
                *login_routes(tokens),
                *protected_resource_routes(app.access_tokens),
                *_operations_routes(app),
            ]
            yield

    auth = Middleware(
        AuthMiddleware,
        tokens=tokens,
        host_names=settings.server.allowed_hosts,
        body_limits=BodyLimits(
            max_bytes=settings.server.max_request_bytes,
            timeout_seconds=settings.server.body_timeout_seconds,
            max_json_values=settings.limits.json_values,
        ),
    )
    shedder = LoadShedder(
        SheddingLimits(
            max_lag_seconds=settings.server.max_lag_seconds,
            spared_requests=settings.server.spared_requests,
        )
    )
    api = Starlette(
        lifespan=lifespan,
        middleware=[Middleware(LoadSheddingMiddleware, shedder=shedder), auth],
        exception_handlers={
            CallerDisconnected: _answer_disconnect,
            ClientDisconnect: _answer_disconnect,
            HTTPException: _answer_no_route,
            Exception: _answer_unexpected,
        },
    )
    # Set when the server stops: event streams end then.
    api.state.stopping = asyncio.Event()
    api.state.load_shedder = shedder
    api.state.streams = OpenStreams(settings.server.max_streams_per_caller)
    return api


def _operations_routes(app: App) -> list[Route]:
    """Return the routes of health, metrics and documentation."""

    async def root(_request: Request) -> Response:
        return RedirectResponse("/docs")

    async def healthz(_request: Request) -> Response:
        storage = "ok" if app.health.has_room() else "full"
        return json_response({"status": "ok", "version": __version__, "storage": storage})

    async def readyz(_request: Request) -> Response:
        findings = await app.health.examine()
        parts = {finding.part: finding.problem or "ok" for finding in findings}
        is_ready = all(finding.problem is None for finding in findings)
        status = "ready" if is_ready else "not ready"
        content: dict[str, Json] = {"status": status, "parts": parts}
        return json_response(content, 200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        try:
            caller_with_scope(request, TokenScope.ADMIN)
        except Forbidden as error:
            return error_response(error)
        return Response(await app.render_metrics(), media_type="text/plain; version=0.0.4")

    docs_page = (Path(__file__).parent / "docs.html").read_text()

    async def docs(_request: Request) -> Response:
        return HTMLResponse(docs_page, headers=_DOCS_HEADERS)

    async def openapi(_request: Request) -> Response:
        return json_response(describe_api())

    endpoints = {
        "/": root,
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics,
        "/docs": docs,
        "/openapi.json": openapi,
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]


@cache
def describe_api() -> OpenApi:
    """Return the OpenAPI document of all routes."""
    return make_document(
        {"title": "cinder", "description": DESCRIPTION, "version": __version__},
        rest_v2.OPERATIONS | rest_v1.OPERATIONS,
        rest_v1.LOOKUPS,
    )


async def _answer_unexpected(request: Request, error: Exception) -> Response:
    log.error("a request failed unexpectedly", path=request.url.path, exc_info=error)
    message = "cinder failed unexpectedly. The server's log has the details; please report it."
    content: dict[str, Json] = {"code": "SCRAPE_FAILED", "message": message}
    return json_response({"success": False, "error": content}, 500)


async def _answer_disconnect(_request: Request, _error: Exception) -> Response:
    # 499 as in the logs of nginx: the client closed the connection.
    return Response(status_code=499)


async def _answer_no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = None
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        path = request.scope["path"]
        methods = {
            method
            for route in request.app.routes
            if isinstance(route, Route) and route.path_regex.match(path)
            for method in route.methods or ()
        }
        headers = {"Allow": ", ".join(sorted(methods))}
    message = f"There is no {request.method} {request.url.path}. GET /docs lists what there is."
    code = HTTPStatus(status).name
    content: dict[str, Json] = {"success": False, "error": {"code": code, "message": message}}
    return json_response(content, status, headers)
