"""Tool calls: listing the tools and answering calls, every failure as a result."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.app import App
from cinder.errors import CinderError, ScrapeTimeout
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.content import text_failure
from cinder.surfaces.mcp.deadline import CALL_SECONDS, telling_time
from cinder.surfaces.mcp.failures import (
    describe_failure,
    describe_tool_off,
    describe_unexpected,
    describe_unknown_tool,
)
from cinder.surfaces.mcp.login_offer import Answer, LoginOffer
from cinder.surfaces.mcp.session_log import tell_client
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.mcp.toolsets import Offer, Selection, UnknownName, offer
from cinder.surfaces.scrape_arguments import Command

log = structlog.get_logger()

_BATCH_COMMANDS = frozenset(Command) - {Command.START}


class ToolCalls:
    """Answers `tools/list` and `tools/call`; without a selection, all tools are listed."""

    def __init__(
        self,
        app: App,
        tools: Sequence[Tool[Any]],  # Any: see the registry
        selection: Selection | None = None,
    ) -> None:
        self._app = app
        self._tools = tools
        self._own = selection or Selection()
        self._login = LoginOffer(app.log_in)
        everything = {tool.name: tool for tool in tools}
        self._offer = offer(tools, selection) if selection else Offer(everything, everything)
        # By the tool itself, whose variants share a name.
        variants = (each for tool in tools for each in (tool, tool.for_reading()))
        self._described = {id(each): each.describe() for each in variants}

    @property
    def listed(self) -> frozenset[str]:
        """The names of the tools that are listed where a request asks for nothing else."""
        return frozenset(self._offer.listed)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:  # Any: a JSON Schema
        """Return a tool's input schema; None where there is no such tool."""
        tool = self._offer.callable.get(name)
        return self._described[id(tool)].input_schema if tool else None

    async def list_tools(
        self, context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List every tool that the caller may use, on one page.

        Raises:
            MCPError: its headers ask for what there is not.
        """
        caller = caller_in(context)
        try:
            listed = self._offer_to(context).listed
        except UnknownName as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        shown = [tool for tool in listed.values() if caller.may(tool.scope)]
        return types.ListToolsResult(tools=[self._described[id(tool)] for tool in shown])

    async def call(
        self, context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a call; whatever goes wrong is said in the result."""
        try:
            offered = self._offer_to(context).callable
        except UnknownName as error:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(f"VALIDATION_ERROR: {error}")
        tool = offered.get(params.name)
        if tool is None:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(self._describe_missing(params.name, offered))
        answer = self._login.answer(context, params, tool, partial(self._run, tool, context))
        outcome, result = await _settle(tool, answer)
        self._count(_command(tool.name, params.arguments or {}), outcome)
        level: types.LoggingLevel = "info" if outcome == "ok" else "warning"
        await tell_client(context, level, f"{tool.name}: {outcome}")
        return result

    def _offer_to(self, context: ServerRequestContext) -> Offer:
        """Return what is offered to a request, which over HTTP may ask for less."""
        if context.request is None:
            return self._offer
        asked = Selection.from_headers(context.request.headers)
        return self._offer if asked == Selection() else offer(self._tools, self._own, asked)

    def _describe_missing(self, name: str, offered: Iterable[str]) -> str:
        is_off = any(tool.name == name for tool in self._tools)
        return describe_tool_off(name, offered) if is_off else describe_unknown_tool(name, offered)

    async def _run(
        self,
        tool: Tool[Any],
        context: ServerRequestContext,
        given: Mapping[str, Any],
        since: float | None = None,
    ) -> types.CallToolResult:
        caller = caller_in(context)
        require_scope(caller, tool.scope)
        report = context.session.report_progress
        # Who waits for a job tells how far that is, and nothing else.
        telling = telling_time(report, since=since) if tool.wait is None else nullcontext()
        async with asyncio.timeout(CALL_SECONDS), telling:
            return await tool.call(self._app, given, caller, report)

    def _count(self, command: str, outcome: str) -> None:
        self._app.metrics.requests.labels(surface="mcp", command=command, outcome=outcome).inc()


async def _settle(tool: Tool[Any], answer: Awaitable[Answer]) -> tuple[str, Answer]:
    """Return how a call ended, and its answer; whatever goes wrong is one."""
    try:
        return "ok", await answer
    except TimeoutError:
        late = ScrapeTimeout(f"{tool.name} did not finish within {CALL_SECONDS} seconds.")
        return late.code, tool.fail(describe_failure(late))
    except CinderError as error:
        return error.code, tool.fail(describe_failure(error))
    except Exception:
        log.exception("a tool failed unexpectedly", tool=tool.name)
        return "INTERNAL_ERROR", tool.fail(describe_unexpected(tool.name))


def _command(tool: str, given: Mapping[str, Any]) -> str:
    """Return what a call is counted as: the tool, or the command given to it."""
    command = given.get("command")
    return command if isinstance(command, str) and command in _BATCH_COMMANDS else tool
