"""Messages, as they are written and read."""

import json
from dataclasses import replace

import pytest

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.base import FinishReason, TokenCounts
from cinder.llm.wire_format import EndpointDialect, RequestedJson, ResponseFormat, WireCall
from cinder.models.document import Json

FORMAT = AnthropicFormat("http://a.example", "ember", "k")
REQUESTED = RequestedJson(
    format=ResponseFormat.JSON_SCHEMA, strict={"type": "object"}, shown={"title": "shown"}
)
CALL = WireCall(user="Hi", system="Be exact.", max_output_tokens=9, requested=REQUESTED)


def test_a_call_with_a_schema_names_the_format_of_the_answer() -> None:
    assert FORMAT.body(CALL, EndpointDialect(sends_temperature=False)) == {
        "model": "ember",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "system": "Be exact.",
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }


def test_without_that_format_the_model_has_to_call_a_tool() -> None:
    call = replace(CALL, requested=replace(REQUESTED, format=ResponseFormat.JSON_OBJECT))
    body = FORMAT.body(call, EndpointDialect())
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert '"input_schema": {"title": "shown"}' in json.dumps(body["tools"])
    assert body["system"] == "Be exact."


def test_the_tools_input_is_the_answer() -> None:
    content: Json = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I call it."},
        {"type": "tool_use", "name": "answer", "input": {"a": "é"}},
    ]
    answer = FORMAT.read({"content": content, "stop_reason": "tool_use"})
    assert (answer.text, answer.finish_reason) == ('{"a": "é"}', FinishReason.STOP)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_what_is_cut_says_so(reason: str) -> None:
    answer = FORMAT.read({"content": [{"type": "text", "text": "Hel"}], "stop_reason": reason})
    assert (answer.text, answer.finish_reason) == ("Hel", FinishReason.LENGTH)


def test_tokens_from_the_providers_cache_were_sent_as_well() -> None:
    usage: Json = {
        "input_tokens": 1,
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": 32,
        "output_tokens": 5,
    }
    assert FORMAT.read({"content": [], "usage": usage}).tokens == TokenCounts(33, 5)


@pytest.mark.parametrize("body", [None, [], {}, {"content": "text"}])
def test_what_is_no_message_is_refused(body: Json) -> None:
    with pytest.raises(ValueError, match=r"it (is no object|has no content)"):
        FORMAT.read(body)
