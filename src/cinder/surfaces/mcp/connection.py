"""The connection that a request comes over: what is kept for as long as it is open."""

from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:  # Any: as the SDK has it
    """Return the connection, whose state and whose end are shared by all its requests."""
    # The SDK keeps both on it, and has no public way to it from a handler.
    return context.session._connection
