"""The context of an MCP request: caller, connection, log level, deadline and progress reports."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, get_args

import mcp_types as types
from mcp.server.connection import Connection, allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from cinder.api.requests import caller_of
from cinder.background import BackgroundTasks
from cinder.models.caller import OWNER_CALLER, Caller
from cinder.models.extraction import ExtractRequest
from cinder.models.request import ScrapeRequest


def caller_in(context: ServerRequestContext[Any, Any]) -> Caller:  # Any: as the SDK leaves it
    """Return who sends a request."""
    if context.request is None:
        return OWNER_CALLER
    assert isinstance(context.request, Request)  # noqa: S101 - what the HTTP transport attaches
    return caller_of(context.request)


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:  # Any: as the SDK has it
    """Return the connection, whose state and whose end are shared by all its requests."""
    # The SDK keeps both on it, and has no public way to it from a handler.
    return context.session._connection


Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it

_LOG_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
_LOG_LEVEL_KEY = "cinder/log-level"


async def set_log_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Tell a client of the older era, from now on, what has at least this level."""
    connection_of(context).state[_LOG_LEVEL_KEY] = params.level
    return types.EmptyResult()


async def send_log_message(context: Context, level: types.LoggingLevel, words: str) -> None:
    """Send a message with the answer under way, if the client wants any of this level."""
    if level not in _wanted_log_levels(context):
        return
    params = types.LoggingMessageNotificationParams(level=level, logger="cinder", data=words)
    await context.session.send_notification(
        types.LoggingMessageNotification(params=params), related_request_id=context.request_id
    )


def _wanted_log_levels(context: Context) -> frozenset[types.LoggingLevel]:
    """Return the levels asked for: once for a connection, or, in the newer era, by each request."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return allowed_log_levels(context.protocol_version, context.meta)
    level = connection_of(context).state.get(_LOG_LEVEL_KEY)
    return (
        frozenset(_LOG_LEVELS[_LOG_LEVELS.index(level) :]) if level in _LOG_LEVELS else frozenset()
    )


SCRAPE_TIMEOUT_MS = 50_000
"""The most that fetching and reading a page may take; settings may want less."""

CALL_SECONDS = 54
"""The most that a whole call may take, storing included."""

_FIRST_REPORT_SECONDS = 1.0
_REPORT_SECONDS = 5.0


def bound_timeout(request: ScrapeRequest, limit_ms: int = SCRAPE_TIMEOUT_MS) -> ScrapeRequest:
    """Return the request with a timeout that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, limit_ms))


def bound_extract(request: ExtractRequest, limit_ms: int = SCRAPE_TIMEOUT_MS) -> ExtractRequest:
    """Return the request with a time that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, limit_ms))


@asynccontextmanager
async def reporting_elapsed_time(
    report: Callable[[float, float | None, str | None], Awaitable[None]],
    *,
    doing: str = "At it",
    since: float | None = None,
) -> AsyncIterator[None]:
    """Tell a client every few seconds that it is still being worked for, until the exit.

    Many wait longer for whoever lets them know. `since` is when a call began of which this is one
    part: what is told may only grow, and how much there is in all nobody knows then.
    """
    async with BackgroundTasks() as tasks:
        tasks.start(_report_elapsed_time(report, doing, since))
        try:
            yield
        finally:
            tasks.cancel_all()


async def _report_elapsed_time(
    report: Callable[[float, float | None, str | None], Awaitable[None]],
    doing: str,
    since: float | None,
) -> None:
    clock = asyncio.get_running_loop().time
    began = clock() if since is None else since
    total = CALL_SECONDS if since is None else None
    await asyncio.sleep(_FIRST_REPORT_SECONDS)
    while True:
        seconds = clock() - began
        await report(seconds, total, f"{doing} for {seconds:.0f} s")
        await asyncio.sleep(_REPORT_SECONDS)
