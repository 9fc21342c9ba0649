"""The context of an MCP request: caller, connection, log level, deadline and progress reports."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar, get_args

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

Context = ServerRequestContext[Any, Any]  # Any: the SDK leaves both parameters open
R = TypeVar("R", ScrapeRequest, ExtractRequest)

SCRAPE_TIMEOUT_MS = 50_000
"""The longest timeout for fetching and reading a page; settings may lower it."""

CALL_SECONDS = 54
"""The timeout of a whole call, storing included."""

_FIRST_REPORT_SECONDS = 1.0
_REPORT_SECONDS = 5.0
_LOG_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
_LOG_LEVEL_KEY = "cinder/log-level"


def caller_in(context: Context) -> Caller:
    """Return the caller who sent a request; over stdio that is the owner."""
    if context.request is None:
        return OWNER_CALLER
    assert isinstance(context.request, Request)  # noqa: S101 - the HTTP transport attaches one
    return caller_of(context.request)


def connection_of(context: Context) -> Connection:
    """Return the connection, whose state and exit stack all its requests share."""
    # The SDK offers handlers no public way to it.
    return context.session._connection


async def set_log_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Set the lowest level of log messages for a client with a handshake-era protocol version."""
    connection_of(context).state[_LOG_LEVEL_KEY] = params.level
    return types.EmptyResult()


async def send_log_message(context: Context, level: types.LoggingLevel, message: str) -> None:
    """Send a log message with the current request, if the client asked for this level."""
    levels: frozenset[types.LoggingLevel] = frozenset()
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        # Modern clients name the level in each request.
        levels = allowed_log_levels(context.protocol_version, context.meta)
    elif (lowest := connection_of(context).state.get(_LOG_LEVEL_KEY)) in _LOG_LEVELS:
        levels = frozenset(_LOG_LEVELS[_LOG_LEVELS.index(lowest) :])
    if level not in levels:
        return
    params = types.LoggingMessageNotificationParams(level=level, logger="cinder", data=message)
    await context.session.send_notification(
        types.LoggingMessageNotification(params=params), related_request_id=context.request_id
    )


def bound_timeout(request: R, limit_ms: int = SCRAPE_TIMEOUT_MS) -> R:
    """Return the request with a timeout that an MCP client waits for."""
    return replace(request, timeout_ms=min(request.timeout_ms, limit_ms))


@asynccontextmanager
async def reporting_elapsed_time(
    report: Callable[[float, float | None, str | None], Awaitable[None]],
    *,
    doing: str = "Running",
    since: float | None = None,
) -> AsyncIterator[None]:
    """Report the elapsed time to a client every few seconds until the exit.

    Many clients extend their timeout with each report. If this is one part of a longer call,
    `since` is when that call began: progress may only grow, and its total is unknown.
    """
    clock = asyncio.get_running_loop().time
    began = clock() if since is None else since

    async def report_repeatedly() -> None:
        await asyncio.sleep(_FIRST_REPORT_SECONDS)
        while True:
            seconds = clock() - began
            total = CALL_SECONDS if since is None else None
            await report(seconds, total, f"{doing} for {seconds:.0f} s")
            await asyncio.sleep(_REPORT_SECONDS)

    async with BackgroundTasks() as tasks:
        tasks.start(report_repeatedly())
        try:
            yield
        finally:
            tasks.cancel_all()
