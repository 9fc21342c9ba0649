"""Who sends an MCP request: whoever the HTTP request is from, or the owner over stdio."""

from typing import Any

from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from cinder.model.caller import THE_OWNER, Caller
from cinder.surfaces.caller import caller_of


def caller_in(context: ServerRequestContext[Any, Any]) -> Caller:  # Any: as the SDK leaves it
    """Return who sends a request."""
    if context.request is None:
        return THE_OWNER
    assert isinstance(context.request, Request)  # noqa: S101 - what the HTTP transport attaches
    return caller_of(context.request)
