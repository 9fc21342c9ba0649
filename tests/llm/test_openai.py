"""Chat completions, as they are written and read."""

import pytest

from cinder.llm.base import FinishReason, TokenCounts
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import EndpointDialect, Repair, RequestedJson, ResponseFormat, WireCall
from cinder.models.document import Json

FORMAT = OpenAiFormat("http://a.example/v1", "ember", "k")
REQUESTED = RequestedJson(
    format=ResponseFormat.JSON_SCHEMA, strict={"type": "object"}, shown={"title": "shown"}
)


def test_a_call_with_a_schema_holds_the_model_to_one_and_shows_it_the_other() -> None:
    call = WireCall(user="Hi", system="", max_output_tokens=9, requested=REQUESTED)
    body = FORMAT.body(call, EndpointDialect())
    messages = body.pop("messages")
    assert body == {
        "model": "ember",
        "max_tokens": 9,
        "stream": False,
        "temperature": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        },
    }
    assert isinstance(messages, list)
    assert messages[0]["role"] == "system"
    assert '{"title":"shown"}' in messages[0]["content"]
    assert messages[1:] == [{"role": "user", "content": "Hi"}]


def test_a_repair_repeats_what_was_said_and_never_a_turn_without_words() -> None:
    call = WireCall(
        user="Hi", system="", max_output_tokens=9, repair=Repair(answer=" \n", complaint="No.")
    )
    assert FORMAT.body(call, EndpointDialect())["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "(nothing)"},
        {"role": "user", "content": "No."},
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello.", "Hello."),
        (None, ""),
        ([{"type": "text", "text": "Hel"}, 5, {"type": "text", "text": "lo."}], "Hello."),
    ],
)
def test_content_comes_as_text_or_in_parts(content: Json, text: str) -> None:
    answer = FORMAT.read({"choices": [{"message": {"content": content}}]})
    assert (answer.text, answer.tokens, answer.model) == (text, None, None)
    assert answer.finish_reason is FinishReason.STOP


def test_counts_and_the_reason_to_stop_are_read() -> None:
    answer = FORMAT.read(
        {
            "model": "ember-2",
            "choices": [{"message": {"content": "Hel"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        }
    )
    assert (answer.tokens, answer.model) == (TokenCounts(3, 1), "ember-2")
    assert answer.finish_reason is FinishReason.LENGTH


def test_a_content_filter_is_a_refusal() -> None:
    choice: Json = {"message": {"content": ""}, "finish_reason": "content_filter"}
    assert FORMAT.read({"choices": [choice]}).refusal == "its content filter stopped it"
