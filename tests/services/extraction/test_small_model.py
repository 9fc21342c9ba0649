"""A real small model is asked about pages: whatever it says is looked up."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.openai import OpenAiFormat
from cinder.services.extraction.asking import ModelAsker, ModelQuestion
from cinder.services.sandbox import ExtractionSandbox
from tests.extract.passages.test_ranking import book
from tests.llm.opening import open_model_at, some_budget
from tests.llm.small_model import needs_model, running_model, serving_messages

pytestmark = needs_model

QUESTION = ModelQuestion(
    markdown="# Ember kettle\n\nThe kettle is made of iron. Its price is 49 euros.\n",
    url="https://example.com/",
    schema={"properties": {"price": {"type": "number"}}},
    fields=("price",),
)
WIRES = ("openai", "anthropic")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_model() as running:
        yield running


@asynccontextmanager
async def asking(wire: str, address: str, tokens: int) -> AsyncIterator[ModelAsker]:
    async with ExtractionSandbox(1, 30, 512 * 1024 * 1024) as sandbox:
        if wire == "openai":
            async with open_model_at(address, OpenAiFormat(address, "small", None)) as opened:
                yield ModelAsker(opened.model, sandbox, tokens)
            return
        with serving_messages(address) as url:
            async with open_model_at(url, AnthropicFormat(url, "small", None)) as opened:
                yield ModelAsker(opened.model, sandbox, tokens)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_small_model_finds_a_value_and_its_place(wire: str, address: str) -> None:
    async with asking(wire, address, 400) as asker:
        found = await asker.ask(QUESTION, some_budget())
    (value,) = found.values
    assert value.value == 49
    assert value.is_grounded
    assert value.evidence[0].quote == "49"


async def test_a_fact_on_the_last_of_300_pages_is_found_though_the_context_is_small(
    address: str,
) -> None:
    last = "## Last page\n\nThe warranty of the Ember kettle is 37 months."
    question = replace(
        QUESTION,
        markdown=f"{book()}\n\n{last}",
        schema={"properties": {"warrantyMonths": {"type": "integer"}}},
        fields=("warrantyMonths",),
    )
    budget = some_budget()
    async with asking("openai", address, 6_000) as asker:
        found = await asker.ask(question, budget)
    assert [each.value for each in found.values] == [37]
    assert found.values[0].is_grounded
