"""A real small model, in both wire formats."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.base import ContextTooLong, FinishReason, ModelLengthExceeded, ModelRequest
from cinder.llm.openai import OpenAiFormat
from cinder.llm.response_format import ResponseFormatNegotiator
from cinder.llm.schema_forms import build_schema_forms
from cinder.llm.wire_format import ResponseFormat
from cinder.models.document import Json
from tests.llm.opening import OpenModel, open_model_at, some_budget
from tests.llm.small_model import CONTEXT_TOKENS, needs_model, running_model, serving_messages

# A busy machine gives the model little of its time.
pytestmark = [needs_model, pytest.mark.timeout(600)]

KETTLE: Mapping[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
    "required": ["name", "price"],
}
QUESTION = ModelRequest(
    system="Answer in short.",
    user="The kettle named Ember costs 12 dollars. What are its name and price?",
    schema=KETTLE,
    max_output_tokens=200,
)
WIRES = ("openai", "anthropic")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_model() as running:
        yield running


@asynccontextmanager
async def opening(wire: str, address: str) -> AsyncIterator[OpenModel]:
    if wire == "openai":
        async with open_model_at(address, OpenAiFormat(address, "small", None)) as opened:
            yield opened
        return
    with serving_messages(address) as url:
        async with open_model_at(url, AnthropicFormat(url, "small", None)) as opened:
            yield opened


@pytest.mark.parametrize("wire", WIRES)
async def test_its_json_matches_the_schema(wire: str, address: str) -> None:
    async with opening(wire, address) as opened:
        budget = some_budget()
        answer = await opened.model.complete(QUESTION, budget)
    assert answer.value == {"name": "Ember", "price": 12}
    assert answer.tokens is not None
    assert answer.tokens.sent > 20
    assert answer.tokens.received > 5
    assert budget.tokens == answer.tokens.sent + answer.tokens.received
    assert answer.model.endswith(".gguf")


@pytest.mark.parametrize("wire", WIRES)
async def test_what_does_not_come_to_an_end_is_told(wire: str, address: str) -> None:
    async with opening(wire, address) as opened:
        with pytest.raises(ModelLengthExceeded):
            await opened.model.complete(replace(QUESTION, max_output_tokens=4), some_budget())
        text = replace(QUESTION, schema=None, max_output_tokens=4)
        answer = await opened.model.complete(text, some_budget())
    assert answer.text
    assert answer.finish_reason is FinishReason.LENGTH
    assert answer.tokens is not None
    assert answer.tokens.received == 4


@pytest.mark.parametrize("wire", WIRES)
async def test_what_is_beyond_its_context_is_told(wire: str, address: str) -> None:
    long = replace(QUESTION, user="word " * (2 * CONTEXT_TOKENS))
    async with opening(wire, address) as opened:
        with pytest.raises(ContextTooLong):
            await opened.model.complete(long, some_budget())


async def test_a_server_that_ignores_the_format_of_messages_is_found_out(address: str) -> None:
    async with open_model_at(address, AnthropicFormat(address, "small", None)) as opened:
        ladder = ResponseFormatNegotiator(opened.endpoint, opened.metrics, 300)
        assert (
            await ladder.find_best(build_schema_forms(KETTLE), some_budget())
            is ResponseFormat.PROMPT
        )
