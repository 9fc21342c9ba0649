"""OpenAI's chat completions, which Ollama, vLLM, llama.cpp, OpenRouter and Gemini support too."""

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

_DEFAULT_PATH = "/v1"


class OpenAiFormat:
    """Writes and reads chat completions."""

    def __init__(self, base_url: str, model: str, api_key: str | None) -> None:
        prefix = "" if path_of(base_url) else _DEFAULT_PATH
        self.url = f"{base_url}{prefix}/chat/completions"
        self.headers: Mapping[str, str] = (
            {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        )
        self._model = model

    def body(self, call: WireCall, dialect: EndpointDialect) -> dict[str, Json]:
        """Return the body to post.

        The prompt always has the schema: most servers that enforce one do not show it the model.
        """
        requested = call.requested
        instructions = [] if requested is None else [schema_instructions(requested)]
        system = "\n\n".join(part for part in (call.system, *instructions) if part)
        turns: list[Json] = [{"role": "system", "content": system}] if system else []
        body: dict[str, Json] = {
            "model": self._model,
            "messages": [*turns, *messages_of(call)],
            dialect.limit_name: call.max_output_tokens,
            "stream": False,
        }
        if dialect.sends_temperature:
            body["temperature"] = 0
        if requested is not None and requested.format is ResponseFormat.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        elif requested is not None and requested.format is ResponseFormat.JSON_SCHEMA:
            schema: Json = {"name": ANSWER_NAME, "strict": True, "schema": requested.strict}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def read(self, body: Json) -> WireAnswer:
        """Return the answer in a response.

        Raises:
            ValueError: it is no chat completion.
        """
        if not isinstance(body, Mapping):
            raise ValueError("it is no object")
        choices = body.get("choices")
        if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
            raise ValueError("it has no choices")
        message, reason = choices[0].get("message"), choices[0].get("finish_reason")
        if not isinstance(message, Mapping):
            raise ValueError("it has no message")
        model, usage, refusal = body.get("model"), body.get("usage"), message.get("refusal")
        sent, received = count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens")
        if not isinstance(refusal, str) or not refusal:
            refusal = "its content filter stopped it" if reason == "content_filter" else None
        content = message.get("content")
        parts: Json = [{"text": content}] if isinstance(content, str) else content
        listed = parts if isinstance(parts, Sequence) else ()
        texts = (part.get("text") for part in listed if isinstance(part, Mapping))
        return WireAnswer(
            text="".join(text for text in texts if isinstance(text, str)),
            tokens=None if sent is None or received is None else TokenCounts(sent, received),
            finish_reason=FinishReason.LENGTH if reason == "length" else FinishReason.STOP,
            model=model if isinstance(model, str) else None,
            refusal=refusal,
        )
