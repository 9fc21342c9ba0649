"""Log messages for a client that asked for them: what became of each of its tool calls."""

from typing import Any, get_args

import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cinder.surfaces.mcp.connection import connection_of

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it

_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
_STATE_KEY = "cinder/log-level"


async def set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Tell a client of the older era, from now on, what has at least this level."""
    connection_of(context).state[_STATE_KEY] = params.level
    return types.EmptyResult()


async def tell_client(context: Context, level: types.LoggingLevel, words: str) -> None:
    """Send a message with the answer under way, if the client wants any of this level."""
    if level not in _wanted(context):
        return
    params = types.LoggingMessageNotificationParams(level=level, logger="cinder", data=words)
    await context.session.send_notification(
        types.LoggingMessageNotification(params=params), related_request_id=context.request_id
    )


def _wanted(context: Context) -> frozenset[types.LoggingLevel]:
    """Return the levels asked for: once for a connection, or, in the newer era, by each request."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return allowed_log_levels(context.protocol_version, context.meta)
    level = connection_of(context).state.get(_STATE_KEY)
    return frozenset(_LEVELS[_LEVELS.index(level) :]) if level in _LEVELS else frozenset()
