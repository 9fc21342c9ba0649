"""A real small model extracts from pages, and its values are looked up."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.openai import OpenAiFormat
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.model_stage import ModelExtractor, ModelFindings, PageQuestion
from tests.extraction.test_passage_ranking import book
from tests.llm.opening import open_model_at, some_budget
from tests.llm.small_model import needs_model, running_model, serving_messages

pytestmark = [needs_model, pytest.mark.timeout(600)]

QUESTION = PageQuestion(
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
async def asking(wire: str, address: str, tokens: int) -> AsyncIterator[ModelExtractor]:
    async with ExtractionSandbox(1, 30, 512 * 1024 * 1024) as sandbox:
        if wire == "openai":
            async with open_model_at(address, OpenAiFormat(address, "small", None)) as opened:
                yield ModelExtractor(opened.model, sandbox, tokens)
            return
        with serving_messages(address) as url:
            async with open_model_at(url, AnthropicFormat(url, "small", None)) as opened:
                yield ModelExtractor(opened.model, sandbox, tokens)


def check_proof(question: PageQuestion, found: ModelFindings) -> None:
    """Check that nothing is proved but what stands there: so small a model says what it likes."""
    assert len(found.values) + len(found.missing) == len(question.fields)
    for each in found.values:
        shown = each.evidence[0]
        is_said = question.markdown[shown.start : shown.end] == str(each.value)
        assert isinstance(each.value, int | float)
        assert not each.is_grounded or is_said


@pytest.mark.parametrize("wire", WIRES)
async def test_what_a_small_model_says_is_of_the_schema_and_looked_up(
    wire: str, address: str
) -> None:
    async with asking(wire, address, 400) as asker:
        found = await asker.ask(QUESTION, some_budget())
    check_proof(QUESTION, found)


async def test_a_long_page_is_cut_to_what_a_small_model_can_read(address: str) -> None:
    question = replace(
        QUESTION,
        markdown=book(),
        schema={"properties": {"warrantyMonths": {"type": "integer"}}},
        fields=("warrantyMonths",),
    )
    budget = some_budget(calls=7)
    async with asking("openai", address, 6_000) as asker:
        found = await asker.ask(question, budget)
    check_proof(question, found)
    # One call found out which format it takes, and three that it reads 1,024 tokens.
    assert 5 <= budget.calls <= 7
