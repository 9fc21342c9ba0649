"""Anthropic's messages API."""

import json
from collections.abc import Mapping, Sequence

from cinder.llm.base import FinishReason, TokenCounts
from cinder.llm.wire_format import (
    ANSWER_NAME,
    EndpointDialect,
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

    The API has no mode for any JSON object; a tool that the model must call replaces it.
    """

    def __init__(self, base_url: str, model: str, api_key: str | None) -> None:
        prefix = "" if path_of(base_url).endswith("/v1") else "/v1"
        self.url = f"{base_url}{prefix}/messages"
        key = {} if api_key is None else {"x-api-key": api_key}
        self.headers: Mapping[str, str] = {"anthropic-version": _VERSION, **key}
        self._model = model

    def body(self, call: WireCall, dialect: EndpointDialect) -> dict[str, Json]:
        """Return the body to post."""
        body: dict[str, Json] = {
            "model": self._model,
            "messages": messages_of(call),
            "max_tokens": call.max_output_tokens,
        }
        requested, system = call.requested, call.system
        if requested and requested.format is ResponseFormat.PROMPT:
            system = "\n\n".join(filter(None, (system, schema_instructions(requested))))
        if system:
            body["system"] = system
        if dialect.sends_temperature:
            body["temperature"] = 0
        if requested and requested.format is ResponseFormat.JSON_SCHEMA:
            body["output_config"] = {"format": {"type": "json_schema", "schema": requested.strict}}
        elif requested and requested.format is ResponseFormat.JSON_OBJECT:
            tool: Json = {
                "name": ANSWER_NAME,
                "description": "Give the answer. Where a value is not known, give null.",
                "input_schema": requested.shown,
            }
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_NAME}}
        return body

    def read(self, body: Json) -> WireAnswer:
        """Return the answer in a response.

        Raises:
            ValueError: it is no message.
        """
        if not isinstance(body, Mapping):
            raise ValueError("it is no object")
        content = body.get("content")
        if not isinstance(content, Sequence) or isinstance(content, str):
            raise ValueError("it has no content")
        reason, model, usage = body.get("stop_reason"), body.get("model"), body.get("usage")
        received, tokens = count_at(usage, "output_tokens"), None
        if received is not None and count_at(usage, "input_tokens") is not None:
            # Tokens from the provider's cache count as sent.
            tokens = TokenCounts(sum(count_at(usage, name) or 0 for name in _SENT), received)
        blocks = [block for block in content if isinstance(block, Mapping)]
        # If the tool was called, only its input is the answer.
        texts = [
            json.dumps(block.get("input"), ensure_ascii=False)
            for block in blocks
            if block.get("type") == "tool_use" and block.get("name") == ANSWER_NAME
        ][:1] or [
            text
            for block in blocks
            if block.get("type") == "text" and isinstance(text := block.get("text"), str)
        ]
        return WireAnswer(
            text="".join(texts),
            tokens=tokens,
            finish_reason=FinishReason.LENGTH if reason in _CUT else FinishReason.STOP,
            model=model if isinstance(model, str) else None,
            refusal="it declined" if reason == "refusal" else None,
        )
