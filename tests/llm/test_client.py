"""A model over HTTP, in both wire formats: answers that match their schema, or say why not."""

from collections.abc import Mapping

import pytest

from cinder.errors import ErrorCode, InvalidRequest
from cinder.llm.base import (
    ContextTooLong,
    FinishReason,
    ModelAnswerInvalid,
    ModelFailed,
    ModelLengthExceeded,
    ModelRequest,
    TokenCounts,
)
from cinder.llm.wire_format import ResponseFormat
from cinder.models.document import Json
from tests.llm.opening import open_model, some_budget
from tests.llm.servers import (
    HELD,
    IGNORED,
    KEY,
    MODEL,
    REFUSED,
    AnthropicServer,
    ModelServer,
    OpenAiServer,
)

PRODUCT: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number", "minimum": 0, "description": "in euros"},
    },
    "required": ["name", "price"],
}
QUESTION = ModelRequest(user="Ember costs 12 euros.", system="Be exact.", schema=PRODUCT)
GOOD = '{"name": "Ember", "price": 12}'
BAD = '{"name": "Ember", "price": -1}'

both = pytest.mark.parametrize("kind", [OpenAiServer, AnthropicServer])
Kind = type[OpenAiServer] | type[AnthropicServer]


@both
async def test_plain_text_comes_with_counts_and_the_models_name(kind: Kind) -> None:
    server = kind("Hello.")
    async with open_model(server) as opened:
        budget = some_budget()
        answer = await opened.model.complete(ModelRequest(user="Hi", system="Be brief."), budget)
        assert opened.count("cinder_model_seconds_count", outcome="ok") == 1
        assert opened.count("cinder_model_tokens_total", direction="sent") == 11
        assert opened.count("cinder_model_tokens_total", direction="received") == 7
    assert (answer.text, answer.value, answer.finish_reason) == ("Hello.", None, FinishReason.STOP)
    assert (answer.tokens, answer.model) == (TokenCounts(11, 7), f"{MODEL}-2026")
    assert (budget.calls, budget.tokens) == (1, 18)
    assert server.trials == []


@both
async def test_text_that_is_cut_says_so(kind: Kind) -> None:
    server = kind("Hel")
    server.is_cut = True
    async with open_model(server) as opened:
        answer = await opened.model.complete(ModelRequest(user="Hi"), some_budget())
    assert (answer.text, answer.finish_reason) == ("Hel", FinishReason.LENGTH)


@both
async def test_json_matches_its_schema_and_the_way_to_ask_is_found_out_once(kind: Kind) -> None:
    server = kind(GOOD, GOOD)
    async with open_model(server) as opened:
        budget = some_budget()
        answers = [await opened.model.complete(QUESTION, budget) for _ in range(2)]
    assert [answer.value for answer in answers] == [{"name": "Ember", "price": 12}] * 2
    assert not answers[0].is_repaired
    assert server.trials == [ResponseFormat.JSON_SCHEMA]
    # Finding it out is not the request's to pay.
    assert (budget.calls, budget.tokens) == (2, 36)


@both
@pytest.mark.parametrize("treatment", [IGNORED, REFUSED])
async def test_a_format_that_is_refused_or_ignored_is_not_used(kind: Kind, treatment: str) -> None:
    server = kind(GOOD, GOOD, formats={ResponseFormat.JSON_SCHEMA: treatment})
    async with open_model(server) as opened:
        answers = [await opened.model.complete(QUESTION, some_budget()) for _ in range(2)]
        assert opened.count("cinder_model_fallbacks_total", rung="json_schema") == 1
    assert [answer.value for answer in answers] == [{"name": "Ember", "price": 12}] * 2
    assert server.trials == [ResponseFormat.JSON_SCHEMA, ResponseFormat.JSON_OBJECT]
    assert [server.format_of(body) for body in server.bodies] == [ResponseFormat.JSON_OBJECT] * 2


@both
async def test_without_any_format_the_model_is_told_the_schema(kind: Kind) -> None:
    formats = {ResponseFormat.JSON_SCHEMA: REFUSED, ResponseFormat.JSON_OBJECT: IGNORED}
    server = kind(f"<think>{{</think>Here:\n```json\n{GOOD}\n```\nDone.", formats=formats)
    async with open_model(server) as opened:
        answer = await opened.model.complete(QUESTION, some_budget())
    body = server.bodies[0]
    system = body.get("system") or body["messages"][0]["content"]
    assert answer.value == {"name": "Ember", "price": 12}
    assert server.format_of(body) is ResponseFormat.PROMPT
    assert system.startswith("Be exact.")
    assert '"description":"in euros"' in system


@both
async def test_a_wrong_answer_is_repaired_once_with_what_is_wrong(kind: Kind) -> None:
    server = kind(BAD, GOOD)
    async with open_model(server) as opened:
        budget = some_budget()
        answer = await opened.model.complete(QUESTION, budget)
        assert opened.count("cinder_model_repairs_total", outcome="ok") == 1
    *_, said, complaint = server.bodies[1]["messages"]
    assert (answer.value, answer.is_repaired) == ({"name": "Ember", "price": 12}, True)
    assert (answer.tokens, budget.calls) == (TokenCounts(22, 14), 2)
    assert said == {"role": "assistant", "content": BAD}
    assert "price: -1 is less than the minimum of 0" in complaint["content"]


@both
@pytest.mark.parametrize("line", ["Sorry, no.", "", '{"name": "Ember", "pri', '{"name": 5}'])
async def test_what_is_wrong_twice_is_a_failure_that_says_what(kind: Kind, line: str) -> None:
    async with open_model(kind(line, line)) as opened:
        with pytest.raises(ModelAnswerInvalid) as failed:
            await opened.model.complete(QUESTION, some_budget())
        assert opened.count("cinder_model_repairs_total", outcome="failed") == 1
    assert failed.value.code is ErrorCode.EXTRACTION_FAILED
    assert "twice: " in failed.value.message
    assert "a more able model" in failed.value.message


@both
async def test_what_is_not_known_may_be_null_or_absent(kind: Kind) -> None:
    async with open_model(kind('{"price": null}')) as opened:
        answer = await opened.model.complete(QUESTION, some_budget())
    assert (answer.value, answer.is_repaired) == ({"price": None}, False)


@both
async def test_json_that_is_cut_is_told_apart(kind: Kind) -> None:
    server = kind()
    async with open_model(server) as opened:
        server.lines = [GOOD]
        await opened.model.complete(QUESTION, some_budget())
        server.is_cut, server.lines = True, ['{"name": "Emb']
        with pytest.raises(ModelLengthExceeded, match="within 1024 tokens"):
            await opened.model.complete(QUESTION, some_budget())


OPENAI_LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000"
ANTHROPIC_LONG = "prompt is too long: 213462 tokens > 200000 maximum"


@pytest.mark.parametrize(
    ("kind", "status", "message"),
    [
        (OpenAiServer, 400, OPENAI_LONG),
        (OpenAiServer, 400, f"'max_completion_tokens' is too large: 9. {OPENAI_LONG}"),
        (OpenAiServer, 400, "request (3031 tokens) exceeds the available context size (1024)"),
        (
            OpenAiServer,
            429,
            "Request too large for ember-1 on tokens per min: Limit 10, Requested 99",
        ),
        (OpenAiServer, 500, "the input is larger than the context window"),
        (AnthropicServer, 400, ANTHROPIC_LONG),
        (AnthropicServer, 413, "Request exceeds the maximum size"),
    ],
)
async def test_a_prompt_beyond_the_context_is_told_apart(
    kind: Kind, status: int, message: str
) -> None:
    server = kind(GOOD)
    async with open_model(server) as opened:
        await opened.model.complete(QUESTION, some_budget())
        server.fail_with(server.error(status, message))
        with pytest.raises(ContextTooLong, match="Send less"):
            await opened.model.complete(QUESTION, some_budget())
        assert opened.waits == []
    assert len(server.bodies) == 2


@both
async def test_a_schema_that_a_server_refuses_steps_down_and_no_other_does(kind: Kind) -> None:
    other = ModelRequest(user="?", schema={"properties": {"name": {"type": "string"}}})
    server = kind(GOOD, GOOD, GOOD, "{}")
    async with open_model(server) as opened:
        await opened.model.complete(QUESTION, some_budget())
        server.fail_with(server.error(400, "Schema is too complex"))
        answer = await opened.model.complete(QUESTION, some_budget())
        again = some_budget(calls=1)
        await opened.model.complete(QUESTION, again)
        await opened.model.complete(other, some_budget())
    assert (answer.value, again.calls) == ({"name": "Ember", "price": 12}, 1)
    assert [server.format_of(body) for body in server.bodies] == [
        ResponseFormat.JSON_SCHEMA,
        ResponseFormat.JSON_SCHEMA,
        ResponseFormat.JSON_OBJECT,
        ResponseFormat.JSON_OBJECT,
        ResponseFormat.JSON_SCHEMA,
    ]


@both
async def test_objects_of_any_names_are_asked_for_without_holding_the_model(kind: Kind) -> None:
    prices: Mapping[str, Json] = {"type": "object", "additionalProperties": {"type": "number"}}
    server = kind('{"ember": 12}')
    async with open_model(server) as opened:
        answer = await opened.model.complete(ModelRequest(user="?", schema=prices), some_budget())
    assert answer.value == {"ember": 12}
    assert server.format_of(server.bodies[0]) is ResponseFormat.JSON_OBJECT


@both
async def test_a_list_is_asked_for_inside_an_object(kind: Kind) -> None:
    names: Mapping[str, Json] = {"type": "array", "items": {"type": "string"}}
    server = kind('{"answer": ["Ember"]}')
    async with open_model(server) as opened:
        answer = await opened.model.complete(ModelRequest(user="?", schema=names), some_budget())
    assert (answer.value, answer.is_repaired) == (["Ember"], False)


async def test_a_schema_that_is_none_is_an_error_of_the_request() -> None:
    server = OpenAiServer()
    schema: Mapping[str, Json] = {"type": "object", "properties": {"price": {"type": "money"}}}
    async with open_model(server) as opened:
        with pytest.raises(InvalidRequest) as failed:
            await opened.model.complete(ModelRequest(user="?", schema=schema), some_budget())
    assert failed.value.problems[0].field == "schema.properties.price.type"
    assert server.asked == []


@pytest.mark.parametrize(
    ("kind", "formats", "said"),
    [
        (OpenAiServer, {}, {"refusal": "I will not."}),
        (AnthropicServer, {ResponseFormat.JSON_SCHEMA: HELD}, {"stop_reason": "refusal"}),
    ],
)
async def test_a_model_that_declines_is_a_failure(
    kind: Kind, formats: Mapping[ResponseFormat, str], said: Mapping[str, str]
) -> None:
    class Declining(kind):  # type: ignore[misc, valid-type]  # one of two classes
        def message(self, text: str, body: dict[str, object]) -> dict[str, object]:
            whole: dict[str, object] = super().message("", body)
            choices = whole.get("choices")
            if isinstance(choices, list):
                choices[0]["message"].update(said)
                return whole
            return {**whole, **said}

    server: ModelServer = Declining(formats=formats)
    async with open_model(server) as opened:
        with pytest.raises(ModelFailed, match="would not answer"):
            await opened.model.complete(ModelRequest(user="Hi"), some_budget())


@both
async def test_the_key_goes_to_the_server_and_into_no_message(kind: Kind) -> None:
    server = kind()
    async with open_model(server) as opened:
        server.fail_with(server.error(400, f"what is {KEY} supposed to be?"))
        with pytest.raises(ModelFailed) as failed:
            await opened.model.complete(ModelRequest(user="Hi"), some_budget())
    headers = server.asked[0].headers
    assert KEY in (headers.get("x-api-key") or headers["authorization"])
    assert "what is … supposed to be?" in failed.value.message
    assert KEY not in repr(failed.value)
