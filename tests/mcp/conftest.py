"""What the tests of the MCP surface share: a client in memory that speaks to a real app."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app.composition import App
from cinder.mcp.server import TOOLS, build_server

Era = Literal["auto", "legacy"]
Call = Callable[..., Awaitable[types.CallToolResult]]
Connect = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture
def era() -> Era:
    """The newest revision; tests that matter in both eras parametrise it."""
    return "auto"


@pytest.fixture
def connect(app: App, era: Era) -> Connect:
    """Open a client. It belongs to the task that opened it, so tests do that themselves."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        async with Client(build_server(app, TOOLS), mode=era) as client:
            yield client

    return connected


@pytest.fixture
def call(connect: Connect) -> Call:
    """Call a tool. The client holds each answer against the tool's output schema."""

    async def calling(tool: str, **arguments: Any) -> types.CallToolResult:
        async with connect() as client:
            await client.list_tools()
            return await client.call_tool(tool, arguments)

    return calling
