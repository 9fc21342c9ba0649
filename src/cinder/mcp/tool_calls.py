"""Toolsets and tool calls: which tools a client sees, and how calls and failures are answered."""

import asyncio
import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.api.errors import NEXT_STEP, advise
from cinder.api.requests import require_scope
from cinder.api.schemas.scrape import Command
from cinder.app.composition import App
from cinder.config.serving import ServerSettings
from cinder.errors import (
    CinderError,
    ErrorCode,
    FieldProblem,
    InvalidRequest,
    ScrapeTimeout,
    SettingsError,
)
from cinder.mcp.login_elicitation import LoginElicitation, ToolCallAnswer
from cinder.mcp.request_context import (
    CALL_SECONDS,
    SCRAPE_TIMEOUT_MS,
    caller_in,
    reporting_elapsed_time,
    send_log_message,
)
from cinder.mcp.results import BOUNDARY_CHARS, nearest_name, text_failure, within_boundary
from cinder.mcp.tools.base import Tool
from cinder.models.document import VerdictKind
from cinder.models.redaction import redact

_ALL_TOOLS = (
    *("scrape", "cinder_scrape", "cinder_search", "cinder_search_and_scrape"),
    *("cinder_map", "cinder_crawl", "cinder_get_crawl_status", "cinder_extract"),
    *("scrape_extract_content", "scrape_text_similarity"),
)
TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "default": _ALL_TOOLS,
    "core": ("scrape", "cinder_search", "cinder_crawl", "cinder_get_crawl_status"),
    "scrape": ("scrape", "cinder_scrape"),
    "search": ("cinder_search", "cinder_search_and_scrape"),
    "crawl": ("cinder_map", "cinder_crawl", "cinder_get_crawl_status"),
    "extract": ("cinder_extract",),
    "text": ("scrape_extract_content", "scrape_text_similarity"),
    "all": _ALL_TOOLS,
}

TOOLSETS_HEADER = "x-mcp-toolsets"
TOOLS_HEADER = "x-mcp-tools"
READ_ONLY_HEADER = "x-mcp-readonly"
MAX_FAILURE_CHARS = 1_000

_TRUE = frozenset({"1", "true", "yes", "on"})
_MESSAGE_CHARS = 450
_STRATEGY_ERROR_CHARS = 100
_BATCH_COMMANDS = frozenset(Command) - {Command.START}

ToolsByName = Mapping[str, Tool[Any]]  # Any: each tool has an arguments model of its own

log = structlog.get_logger()


class UnknownToolName(ValueError):
    """No toolset, or no tool, has this name."""

    def __init__(self, kind: str, message: str) -> None:
        """Take the kind of name, "toolset" or "tool", and the message."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """The requested toolsets, single tools in addition to them, and whether to only read pages."""

    toolsets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_read_only: bool = False

    @classmethod
    def from_settings(cls, server: ServerSettings) -> "ToolSelection":
        """Return the owner's selection."""
        return cls(
            toolsets=server.mcp_toolsets,
            tools=server.mcp_tools,
            is_read_only=server.mcp_read_only,
        )

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "ToolSelection":
        """Return the selection of a request."""
        return cls(
            toolsets=_split_names(headers.get(TOOLSETS_HEADER, "")),
            tools=_split_names(headers.get(TOOLS_HEADER, "")),
            is_read_only=headers.get(READ_ONLY_HEADER, "").strip().lower() in _TRUE,
        )

    def names(self) -> frozenset[str] | None:
        """Return the names of the selected tools; None if nothing was selected.

        Raises:
            UnknownToolName: a toolset or tool does not exist.
        """
        if not self.toolsets and not self.tools:
            return None
        selected: set[str] = set()
        every_tool = {name: (name,) for name in TOOLSETS["all"]}
        for kind, names, known in (
            ("toolset", self.toolsets, TOOLSETS),
            ("tool", self.tools, every_tool),
        ):
            for name in names:
                if name not in known:
                    message = f"There is no {kind} {name[:100]!r}. {nearest_name(name, known)}"
                    raise UnknownToolName(kind, message)
                selected.update(known[name])
        return frozenset(selected)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools of one request."""

    listed: ToolsByName
    callable: ToolsByName
    """Tools that may be called: results may name a tool that is not listed by default."""


def offer_tools(
    tools: Sequence[Tool[Any]], own: ToolSelection, requested: ToolSelection | None = None
) -> OfferedTools:
    """Return the tools to offer: a request may narrow the owner's selection, not widen it.

    Raises:
        UnknownToolName: a toolset or tool does not exist.
    """
    requested = requested or ToolSelection()
    selected = [names for part in (own, requested) if (names := part.names()) is not None]
    is_read_only = own.is_read_only or requested.is_read_only
    known = {tool.name: tool.as_read_only() if is_read_only else tool for tool in tools}
    if not selected:
        default = {name: tool for name, tool in known.items() if name in TOOLSETS["default"]}
        return OfferedTools(default, known)
    named = {name: tool for name, tool in known.items() if all(name in part for part in selected)}
    return OfferedTools(named, named)


def check_tool_selection(server: ServerSettings) -> None:
    """Check that the settings name existing toolsets and tools.

    Raises:
        SettingsError: they do not; the message has the nearest name.
    """
    try:
        ToolSelection.from_settings(server).names()
    except UnknownToolName as error:
        raise SettingsError(f"server.mcp-{error.kind}s: {error} See docs/mcp.md.") from None


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text[:2_000].split(",") if (name := part.strip()))


# Codes whose messages already say what to do next have no entry.
_NEXT_STEP = {
    ErrorCode.DNS_ERROR: "Check the spelling of the host name.",
    ErrorCode.SCRAPE_TIMEOUT: (
        f"Try again, or another page; a tool call has at most {SCRAPE_TIMEOUT_MS} ms."
    ),
    ErrorCode.SCRAPE_FAILED: "Check the URL, or try again later.",
    ErrorCode.TARGET_HTTP_ERROR: NEXT_STEP[VerdictKind.HTTP_ERROR],
    ErrorCode.BLOCKED: NEXT_STEP[VerdictKind.BLOCKED],
    ErrorCode.CONTENT_TOO_LARGE: (
        "Use a smaller page; the owner can raise CINDER_SCRAPE__MAX_BODY_BYTES."
    ),
    ErrorCode.PARSE_LIMIT: "Use another page, or a smaller part of the HTML.",
    ErrorCode.CRAWL_NOT_FOUND: "Give the crawlId that cinder_crawl returned, or start a crawl.",
    ErrorCode.CRAWL_EXPIRED: "Start the crawl again with cinder_crawl.",
    ErrorCode.BATCH_NOT_FOUND: "Give the jobId that scrape returned for urls, or start a batch.",
    ErrorCode.BATCH_EXPIRED: "Start the batch again: scrape with urls.",
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
    """Return the text of an error for a model."""
    if isinstance(error, InvalidRequest) and error.problems:
        return redact(_describe_problems(error.problems))
    lines = [_cut(redact(error.message), _MESSAGE_CHARS)]
    if next_step := advise(error) or _NEXT_STEP.get(error.code):
        lines.append(next_step)
    if (diagnostics := error.diagnostics) is not None and diagnostics.attempts:
        data = {
            "strategiesAttempted": diagnostics.strategies,
            "strategyErrors": {
                strategy: _cut(redact(message), _STRATEGY_ERROR_CHARS)
                for strategy, message in diagnostics.strategy_errors.items()
            },
            "timing": diagnostics.timing,
            **({"proxyPool": diagnostics.proxy_pool} if diagnostics.proxy_pool else {}),
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        lines.append(f"Diagnostics: {text}")
    text = "\n".join(lines)
    # These quote the page: the error of a script, a title, the evidence of a verdict.
    has_evidence = error.verdict not in (None, VerdictKind.HTTP_ERROR)
    if has_evidence or error.code is ErrorCode.ACTION_FAILED:
        room = MAX_FAILURE_CHARS - BOUNDARY_CHARS - len(error.code) - 2
        return f"{error.code}: {within_boundary(_cut(text, room))}"
    return _cut(f"{error.code}: {text}", MAX_FAILURE_CHARS)


def describe_unexpected(tool: str) -> str:
    """Return the text of an unexpected failure; its details go to the log only."""
    return (
        f"INTERNAL_ERROR: {tool} failed in a way that cinder did not expect, and the details were "
        "logged. Try again with simpler arguments, or use another tool."
    )


def describe_unknown_tool(name: str, known: Iterable[str]) -> str:
    """Return the text of a failure for a tool that does not exist."""
    names = list(known)
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool {_cut(name, 100)!r}.{hint} Call one of: {', '.join(names)}."


def describe_disabled_tool(name: str, offered: Iterable[str]) -> str:
    """Return the text of a failure for a tool that exists, but was not selected."""
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


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


class ToolCalls:
    """Answers `tools/list` and `tools/call`; without a selection, all tools are listed."""

    def __init__(
        self,
        app: App,
        tools: Sequence[Tool[Any]],  # Any: as above
        selection: ToolSelection | None = None,
    ) -> None:
        self._app = app
        self._tools = tools
        self._own = selection or ToolSelection()
        self._login = LoginElicitation(app.log_in)
        by_name = {tool.name: tool for tool in tools}
        self._offer = offer_tools(tools, selection) if selection else OfferedTools(by_name, by_name)
        # Keyed by identity: the variants of a tool share its name.
        self._described: dict[int, types.Tool] = {}

    @property
    def listed(self) -> frozenset[str]:
        """The names of the tools that are listed for requests without a selection."""
        return frozenset(self._offer.listed)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:  # Any: a JSON Schema
        """Return a tool's input schema; None if there is no such tool."""
        tool = self._offer.callable.get(name)
        return self._describe(tool).input_schema if tool else None

    async def list_tools(
        self, context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List every tool that the caller may use, on one page.

        Raises:
            MCPError: the request's headers name a toolset or tool that does not exist.
        """
        caller = caller_in(context)
        try:
            listed = self._offer_to(context).listed
        except UnknownToolName as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        allowed = [tool for tool in listed.values() if caller.may(tool.scope)]
        return types.ListToolsResult(tools=[self._describe(tool) for tool in allowed])

    async def call(
        self, context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> ToolCallAnswer:
        """Answer a call; failures are results, too."""
        try:
            offered = self._offer_to(context).callable
        except UnknownToolName as error:
            self._count("unknown", "VALIDATION_ERROR")
            return text_failure(f"VALIDATION_ERROR: {error}")
        tool = offered.get(params.name)
        if tool is None:
            self._count("unknown", "VALIDATION_ERROR")
            exists = any(known.name == params.name for known in self._tools)
            describe = describe_disabled_tool if exists else describe_unknown_tool
            return text_failure(describe(params.name, offered))
        run = partial(self._run, tool, context)
        result: ToolCallAnswer
        try:
            result = await self._login.answer(context, params, tool.with_login, run)
            outcome = "ok"
        except TimeoutError:
            late = ScrapeTimeout(f"{tool.name} did not finish within {CALL_SECONDS} seconds.")
            outcome, result = late.code, tool.fail(describe_failure(late))
        except CinderError as error:
            outcome, result = error.code, tool.fail(describe_failure(error))
        except Exception:
            log.exception("a tool failed unexpectedly", tool=tool.name)
            outcome, result = "INTERNAL_ERROR", tool.fail(describe_unexpected(tool.name))
        command = (params.arguments or {}).get("command")
        if not isinstance(command, str) or command not in _BATCH_COMMANDS:
            command = tool.name
        self._count(command, outcome)
        level: types.LoggingLevel = "info" if outcome == "ok" else "warning"
        await send_log_message(context, level, f"{tool.name}: {outcome}")
        return result

    def _describe(self, tool: Tool[Any]) -> types.Tool:
        # When it is first asked for: a server starts without the schemas, which take 80 ms.
        if id(tool) not in self._described:
            self._described[id(tool)] = tool.describe()
        return self._described[id(tool)]

    def _offer_to(self, context: ServerRequestContext) -> OfferedTools:
        """Return the tools offered to a request, which over HTTP may select fewer."""
        if context.request is None:
            return self._offer
        requested = ToolSelection.from_headers(context.request.headers)
        if requested == ToolSelection():
            return self._offer
        return offer_tools(self._tools, self._own, requested)

    async def _run(
        self,
        tool: Tool[Any],
        context: ServerRequestContext,
        arguments: Mapping[str, Any],
        since: float | None,
    ) -> types.CallToolResult:
        caller = caller_in(context)
        require_scope(caller, tool.scope)
        report = context.session.report_progress
        # Tools that wait for a job report the job's progress instead.
        reporting = (
            reporting_elapsed_time(report, since=since) if tool.wait is None else nullcontext()
        )
        async with asyncio.timeout(CALL_SECONDS), reporting:
            return await tool.call(self._app, arguments, caller, report)

    def _count(self, command: str, outcome: str) -> None:
        self._app.metrics.requests.labels(surface="mcp", command=command, outcome=outcome).inc()
