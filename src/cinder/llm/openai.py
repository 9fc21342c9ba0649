"""OpenAI's chat completions, which Ollama, vLLM, llama.cpp, OpenRouter and Gemini speak too."""

from collections.abc import Mapping, Sequence

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
        """Return what is posted.

        The model is always shown the schema: servers that hold it to one mostly do not tell it.
        """
        body: dict[str, Json] = {
            "model": self._model,
            "messages": [*_system_turn(call), *messages_of(call)],
            dialect.limit_name: call.max_output_tokens,
            "stream": False,
        }
        if dialect.sends_temperature:
            body["temperature"] = 0
        if call.wanted is not None and call.wanted.rung is not ResponseFormat.PROMPT:
            body["response_format"] = _response_format(call.wanted)
        return body

    def read(self, body: Json) -> WireAnswer:
        """Return what an answer says.

        Raises:
            ValueError: it is no chat completion.
        """
        if not isinstance(body, Mapping):
            raise ValueError("it is no object")
        choices = body.get("choices")
        if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
            raise ValueError("it has no choices")
        choice = choices[0]
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise ValueError("it has no message")
        model = body.get("model")
        return WireAnswer(
            text=_text_of(message.get("content")),
            tokens=_tokens_of(body.get("usage")),
            finish_reason=(
                FinishReason.LENGTH
                if choice.get("finish_reason") == "length"
                else FinishReason.STOP
            ),
            model=model if isinstance(model, str) else None,
            refusal=_refusal_of(choice, message),
        )


def _system_turn(call: WireCall) -> list[Json]:
    asking = [] if call.wanted is None else [schema_instructions(call.wanted)]
    system = "\n\n".join(part for part in (call.system, *asking) if part)
    return [{"role": "system", "content": system}] if system else []


def _response_format(wanted: RequestedJson) -> Json:
    if wanted.rung is ResponseFormat.JSON_OBJECT:
        return {"type": "json_object"}
    schema: Json = {"name": ANSWER_NAME, "strict": True, "schema": wanted.strict}
    return {"type": "json_schema", "json_schema": schema}


def _text_of(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))


def _tokens_of(usage: Json) -> TokenCounts | None:
    sent, received = count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens")
    return None if sent is None or received is None else TokenCounts(sent, received)


def _refusal_of(choice: Mapping[str, Json], message: Mapping[str, Json]) -> str | None:
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return refusal
    return (
        "its content filter stopped it" if choice.get("finish_reason") == "content_filter" else None
    )
