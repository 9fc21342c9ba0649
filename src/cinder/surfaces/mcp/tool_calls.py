"""Tool calls: listing the tools and answering calls, every failure as a result."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext

from cinder.app import App
from cinder.errors import CinderError, ScrapeTimeout
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.content import text_failure
from cinder.surfaces.mcp.deadline import CALL_SECONDS
from cinder.surfaces.mcp.failures import (
    describe_failure,
    describe_unexpected,
    describe_unknown_tool,
)
from cinder.surfaces.mcp.session_log import tell_client
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.scrape_arguments import Command

log = structlog.get_logger()

_BATCH_COMMANDS = frozenset(Command) - {Command.START}


class ToolCalls:
    """Answers `tools/list` and `tools/call`."""

    def __init__(self, app: App, tools: Sequence[Tool[Any]]) -> None:  # Any: see the registry
        self._app = app
        self._tools = {tool.name: tool for tool in tools}
        self._described = {tool.name: tool.describe() for tool in tools}

    def input_schema(self, name: str) -> Mapping[str, Any] | None:  # Any: a JSON Schema
        """Return a tool's input schema; None where there is no such tool."""
        tool = self._described.get(name)
        return tool.input_schema if tool else None

    async def list_tools(
        self, context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List every tool that the caller may use, on one page."""
        caller = caller_in(context)
        names = [name for name, tool in self._tools.items() if caller.may(tool.scope)]
        return types.ListToolsResult(tools=[self._described[name] for name in names])

    async def call(
        self, context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a call; whatever goes wrong is said in the result."""
        tool = self._tools.get(params.name)
        if tool is None:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(describe_unknown_tool(params.name, self._tools))
        given = params.arguments or {}
        outcome, result = await self._answer(tool, given, context)
        self._count(_command(tool.name, given), outcome)
        await tell_client(
            context, "warning" if result.is_error else "info", f"{tool.name}: {outcome}"
        )
        return result

    async def _answer(
        self, tool: Tool[Any], given: Mapping[str, Any], context: ServerRequestContext
    ) -> tuple[str, types.CallToolResult]:
        try:
            caller = caller_in(context)
            require_scope(caller, tool.scope)
            async with asyncio.timeout(CALL_SECONDS):
                report = context.session.report_progress
                return "ok", await tool.call(self._app, given, caller, report)
        except TimeoutError:
            late = ScrapeTimeout(f"{tool.name} did not finish within {CALL_SECONDS} seconds.")
            return late.code, tool.fail(describe_failure(late))
        except CinderError as error:
            return error.code, tool.fail(describe_failure(error))
        except Exception:
            log.exception("a tool failed unexpectedly", tool=tool.name)
            return "INTERNAL_ERROR", tool.fail(describe_unexpected(tool.name))

    def _count(self, command: str, outcome: str) -> None:
        self._app.metrics.requests.labels(surface="mcp", command=command, outcome=outcome).inc()


def _command(tool: str, given: Mapping[str, Any]) -> str:
    """Return what a call is counted as: the tool, or the command given to it."""
    command = given.get("command")
    return command if isinstance(command, str) and command in _BATCH_COMMANDS else tool
