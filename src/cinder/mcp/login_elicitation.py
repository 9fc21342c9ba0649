"""Login elicitation: asks the user to log in when a page requires a login.

Clients up to protocol version 2025-11-25 get the question as a request from the server while the
call waits. Clients of 2026-07-28 get it as the call's result, and call again with the answer.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cinder.app.browser import LogIn
from cinder.mcp.request_context import Context, caller_in, reporting_elapsed_time
from cinder.models.caller import OWNER_CALLER
from cinder.models.document import VerdictKind
from cinder.models.url import host_and_port, parse_web_url

QUESTION_SECONDS = 600.0
"""How long a question stays open, and a declined host is not asked about again."""

LOGIN_KEY = "login"
"""The key of the question in a result."""

# An open question holds a whole result.
MAX_OPEN_QUESTIONS = 16

T = TypeVar("T")

ToolCallAnswer: TypeAlias = types.CallToolResult | types.InputRequiredResult

# Returns the arguments of a call for the time after a login; None where a login would not help.
WithLogin: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any] | None]

# Runs the called tool with these arguments; the time is when a call began that is being retried.
RunTool: TypeAlias = Callable[[Mapping[str, Any], float | None], Awaitable[types.CallToolResult]]

# The form has no fields: the user only accepts or declines.
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginQuestion:
    """A question to the user, and the result of the call if they decline."""

    tool: str
    arguments: Mapping[str, Any]
    retry_arguments: Mapping[str, Any]
    """The arguments that read the page after the login."""
    url: str
    until: float
    result: types.CallToolResult

    @property
    def host(self) -> str:
        """The host that requires the login."""
        return host_and_port(self.url)[0]

    @property
    def message(self) -> str:
        """The question as the user reads it."""
        return (
            f"{self.host} requires a login. Open a browser window to log in? Close the window when "
            "you are done: the page is then read with your login."
        )


class LoginElicitation:
    """Answers tool calls; where one meets a login wall, offers the user to log in and retries."""

    def __init__(self, log_in: LogIn | None) -> None:
        self._log_in = log_in
        # By the random state that the client sends back with the answer.
        self._open: dict[str, LoginQuestion] = {}
        # Hosts that the user declined to log in to, and until when they are not asked again.
        self._declined: dict[str, float] = {}

    async def answer(
        self,
        context: Context,
        params: types.CallToolRequestParams,
        with_login: WithLogin | None,
        run: RunTool,
    ) -> ToolCallAnswer:
        """Return the result of a call, or the question that comes before it.

        Raises:
            CinderError: the call failed, or no browser window could be opened.
        """
        if self._log_in is None or with_login is None or not _may_ask(context):
            return await run(params.arguments or {}, None)
        began = _now()
        call = (params.name, params.arguments or {})
        question = self._open.pop(params.request_state or "", None)
        if question and (_now() > question.until or (question.tool, question.arguments) != call):
            question = None
        if question is None:
            result = await run(params.arguments or {}, None)
            question = _make_question(result, params, with_login)
            if question is None or self._declined.get(question.host, 0) > _now():
                return result
            if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return self._ask_in_result(question)
            action = await _ask(context, question, began)
        else:
            response = (params.input_responses or {}).get(LOGIN_KEY)
            if not isinstance(response, types.ElicitResult):
                return self._ask_in_result(question)
            action = response.action
        if action == "accept":
            report = context.session.report_progress
            async with reporting_elapsed_time(report, doing="Waiting for the login", since=began):
                await self._log_in(question.url)
            return await run(question.retry_arguments, began)
        if action == "decline":
            _put_bounded(self._declined, question.host, _now() + QUESTION_SECONDS)
        return question.result

    def _ask_in_result(self, question: LoginQuestion) -> types.InputRequiredResult:
        state = secrets.token_urlsafe(16)
        _put_bounded(self._open, state, question)
        params = types.ElicitRequestFormParams(message=question.message, requested_schema=_SCHEMA)
        request = types.ElicitRequest(params=params)
        return types.InputRequiredResult(input_requests={LOGIN_KEY: request}, request_state=state)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _put_bounded(entries: dict[str, T], key: str, value: T) -> None:
    while len(entries) >= MAX_OPEN_QUESTIONS:
        del entries[next(iter(entries))]
    entries[key] = value


def _may_ask(context: Context) -> bool:
    """Whether the caller is the owner, with a client that supports form elicitation."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities and capabilities.elicitation
    # The window opens on the owner's desktop and uses their logins: no other token may do that.
    if not elicitation or caller_in(context).id != OWNER_CALLER.id:
        return False
    # Clients that name no mode support forms, which was the only mode at first.
    has_forms = elicitation.form is not None or elicitation.url is None
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return has_forms and (is_modern or context.session.can_send_request)


def _make_question(
    result: types.CallToolResult, params: types.CallToolRequestParams, with_login: WithLogin
) -> LoginQuestion | None:
    """Return the question to ask after a result; None if it met no login wall."""
    data, arguments = result.structured_content, params.arguments or {}
    if not isinstance(data, dict) or data.get("verdict") != VerdictKind.LOGIN_WALL:
        return None
    retry_arguments = with_login(arguments)
    if retry_arguments is None:
        return None
    return LoginQuestion(
        tool=params.name,
        arguments=arguments,
        retry_arguments=retry_arguments,
        url=parse_web_url(str(retry_arguments["url"])),
        until=_now() + QUESTION_SECONDS,
        result=result,
    )


async def _ask(context: Context, question: LoginQuestion, began: float) -> str:
    """Ask by a request to the client; return the user's action."""
    session = context.session
    try:
        async with (
            asyncio.timeout(QUESTION_SECONDS),
            reporting_elapsed_time(
                session.report_progress, doing="Waiting for an answer", since=began
            ),
        ):
            response = await session.elicit_form(question.message, _SCHEMA, context.request_id)
    except (TimeoutError, MCPError):
        return "cancel"
    return response.action
