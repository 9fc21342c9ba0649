"""Anthropic's messages API."""

import json
from collections.abc import Iterator, Mapping, Sequence

from cinder.llm.base import FinishReason, TokenCounts
from cinder.llm.wire_format import (
    ANSWER_NAME,
    EndpointDialect,
    RequestedJson,
    ResponseFormat,
    WireAnswer,
    WireCall,
    count_at,
    messages_of,
    path_of,
    schema_instructions,
)
from cinder.models.document import Json

_VERSION = "2023-06-01"
_CUT = ("max_tokens", "model_context_window_exceeded")
_SENT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicFormat:
    """Writes and reads messages.

    There is no mode for any JSON object; its rung is a tool that the model has to call.
    """

    def __init__(self, base_url: str, model: str, api_key: str | None) -> None:
        prefix = "" if path_of(base_url).endswith("/v1") else "/v1"
        self.url = f"{base_url}{prefix}/messages"
        key = {} if api_key is None else {"x-api-key": api_key}
        self.headers: Mapping[str, str] = {"anthropic-version": _VERSION, **key}
        self._model = model

    def body(self, call: WireCall, dialect: EndpointDialect) -> dict[str, Json]:
        """Return what is posted."""
        body: dict[str, Json] = {
            "model": self._model,
            "messages": messages_of(call),
            "max_tokens": call.max_output_tokens,
        }
        if system := _system(call):
            body["system"] = system
        if dialect.sends_temperature:
            body["temperature"] = 0
        return body if call.wanted is None else {**body, **_asking_for(call.wanted)}

    def read(self, body: Json) -> WireAnswer:
        """Return what an answer says.

        Raises:
            ValueError: it is no message.
        """
        if not isinstance(body, Mapping):
            raise ValueError("it is no object")
        content = body.get("content")
        if not isinstance(content, Sequence) or isinstance(content, str):
            raise ValueError("it has no content")
        reason, model = body.get("stop_reason"), body.get("model")
        return WireAnswer(
            text="".join(_texts(content)),
            tokens=_tokens_of(body.get("usage")),
            finish_reason=FinishReason.LENGTH if reason in _CUT else FinishReason.STOP,
            model=model if isinstance(model, str) else None,
            refusal="it declined" if reason == "refusal" else None,
        )


def _system(call: WireCall) -> str:
    wanted = call.wanted
    asking = (
        [schema_instructions(wanted)] if wanted and wanted.rung is ResponseFormat.PROMPT else []
    )
    return "\n\n".join(part for part in (call.system, *asking) if part)


def _asking_for(wanted: RequestedJson) -> dict[str, Json]:
    if wanted.rung is ResponseFormat.JSON_SCHEMA:
        return {"output_config": {"format": {"type": "json_schema", "schema": wanted.strict}}}
    if wanted.rung is ResponseFormat.PROMPT:
        return {}
    tool: Json = {
        "name": ANSWER_NAME,
        "description": "Give the answer. Where a value is not known, give null.",
        "input_schema": wanted.shown,
    }
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_NAME}}


def _texts(content: Sequence[Json]) -> Iterator[str]:
    """Yield what the answer consists of: the tool's input alone, if it was called."""
    blocks = [block for block in content if isinstance(block, Mapping)]
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("name") == ANSWER_NAME:
            yield json.dumps(block.get("input"), ensure_ascii=False)
            return
    for block in blocks:
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _tokens_of(usage: Json) -> TokenCounts | None:
    """Return the counts; what is read from the provider's cache is sent all the same."""
    received = count_at(usage, "output_tokens")
    if received is None or count_at(usage, "input_tokens") is None:
        return None
    return TokenCounts(sum(count_at(usage, name) or 0 for name in _SENT), received)
