"""Toolsets and tool calls: which tools a client sees, and how calls and failures are answered."""

import asyncio
import difflib
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.api.errors import advise
from cinder.api.requests import require_scope
from cinder.api.schemas.scrape import Command
from cinder.app import App
from cinder.config import ServerSettings, SettingsError
from cinder.errors import (
    CinderError,
    Diagnostics,
    ErrorCode,
    FieldProblem,
    InvalidRequest,
    ScrapeTimeout,
)
from cinder.mcp.login_elicitation import LoginElicitation, ToolCallAnswer
from cinder.mcp.request_context import (
    CALL_SECONDS,
    SCRAPE_TIMEOUT_MS,
    caller_in,
    reporting_elapsed_time,
    send_log_message,
)
from cinder.mcp.results import BOUNDARY_CHARS, text_failure, within_boundary
from cinder.mcp.tools.base import Tool
from cinder.mcp.tools.crawl import CRAWL, CRAWL_STATUS
from cinder.mcp.tools.extract import EXTRACT
from cinder.mcp.tools.scrape import CINDER_SCRAPE, SCRAPE
from cinder.mcp.tools.search import SEARCH, SEARCH_AND_SCRAPE
from cinder.mcp.tools.text import EXTRACT_CONTENT, TEXT_SIMILARITY
from cinder.models.document import VerdictKind
from cinder.models.redaction import redact

# Any: each tool has an arguments model of its own, and reads its arguments by it.
TOOLS: tuple[Tool[Any], ...] = (
    SCRAPE,
    CINDER_SCRAPE,
    SEARCH,
    SEARCH_AND_SCRAPE,
    CRAWL,
    CRAWL_STATUS,
    EXTRACT,
    EXTRACT_CONTENT,
    TEXT_SIMILARITY,
)


TOOLSETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "default": ("scrape", "cinder_search", "cinder_crawl", "cinder_get_crawl_status"),
        "scrape": ("scrape", "cinder_scrape"),
        "search": ("cinder_search", "cinder_search_and_scrape"),
        "crawl": ("cinder_crawl", "cinder_get_crawl_status"),
        "extract": ("cinder_extract",),
        "text": ("scrape_extract_content", "scrape_text_similarity"),
        "all": tuple(tool.name for tool in TOOLS),
    }
)

TOOLSETS_HEADER = "x-mcp-toolsets"
TOOLS_HEADER = "x-mcp-tools"
READ_ONLY_HEADER = "x-mcp-readonly"

_TRUE = frozenset({"1", "true", "yes", "on"})

ToolsByName = Mapping[str, Tool[Any]]  # Any: see the registry


class UnknownToolName(ValueError):
    """There is no toolset, or no tool, of this name."""

    def __init__(self, kind: str, message: str) -> None:
        """Take whether it names a toolset or a tool, and what is wrong."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """What was asked for: toolsets, single tools beside them, and whether only to read."""

    toolsets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_read_only: bool = False

    @classmethod
    def from_settings(cls, server: ServerSettings) -> "ToolSelection":
        """Return what the owner wants."""
        return cls(
            toolsets=server.mcp_toolsets,
            tools=server.mcp_tools,
            is_read_only=server.mcp_read_only,
        )

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "ToolSelection":
        """Return what a request wants."""
        return cls(
            toolsets=_names(headers.get(TOOLSETS_HEADER, "")),
            tools=_names(headers.get(TOOLS_HEADER, "")),
            is_read_only=headers.get(READ_ONLY_HEADER, "").strip().lower() in _TRUE,
        )

    def names(self) -> frozenset[str] | None:
        """Return the tools selected by name; None where nothing was asked for.

        Raises:
            UnknownName: something was asked for that there is not.
        """
        if not self.toolsets and not self.tools:
            return None
        of_sets = [name for each in self.toolsets for name in _find("toolset", each, TOOLSETS)]
        everything = {name: (name,) for name in TOOLSETS["all"]}
        single = [name for each in self.tools for name in _find("tool", each, everything)]
        return frozenset((*of_sets, *single))


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools of one request."""

    listed: ToolsByName
    callable: ToolsByName
    """What else may be called: an answer may name a tool that is not worth listing to everybody."""


def offer_tools(
    tools: Sequence[Tool[Any]], own: ToolSelection, asked: ToolSelection | None = None
) -> OfferedTools:
    """Return what is offered of the tools: a request may narrow what the owner chose, not widen it.

    Raises:
        UnknownName: something was asked for that there is not.
    """
    asked = asked or ToolSelection()
    chosen = [names for each in (own, asked) if (names := each.names()) is not None]
    is_read_only = own.is_read_only or asked.is_read_only
    known = {tool.name: tool.as_read_only() if is_read_only else tool for tool in tools}
    if not chosen:
        by_default = TOOLSETS["default"]
        listed = {name: tool for name, tool in known.items() if name in by_default}
        return OfferedTools(listed, known)
    named = {name: tool for name, tool in known.items() if all(name in each for each in chosen)}
    return OfferedTools(named, named)


def check_tool_selection(server: ServerSettings) -> None:
    """Refuse settings that name what there is not.

    Raises:
        SettingsError: they do; the message has the nearest name.
    """
    try:
        ToolSelection.from_settings(server).names()
    except UnknownToolName as error:
        raise SettingsError(f"server.mcp-{error.kind}s: {error} See docs/mcp.md.") from None


def _find(kind: str, name: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if name in known:
        return known[name]
    raise UnknownToolName(kind, f"There is no {kind} {name[:100]!r}. {nearest_name(name, known)}")


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the sentence that names what was probably meant, or else all that there is."""
    names = list(known)
    near = difflib.get_close_matches(name[:100].lower(), names, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(names)}."


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text[:2_000].split(",") if (name := part.strip()))


MAX_FAILURE_CHARS = 1_000

_MESSAGE_CHARS = 450
_STRATEGY_ERROR_CHARS = 100

# Codes whose messages already say what to do next have no entry.
_NEXT_STEP = {
    ErrorCode.DNS_ERROR: "Check the spelling of the host name.",
    ErrorCode.SCRAPE_TIMEOUT: (
        f"Try again, or another page; a tool call has at most {SCRAPE_TIMEOUT_MS} ms."
    ),
    ErrorCode.SCRAPE_FAILED: "Check the URL, or try again later.",
    ErrorCode.CONTENT_TOO_LARGE: (
        "Use a smaller page; the owner can raise CINDER_SCRAPE__MAX_BODY_BYTES."
    ),
    ErrorCode.PARSE_LIMIT: "Use another page, or a smaller part of the HTML.",
    ErrorCode.CRAWL_NOT_FOUND: "Give the crawlId that cinder_crawl returned, or start a crawl.",
    ErrorCode.CRAWL_EXPIRED: "Start the crawl anew with cinder_crawl.",
    ErrorCode.BATCH_NOT_FOUND: "Give the jobId that scrape returned for urls, or start a batch.",
    ErrorCode.BATCH_EXPIRED: "Start the batch anew: scrape with urls.",
    ErrorCode.SEARCH_FAILED: "Try again later; `cinder doctor` tries each provider.",
    ErrorCode.EGRESS_BLOCKED: (
        "Use a public address; the owner can open others with CINDER_EGRESS__ALLOW."
    ),
    ErrorCode.ACTION_FAILED: (
        "Check the selector in the page's html, or put a wait before the action."
    ),
    ErrorCode.PROFILE_LOCKED: "Leave profile out, or have the owner close that browser.",
    ErrorCode.BROWSER_UNAVAILABLE: "Try mode static, without actions and screenshots.",
    ErrorCode.EXTRACTION_FAILED: "Read the pages with scrape first, to see what they are.",
    ErrorCode.UNSUPPORTED: "Call again without it.",
    ErrorCode.VALIDATION_ERROR: "Correct the arguments and call again.",
    ErrorCode.CACHE_ERROR: (
        "Try again; scrape with forceRescrape and resultHandling returnOnly needs no database."
    ),
    ErrorCode.STORAGE_FULL: (
        "Tell the owner. Saved pages can be read meanwhile, and scrape with resultHandling "
        "returnOnly keeps nothing."
    ),
}


def describe_failure(error: CinderError) -> str:
    """Return an error as a model reads it."""
    if isinstance(error, InvalidRequest) and error.problems:
        return redact(_describe_problems(error.problems))
    lines = [_cut(redact(error.message), _MESSAGE_CHARS)]
    is_blocked = error.verdict == VerdictKind.BLOCKED
    if next_step := advise(error) if is_blocked else _NEXT_STEP.get(error.code):
        lines.append(next_step)
    if error.diagnostics is not None and error.diagnostics.attempts:
        lines.append(f"Diagnostics: {_describe_diagnostics(error.diagnostics)}")
    text = "\n".join(lines)
    if _quotes_page(error):
        room = MAX_FAILURE_CHARS - BOUNDARY_CHARS - len(error.code) - 2
        return f"{error.code}: {within_boundary(_cut(text, room))}"
    return _cut(f"{error.code}: {text}", MAX_FAILURE_CHARS)


def _quotes_page(error: CinderError) -> bool:
    """Whether a failure repeats words of a page: what a script threw, a title, evidence."""
    is_telling = error.verdict not in (None, VerdictKind.HTTP_ERROR)
    return error.code is ErrorCode.ACTION_FAILED or is_telling


def describe_unexpected(tool: str) -> str:
    """Return what is said of a failure that nobody foresaw; its details are for the log alone."""
    return (
        f"INTERNAL_ERROR: {tool} failed in a way that cinder did not expect, and the details were "
        "logged. Try again with simpler arguments, or use another tool."
    )


def describe_unknown_tool(name: str, known: Iterable[str]) -> str:
    """Return what is said of a tool that does not exist."""
    names = list(known)
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool {_cut(name, 100)!r}.{meant} Call one of: {', '.join(names)}."


def describe_disabled_tool(name: str, offered: Iterable[str]) -> str:
    """Return what is said of a tool that exists, but was not chosen."""
    return (
        f"The tool {name} is not offered here: the owner, or the headers X-MCP-Toolsets and "
        f"X-MCP-Tools of this request, chose {', '.join(offered) or 'none'}. Call one of these, or "
        f"have the owner start cinder with --tools {name}."
    )


def _describe_problems(problems: tuple[FieldProblem, ...]) -> str:
    text = f"{ErrorCode.VALIDATION_ERROR}: Correct these arguments and call again."
    for index, problem in enumerate(problems):
        line = f"\n- {_cut(problem.field, 100)}: {problem.message}"
        rest = f"\n- and {len(problems) - index} more"
        if len(text) + len(line) + len(rest) > MAX_FAILURE_CHARS:
            return text + rest
        text += line
    return text


def _describe_diagnostics(diagnostics: Diagnostics) -> str:
    errors = {
        strategy: _cut(redact(error), _STRATEGY_ERROR_CHARS)
        for strategy, error in diagnostics.strategy_errors.items()
    }
    shown = {
        "strategiesAttempted": diagnostics.strategies,
        "strategyErrors": errors,
        "timing": diagnostics.timing,
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


log = structlog.get_logger()

_BATCH_COMMANDS = frozenset(Command) - {Command.START}


class ToolCalls:
    """Answers `tools/list` and `tools/call`; without a selection, all tools are listed."""

    def __init__(
        self,
        app: App,
        tools: Sequence[Tool[Any]],  # Any: see the registry
        selection: ToolSelection | None = None,
    ) -> None:
        self._app = app
        self._tools = tools
        self._own = selection or ToolSelection()
        self._login = LoginElicitation(app.log_in)
        everything = {tool.name: tool for tool in tools}
        self._offer = (
            offer_tools(tools, selection) if selection else OfferedTools(everything, everything)
        )
        # By the tool itself, whose variants share a name.
        variants = (each for tool in tools for each in (tool, tool.as_read_only()))
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
        except UnknownToolName as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        shown = [tool for tool in listed.values() if caller.may(tool.scope)]
        return types.ListToolsResult(tools=[self._described[id(tool)] for tool in shown])

    async def call(
        self, context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a call; whatever goes wrong is said in the result."""
        try:
            offered = self._offer_to(context).callable
        except UnknownToolName as error:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(f"VALIDATION_ERROR: {error}")
        tool = offered.get(params.name)
        if tool is None:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(self._describe_missing(params.name, offered))
        answer = self._login.answer(context, params, tool, partial(self._run, tool, context))
        outcome, result = await _await_outcome(tool, answer)
        self._count(_counted_command(tool.name, params.arguments or {}), outcome)
        level: types.LoggingLevel = "info" if outcome == "ok" else "warning"
        await send_log_message(context, level, f"{tool.name}: {outcome}")
        return result

    def _offer_to(self, context: ServerRequestContext) -> OfferedTools:
        """Return what is offered to a request, which over HTTP may ask for less."""
        if context.request is None:
            return self._offer
        asked = ToolSelection.from_headers(context.request.headers)
        return (
            self._offer if asked == ToolSelection() else offer_tools(self._tools, self._own, asked)
        )

    def _describe_missing(self, name: str, offered: Iterable[str]) -> str:
        is_off = any(tool.name == name for tool in self._tools)
        return (
            describe_disabled_tool(name, offered)
            if is_off
            else describe_unknown_tool(name, offered)
        )

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
        telling = (
            reporting_elapsed_time(report, since=since) if tool.wait is None else nullcontext()
        )
        async with asyncio.timeout(CALL_SECONDS), telling:
            return await tool.call(self._app, given, caller, report)

    def _count(self, command: str, outcome: str) -> None:
        self._app.metrics.requests.labels(surface="mcp", command=command, outcome=outcome).inc()


async def _await_outcome(
    tool: Tool[Any], answer: Awaitable[ToolCallAnswer]
) -> tuple[str, ToolCallAnswer]:
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


def _counted_command(tool: str, given: Mapping[str, Any]) -> str:
    """Return what a call is counted as: the tool, or the command given to it."""
    command = given.get("command")
    return command if isinstance(command, str) and command in _BATCH_COMMANDS else tool
