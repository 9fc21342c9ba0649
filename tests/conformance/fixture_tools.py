"""The tools that the conformance suite calls by name, each doing what the suite wants of it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from cinder.mcp.request_context import send_log_message
from cinder.mcp.resources import ResourceSubscriptions
from cinder.mcp.tool_calls import ToolCalls
from tests.conformance.fixture_content import (
    AUDIO,
    IMAGE,
    Answer,
    Params,
    ask_in_result,
    asked_form,
    asked_model,
    asked_roots,
    embedded,
    form,
    say,
)

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureTool:
    """A tool of the suite."""

    run: Run
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def describe(self, name: str) -> types.Tool:
        return types.Tool(name=name, description="For the suite", input_schema=dict(self.schema))


class FixtureTools(ToolCalls):
    """Cinder's tools, and those of the suite."""

    def add(self, watch: ResourceSubscriptions) -> None:
        self._fixtures = _tools(watch)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        fixture = self._fixtures.get(name)
        return fixture.schema if fixture else super().input_schema(name)

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        own = await super().list_tools(context, params)
        added = [tool.describe(name) for name, tool in self._fixtures.items()]
        return types.ListToolsResult(tools=[*own.tools, *added])

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        fixture = self._fixtures.get(params.name)
        return await (fixture.run(context, params) if fixture else super().call(context, params))


def _tools(watch: ResourceSubscriptions) -> dict[str, FixtureTool]:
    async def change_tools(_context: Context, _params: Params) -> Answer:
        await watch.publish(ToolsListChanged())
        return say("changed")

    async def change_prompts(_context: Context, _params: Params) -> Answer:
        await watch.publish(PromptsListChanged())
        return say("changed")

    plain = {
        "test_simple_text": _say_text,
        "test_image_content": _show_image,
        "test_audio_content": _play_audio,
        "test_embedded_resource": _embed,
        "test_multiple_content_types": _mix,
        "test_tool_with_logging": _log,
        "test_logging_tool": _log,
        "test_error_handling": _fail,
        "test_tool_with_progress": _progress,
        "test_elicitation_sep1034_defaults": _elicit_defaults,
        "test_elicitation_sep1330_enums": _elicit_choices,
        "test_missing_capability": _need_sampling,
        "test_trigger_tool_change": change_tools,
        "test_trigger_prompt_change": change_prompts,
        "test_streaming_elicitation": _ask_name,
        "test_input_required_result_elicitation": _ask_name,
        "test_input_required_result_sampling": _ask_model,
        "test_input_required_result_list_roots": _ask_roots,
        "test_input_required_result_request_state": _ask_with_state,
        "test_input_required_result_tampered_state": _ask_with_state,
        "test_input_required_result_multiple_inputs": _ask_all,
        "test_input_required_result_multi_round": _ask_twice,
        "test_input_required_result_capabilities": _ask_what_is_allowed,
    }
    return {name: FixtureTool(run=run) for name, run in plain.items()} | {
        "test_sampling": FixtureTool(run=_sample, schema=_texts("prompt")),
        "test_elicitation": FixtureTool(run=_elicit, schema=_texts("message")),
        "json_schema_2020_12_tool": FixtureTool(run=_say_text, schema=_RICH_SCHEMA),
        "test_custom_header": FixtureTool(run=_say_text, schema=_HEADER_SCHEMA),
    }


def _texts(*names: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


_HEADER_SCHEMA = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}

_RICH_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def _say_text(_context: Context, _params: Params) -> Answer:
    return say("This is a simple text response for testing.")


async def _show_image(_context: Context, _params: Params) -> Answer:
    return types.CallToolResult(content=[IMAGE])


async def _play_audio(_context: Context, _params: Params) -> Answer:
    return types.CallToolResult(content=[AUDIO])


async def _embed(_context: Context, _params: Params) -> Answer:
    text = "This is an embedded resource content."
    return types.CallToolResult(content=[embedded("test://embedded-resource", "text/plain", text)])


async def _mix(_context: Context, _params: Params) -> Answer:
    text = types.TextContent(text="Multiple content types test:")
    data = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", "application/json", data)
    return types.CallToolResult(content=[text, IMAGE, resource])


async def _log(context: Context, _params: Params) -> Answer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await send_log_message(context, "info", words)
    return say("logged")


async def _fail(_context: Context, _params: Params) -> Answer:
    text = types.TextContent(text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


async def _progress(context: Context, _params: Params) -> Answer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
    return say("progressed")


async def _sample(context: Context, params: Params) -> Answer:
    prompt = str((params.arguments or {})["prompt"])
    request = asked_model(prompt, 100)
    related = ServerMessageMetadata(related_request_id=context.request_id)
    answer = await context.session.send_request(
        request, types.CreateMessageResult, metadata=related
    )
    text = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return say(f"LLM response: {text}")


async def _elicit(context: Context, params: Params) -> Answer:
    message = str((params.arguments or {})["message"])
    texts = {name: {"type": "string"} for name in ("username", "email")}
    return await _ask_at_once(context, message, form(texts, required=True))


async def _elicit_defaults(context: Context, _params: Params) -> Answer:
    schema = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    return await _ask_at_once(context, "Check these", form(schema))


async def _elicit_choices(context: Context, _params: Params) -> Answer:
    plain = ["option1", "option2", "option3"]
    numbers = ("First", "Second", "Third")
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(numbers, 1)
    ]
    schema = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _ask_at_once(context, "Choose", form(schema))


async def _ask_at_once(context: Context, message: str, schema: dict[str, Any]) -> Answer:
    """Ask as the older era does: with a request of the server's own."""
    given = await context.session.elicit_form(message, schema, context.request_id)
    return say(f"Elicitation completed: action={given.action}, content={json.dumps(given.content)}")


async def _need_sampling(context: Context, _params: Params) -> Answer:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling", data)
    return say("sampling is there")


_Asked = dict[str, types.InputRequest]

_NAME: _Asked = {"user_name": asked_form("What is your name?", {"name": {"type": "string"}})}
_MODEL: _Asked = {"capital_question": asked_model("What is the capital of France?", 100)}
_GREETING: _Asked = {"greeting": asked_model("Generate a greeting", 50)}
_ROOTS: _Asked = {"client_roots": asked_roots()}
_CONFIRM: _Asked = {"confirm": asked_form("Please confirm", {"ok": {"type": "boolean"}})}
_STEP1: _Asked = {"step1": asked_form("Step 1: What is your name?", {"name": {"type": "string"}})}
_STEP2: _Asked = {
    "step2": asked_form("Step 2: Your favorite color?", {"color": {"type": "string"}})
}


async def _ask_name(_context: Context, params: Params) -> Answer:
    given = (params.input_responses or {}).get("user_name")
    if not isinstance(given, types.ElicitResult) or not (given.content or {}).get("name"):
        return ask_in_result(_NAME)
    return say(f"Hello, {(given.content or {})['name']}!")


async def _ask_model(_context: Context, params: Params) -> Answer:
    return _told(params, _MODEL)


async def _ask_roots(_context: Context, params: Params) -> Answer:
    return _told(params, _ROOTS)


async def _ask_with_state(_context: Context, params: Params) -> Answer:
    return _told(params, _CONFIRM, state="asked", words="state-ok")


async def _ask_all(_context: Context, params: Params) -> Answer:
    return _told(params, _NAME | _GREETING | _ROOTS, state="asked")


async def _ask_twice(_context: Context, params: Params) -> Answer:
    if params.request_state is None:
        return ask_in_result(_STEP1, "first")
    if params.request_state == "first":
        return ask_in_result(_STEP2, "second")
    return say("both steps done")


async def _ask_what_is_allowed(context: Context, params: Params) -> Answer:
    capabilities = context.session.client_capabilities or types.ClientCapabilities()
    wanted: _Asked = {}
    if capabilities.sampling is not None:
        wanted |= _MODEL
    if capabilities.elicitation is not None:
        wanted |= _NAME
    return _told(params, wanted)


def _told(
    params: Params,
    wanted: Mapping[str, types.InputRequest],
    state: str | None = None,
    words: str = "told:",
) -> Answer:
    """Ask until everything was told, then say it back."""
    told = params.input_responses or {}
    if not set(wanted) <= set(told) or params.request_state != state:
        return ask_in_result(wanted, state)
    said = {name: told[name].model_dump(mode="json", exclude_none=True) for name in wanted}
    return say(f"{words} {json.dumps(said)}")
