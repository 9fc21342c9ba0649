"""Negotiating the response format of a server."""

import asyncio

import pytest

from cinder.llm.base import BudgetExceeded, ModelFailed
from cinder.llm.response_format import ResponseFormatNegotiator
from cinder.llm.schema_forms import build_schema_forms
from cinder.llm.wire_format import ResponseFormat
from tests.llm.opening import OpenModel, open_model, some_budget
from tests.llm.servers import IGNORED, REFUSED, OpenAiServer

FORMS = build_schema_forms({"properties": {"name": {"type": "string"}}})


def ladder_of(opened: OpenModel) -> ResponseFormatNegotiator:
    return ResponseFormatNegotiator(opened.endpoint, opened.metrics, 1024)


async def test_many_who_ask_at_once_find_out_once() -> None:
    server = OpenAiServer(formats={ResponseFormat.JSON_SCHEMA: REFUSED})
    async with open_model(server) as opened:
        ladder = ladder_of(opened)
        found = await asyncio.gather(*[ladder.find_best(FORMS, some_budget()) for _ in range(5)])
    assert found == [ResponseFormat.JSON_OBJECT] * 5
    assert server.trials == [ResponseFormat.JSON_SCHEMA, ResponseFormat.JSON_OBJECT]


async def test_where_no_format_serves_the_model_is_told() -> None:
    formats = {
        ResponseFormat.JSON_SCHEMA: IGNORED,
        ResponseFormat.JSON_OBJECT: REFUSED,
        ResponseFormat.PROMPT: IGNORED,
    }
    server = OpenAiServer(formats=formats)
    async with open_model(server) as opened:
        assert await ladder_of(opened).find_best(FORMS, some_budget()) is ResponseFormat.PROMPT
        assert opened.count("cinder_model_fallbacks_total", rung="json_object") == 1


async def test_a_format_whose_answer_does_not_end_does_not_serve() -> None:
    server = OpenAiServer()
    server.is_cut = True
    async with open_model(server) as opened:
        assert await ladder_of(opened).find_best(FORMS, some_budget()) is ResponseFormat.PROMPT


async def test_nothing_is_remembered_of_a_server_that_failed() -> None:
    server = OpenAiServer()
    async with open_model(server) as opened:
        ladder = ladder_of(opened)
        server.fail_with(*[server.error(401, "no")])
        with pytest.raises(ModelFailed, match="CINDER_LLM__API_KEY"):
            await ladder.find_best(FORMS, some_budget())
        server.fail_with(*[server.error(400, "there is no such model")] * 3)
        with pytest.raises(ModelFailed, match="no such model"):
            await ladder.find_best(FORMS, some_budget())
        assert await ladder.find_best(FORMS, some_budget()) is ResponseFormat.JSON_SCHEMA


async def test_finding_out_ends_with_the_requests_time() -> None:
    server = OpenAiServer()
    async with open_model(server) as opened:
        server.stall()
        with pytest.raises(BudgetExceeded):
            await ladder_of(opened).find_best(FORMS, some_budget(seconds=0.2))
