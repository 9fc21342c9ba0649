"""The ASGI app: REST, MCP, docs, health and metrics routes behind the middleware."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import APIRouter, FastAPI, Response
from fastapi_offline import FastAPIOffline
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route

from cinder import __version__
from cinder.api import openapi
from cinder.api.openapi import READINESS, json_content
from cinder.api.requests import CallerDisconnected, caller_with_scope, error_response, json_response
from cinder.api.v1 import routes as rest_v1
from cinder.api.v1.events import OpenStreams, WatchedJobs
from cinder.api.v2 import routes as rest_v2
from cinder.app import App
from cinder.app.rate_limits import check_rate_limits
from cinder.config import Settings
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
    "A URL in; clean, honest, citable content out. Press *Authorize* and paste the token to try a "
    "route here. MCP is served at `/mcp`."
)

# Each named, lest requests for the API with a wrong method end up there.
OPERATIONS_PATHS = (
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/docs",
    "/openapi.json",
    "/static-offline-docs/{path:path}",
)

_READINESS: dict[int | str, dict[str, Any]] = {  # Any: an OpenAPI document is free-form
    200: {"description": "Ready", "content": json_content(READINESS)},
    503: {"description": "Not ready", "content": json_content(READINESS)},
}


def create_app(
    settings: Settings,
    opening: AbstractAsyncContextManager[App],
    build_mcp: BuildServer = build_server,
) -> Starlette:
    """Return the whole server as an app, which opens cinder as it starts up.

    Raises:
        UnsafeSettings: the server would be open to anyone who can reach it.
        SettingsError: they choose tools that there are not, or a rate limit cannot be read.
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
            operations = _make_operations(app)
            api.router.routes += [
                *rest_v2.build_routes(app),
                *rest_v1.build_routes(app),
                Route("/mcp", endpoint=mcp),
                *login_routes(tokens),
                *protected_resource_routes(app.access_tokens),
                *(Route(path, operations) for path in OPERATIONS_PATHS),
            ]
            yield

    gate = Middleware(
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
        middleware=[Middleware(LoadSheddingMiddleware, shedder=shedder), gate],
        exception_handlers={
            CallerDisconnected: _answer_nobody,
            ClientDisconnect: _answer_nobody,
            HTTPException: _answer_no_route,
            Exception: _answer_unexpected,
        },
    )
    # Set when the server is told to stop: answers that would go on for as long as a job end then.
    api.state.stopping = asyncio.Event()
    api.state.load_shedder = shedder
    api.state.streams = OpenStreams(settings.server.max_streams_per_caller)
    return api


def _make_operations(app: App) -> FastAPI:
    """Return the routes for those who run the server, and the documentation of all routes."""
    api = FastAPIOffline(
        title="cinder",
        version=__version__,
        description=DESCRIPTION,
        redoc_url=None,
    )
    api.include_router(_operations(app))
    generate = api.openapi

    @cache
    def complete() -> dict[str, Any]:  # Any: an OpenAPI document is free-form
        operations = rest_v2.OPERATIONS | rest_v1.OPERATIONS
        return openapi.complete(generate(), operations, rest_v1.LOOKUPS)

    # The way FastAPI documents for changing the generated document.
    api.openapi = complete  # type: ignore[method-assign]
    return api


def _operations(app: App) -> APIRouter:
    """Return the routes for those who run the server."""
    router = APIRouter(tags=["operations"])

    @router.get("/", include_in_schema=False)
    async def root() -> Response:
        return RedirectResponse("/docs")

    @router.get("/healthz", openapi_extra={"security": []})
    async def healthz() -> Response:
        """Answer as long as the process is alive, and tell whether there is room to keep pages."""
        storage = "ok" if app.health.has_room() else "full"
        return json_response({"status": "ok", "version": __version__, "storage": storage})

    @router.get("/readyz", responses=_READINESS)
    async def readyz() -> Response:
        """Answer 200 when every part that requests need works, else 503 and which does not."""
        findings = await app.health.examine()
        parts = {finding.part: finding.problem or "ok" for finding in findings}
        is_ready = all(finding.problem is None for finding in findings)
        status = "ready" if is_ready else "not ready"
        content: dict[str, Json] = {"status": status, "parts": parts}
        return json_response(content, 200 if is_ready else 503)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Return counters and timers in the Prometheus text format."""
        try:
            caller_with_scope(request, TokenScope.ADMIN)
        except Forbidden as error:
            return error_response(error)
        return Response(await app.render_metrics(), media_type="text/plain; version=0.0.4")

    return router


async def _answer_unexpected(request: Request, error: Exception) -> Response:
    log.error("a request failed unexpectedly", path=request.url.path, exc_info=error)
    message = "cinder failed unexpectedly. The server's log has the details; please report it."
    content: dict[str, Json] = {"code": "SCRAPE_FAILED", "message": message}
    return json_response({"success": False, "error": content}, 500)


async def _answer_nobody(_request: Request, _error: Exception) -> Response:
    # 499, as servers write it in their logs: the caller closed the connection.
    return Response(status_code=499)


async def _answer_no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = {"Allow": _methods_at(request)} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
    message = f"There is no {request.method} {request.url.path}. GET /docs lists what there is."
    code = HTTPStatus(status).name
    content: dict[str, Json] = {"success": False, "error": {"code": code, "message": message}}
    return json_response(content, status, headers)


def _methods_at(request: Request) -> str:
    """Return the methods that there are for a path, of all its routes."""
    path = request.scope["path"]
    found = {
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.path_regex.match(path)
        for method in route.methods or ()
    }
    return ", ".join(sorted(found))
