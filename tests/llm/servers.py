"""Model servers on loopback with scripted answers, in both wire formats."""

import json
from collections.abc import Mapping
from typing import Any

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import ResponseFormat, WireFormat
from tests.search_servers.serving import Asked, Reply, SearchServer

KEY = "sk-cinder-secret"
MODEL = "ember-1"
HELD, IGNORED, REFUSED = "held", "ignored", "refused"

# Any: a body as JSON, of which each test knows what it looks at.
Body = dict[str, Any]


class ModelServer(SearchServer):
    """A model's server: says the next of its lines, and treats formats as it is told to."""

    def __init__(self, *lines: str, formats: Mapping[ResponseFormat, str] | None = None) -> None:
        super().__init__()
        self.lines = list(lines)
        self.formats = {
            ResponseFormat.JSON_SCHEMA: HELD,
            ResponseFormat.JSON_OBJECT: HELD,
            **(formats or {}),
        }
        self.is_cut = False
        self.counts = True

    @property
    def bodies(self) -> list[Body]:
        """What was asked, trials left out."""
        bodies: list[Body] = [json.loads(asked.body) for asked in self.asked]
        return [body for body in bodies if not _is_trial(body)]

    @property
    def trials(self) -> list[ResponseFormat]:
        """The formats that were tried out."""
        bodies: list[Body] = [json.loads(asked.body) for asked in self.asked]
        return [self.format_of(body) for body in bodies if _is_trial(body)]

    def answer(self, asked: Asked) -> Reply:
        body: Body = json.loads(asked.body)
        treatment = self.formats.get(self.format_of(body), HELD)
        if treatment == REFUSED:
            return self.error(400, "this format is not supported")
        if not _is_trial(body):
            text = self.lines.pop(0) if self.lines else "Nothing more."
        else:
            text = '{"colour": "green"}' if treatment == HELD else "Green, of course."
        return Reply(json.dumps(self.message(text, body)).encode())

    def wire(self) -> WireFormat:
        raise NotImplementedError

    def format_of(self, body: Body) -> ResponseFormat:
        raise NotImplementedError

    def message(self, text: str, body: Body) -> Body:
        raise NotImplementedError

    def error(self, status: int, message: str, **more: str) -> Reply:
        raise NotImplementedError


class OpenAiServer(ModelServer):
    """Speaks chat completions."""

    def wire(self) -> WireFormat:
        return OpenAiFormat(f"{self.url}/v1", MODEL, KEY)

    def format_of(self, body: Body) -> ResponseFormat:
        return ResponseFormat(body.get("response_format", {}).get("type", "prompt"))

    def message(self, text: str, body: Body) -> Body:
        reason = "length" if self.is_cut else "stop"
        usage = {"usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}
        return {
            "object": "chat.completion",
            "model": f"{MODEL}-2026",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "message": {"role": "assistant", "content": text},
                }
            ],
            **(usage if self.counts else {}),
        }

    def error(self, status: int, message: str, **more: str) -> Reply:
        return Reply(json.dumps({"error": {"message": message, **more}}).encode(), status=status)


class AnthropicServer(ModelServer):
    """Speaks messages."""

    def wire(self) -> WireFormat:
        return AnthropicFormat(self.url, MODEL, KEY)

    def format_of(self, body: Body) -> ResponseFormat:
        if "output_config" in body:
            return ResponseFormat.JSON_SCHEMA
        return ResponseFormat.JSON_OBJECT if "tools" in body else ResponseFormat.PROMPT

    def message(self, text: str, body: Body) -> Body:
        content: Body = {"type": "text", "text": text}
        if "tools" in body and text.startswith("{"):
            name = body["tool_choice"]["name"]
            content = {"type": "tool_use", "id": "t", "name": name, "input": json.loads(text)}
        usage = {"usage": {"input_tokens": 1, "cache_read_input_tokens": 10, "output_tokens": 7}}
        return {
            "type": "message",
            "role": "assistant",
            "model": f"{MODEL}-2026",
            "content": [{"type": "thinking", "thinking": "{"}, content],
            "stop_reason": "max_tokens" if self.is_cut else "end_turn",
            **(usage if self.counts else {}),
        }

    def error(self, status: int, message: str, **more: str) -> Reply:
        error = {"type": "invalid_request_error", "message": message, **more}
        return Reply(json.dumps({"type": "error", "error": error}).encode(), status=status)


def _is_trial(body: Body) -> bool:
    return any("fresh grass" in turn["content"] for turn in body["messages"])
