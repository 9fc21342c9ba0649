import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.client import Client
from structlog.testing import capture_logs

from cinder.app import App
from cinder.model.caller import Caller, Scope
from cinder.surfaces.mcp.flat_schema import Parameter
from cinder.surfaces.mcp.server import build_server
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.mcp.tools.text_tools import SimilarityOutput, TextsArguments, fail
from tests.surfaces.mcp.reading import error_of


async def break_down(
    _app: App, _arguments: TextsArguments, _caller: Caller
) -> types.CallToolResult:
    raise RuntimeError("the secret is 42")


def make_tool(
    run: Callable[[App, TextsArguments, Caller], Awaitable[types.CallToolResult]], **changes: Any
) -> Tool[TextsArguments]:
    return Tool(
        name="broken",
        title="Broken",
        description="Does not do what it should",
        arguments=TextsArguments,
        parameters={"text_a": Parameter(), "text_b": Parameter()},
        output=SimilarityOutput,
        annotations=types.ToolAnnotations(),
        scope=Scope.READ,
        run=run,
        **changes,
    )


async def test_unexpected_failure_is_logged_and_told_without_its_details(app: App) -> None:
    async with Client(build_server(app, [make_tool(break_down)])) as client:
        with capture_logs() as logs:
            result = await client.call_tool("broken", {"text_a": "a", "text_b": "b"})
    assert "INTERNAL_ERROR" in error_of(result)
    assert "42" not in error_of(result)
    assert [entry["tool"] for entry in logs] == ["broken"]


async def test_tool_may_say_failures_in_the_shape_of_its_answers(app: App) -> None:
    async with Client(build_server(app, [make_tool(break_down, fail=fail)])) as client:
        with capture_logs():
            result = await client.call_tool("broken", {"text_a": "a", "text_b": "b"})
    assert result.is_error
    assert result.structured_content["status"] == "error"


async def test_cancelled_call_is_cancelled_inside_the_tool(app: App) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hang(_app: App, _arguments: TextsArguments, _caller: Caller) -> types.CallToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError("nothing ends the wait but cancellation")

    async with Client(build_server(app, [make_tool(hang)])) as client:
        async with asyncio.TaskGroup() as tasks:
            arguments = {"text_a": "a", "text_b": "b"}
            calling = tasks.create_task(client.call_tool("broken", arguments))
            await started.wait()
            calling.cancel()
        async with asyncio.timeout(60):
            await ended.wait()
    assert app.metrics.render().count(b'command="broken"') == 0
