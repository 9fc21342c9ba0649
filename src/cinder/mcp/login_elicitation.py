"""Login elicitation: asks the user to log in when a page requires a login.

Clients up to 2025-11-25 are asked by a request of the server's own, while the call waits. Those of
2026-07-28 get the question as the call's result, and call again with the answer.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cinder.app import LogIn
from cinder.mcp.request_context import caller_in, reporting_elapsed_time
from cinder.mcp.tools.base import Tool
from cinder.models.caller import OWNER_CALLER
from cinder.models.document import VerdictKind
from cinder.models.url import host_and_port, parse_web_url

QUESTION_SECONDS = 600.0
"""For how long a question stands."""

LOGIN_KEY = "login"
"""What the question is called in a result."""

# A question holds a whole answer.
MAX_OPEN_QUESTIONS = 16

T = TypeVar("T")

ToolCallAnswer: TypeAlias = types.CallToolResult | types.InputRequiredResult
Context: TypeAlias = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it

# Whether to open a window is all that is asked: there is nothing to fill in.
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class RunTool(Protocol):
    """Runs the tool that was called, `since` when it has been under way."""

    def __call__(
        self, given: Mapping[str, Any], since: float | None = None
    ) -> Awaitable[types.CallToolResult]:
        """Return the tool's answer to these arguments."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginQuestion:
    """What a person is asked, and what the call is answered with if he would rather not."""

    tool: str
    given: Mapping[str, Any]
    again: Mapping[str, Any]
    """The arguments with which the page is read once he has logged in."""
    url: str
    until: float
    result: types.CallToolResult

    @property
    def host(self) -> str:
        """Whose login is wanted."""
        return host_and_port(self.url)[0]

    @property
    def words(self) -> str:
        """The question as a person reads it."""
        return (
            f"{self.host} wants a login. Open a browser window to log in? Close the window when "
            "you are done: the page is then read with your login."
        )


class LoginElicitation:
    """Answers calls; those that met a login wall with the page behind it, if a person helps."""

    def __init__(self, log_in: LogIn | None) -> None:
        self._log_in = log_in
        # By what the client sends back with the answer, which nobody can guess.
        self._open: dict[str, LoginQuestion] = {}
        # Who said no to a site is not asked about it at once again: until when, by host.
        self._declined: dict[str, float] = {}

    async def answer(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool[Any], run: RunTool
    ) -> ToolCallAnswer:
        """Return a call's answer, or the question that comes before it.

        Raises:
            CinderError: the call failed, or no window could be opened.
        """
        if self._log_in is None or tool.with_login is None or not _may_ask(context):
            return await run(params.arguments or {})
        began = _now()
        question = self._take(params)
        if question is None:
            result = await run(params.arguments or {})
            question = _make_question(result, params, tool)
            if question is None or self._declined.get(question.host, 0) > _now():
                return result
            if _is_modern(context):
                return self._ask_in_result(question)
            action = await _ask(context, question, began)
        else:
            said = (params.input_responses or {}).get(LOGIN_KEY)
            if not isinstance(said, types.ElicitResult):
                return self._ask_in_result(question)
            action = said.action
        if action == "accept":
            report = context.session.report_progress
            async with reporting_elapsed_time(report, doing="Waiting for the login", since=began):
                await self._log_in(question.url)
            return await run(question.again, since=began)
        if action == "decline":
            _keep(self._declined, question.host, _now() + QUESTION_SECONDS)
        return question.result

    def _ask_in_result(self, question: LoginQuestion) -> types.InputRequiredResult:
        state = secrets.token_urlsafe(16)
        _keep(self._open, state, question)
        params = types.ElicitRequestFormParams(message=question.words, requested_schema=_SCHEMA)
        request = types.ElicitRequest(params=params)
        return types.InputRequiredResult(input_requests={LOGIN_KEY: request}, request_state=state)

    def _take(self, params: types.CallToolRequestParams) -> LoginQuestion | None:
        """Return the question that a call brings the answer to; one that is unknown is no answer.

        It may be too old, or another process's: the call is then like any other.
        """
        question = self._open.pop(params.request_state or "", None)
        if question is None or _now() > question.until:
            return None
        is_same = (question.tool, question.given) == (params.name, params.arguments or {})
        return question if is_same else None


def _now() -> float:
    return asyncio.get_running_loop().time()


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    while len(kept) >= MAX_OPEN_QUESTIONS:
        del kept[next(iter(kept))]
    kept[key] = value


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _may_ask(context: Context) -> bool:
    """Whether the owner himself is there, by a client that can ask him."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities and capabilities.elicitation
    # A window on the owner's desktop, and his logins: no other token opens them.
    if not elicitation or caller_in(context).id != OWNER_CALLER.id:
        return False
    # Who names no mode means forms, the only one there was at first.
    has_forms = elicitation.form is not None or elicitation.url is None
    return has_forms and (_is_modern(context) or context.session.can_send_request)


def _make_question(
    result: types.CallToolResult, params: types.CallToolRequestParams, tool: Tool[Any]
) -> LoginQuestion | None:
    """Return what to ask after a result; None where it met no login wall."""
    data = result.structured_content
    if not isinstance(data, dict) or data.get("verdict") != VerdictKind.LOGIN_WALL:
        return None
    given = params.arguments or {}
    again = tool.with_login(given) if tool.with_login else None
    if again is None:
        return None
    return LoginQuestion(
        tool=tool.name,
        given=given,
        again=again,
        url=parse_web_url(str(again["url"])),
        until=_now() + QUESTION_SECONDS,
        result=result,
    )


async def _ask(context: Context, question: LoginQuestion, began: float) -> str:
    """Ask by a request; return what the person does."""
    session = context.session
    try:
        async with (
            asyncio.timeout(QUESTION_SECONDS),
            reporting_elapsed_time(
                session.report_progress, doing="Waiting for an answer", since=began
            ),
        ):
            said = await session.elicit_form(question.words, _SCHEMA, context.request_id)
    except (TimeoutError, MCPError):
        # Nobody was there, or the client would not ask him.
        return "cancel"
    return said.action
