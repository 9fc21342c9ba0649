"""Calls to a model's server: retries, limits and error messages."""

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from cinder.llm.base import Budget, BudgetExceeded, BudgetLimits, FormatRefused, ModelFailed
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import WireCall
from tests.egress.loopback import Origin, Reader, Writer, answer_of, read_request
from tests.llm.opening import OpenModel, open_model, open_model_at, some_budget
from tests.llm.servers import AnthropicServer, OpenAiServer
from tests.search_servers.serving import Reply, serving

CALL = WireCall(user="Hi", system="", max_output_tokens=50)
BUSY = Reply(b"busy", "text/plain", 503)

both = pytest.mark.parametrize("kind", [OpenAiServer, AnthropicServer])
Kind = type[OpenAiServer] | type[AnthropicServer]


async def failure_of(opened: OpenModel) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await opened.endpoint.ask(CALL, some_budget())
    return failed.value


@both
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_server_in_trouble_is_tried_again(kind: Kind, status: int) -> None:
    server = kind("Hello.")
    async with open_model(server) as opened:
        server.fail_with(server.error(status, "busy"), server.error(status, "busy"))
        budget = some_budget()
        answer = await opened.endpoint.ask(CALL, budget)
        assert opened.count("cinder_model_seconds_count", outcome="failed") == 2
    assert (answer.text, opened.waits, budget.calls) == ("Hello.", [0.5, 1.0], 3)


async def test_the_wait_that_a_server_asks_for_is_kept_unless_it_is_too_long() -> None:
    server = OpenAiServer("Hello.")
    async with open_model(server) as opened:
        server.fail_with(Reply(b"{}", status=429, headers={"Retry-After": "7"}))
        await opened.endpoint.ask(CALL, some_budget())
        server.fail_with(Reply(b"{}", status=429, headers={"Retry-After": "60"}))
        failed = await failure_of(opened)
    assert opened.waits == [7.0]
    assert "asked too often" in failed.message
    assert len(server.asked) == 3


async def test_tries_end() -> None:
    server = OpenAiServer("Hello.")
    async with open_model(server) as opened:
        server.fail_with(BUSY, BUSY, BUSY)
        failed = await failure_of(opened)
    assert failed.message == (
        "The language model answered 503: it has troubles of its own; try again later"
    )
    assert len(server.asked) == 3


@both
@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (401, "Incorrect API key provided", "CINDER_LLM__API_KEY"),
        (403, "no", "CINDER_LLM__API_KEY"),
        (404, "The model does not exist", "CINDER_LLM__MODEL"),
        (429, "insufficient_quota", "no credit left"),
        (400, "Your credit balance is too low", "no credit left"),
        (307, "", "CINDER_LLM__BASE_URL"),
        (418, "I am a teapot", "It says: I am a teapot"),
    ],
)
async def test_what_no_patience_mends_is_told_at_once(
    kind: Kind, status: int, said: str, words: str
) -> None:
    server = kind()
    async with open_model(server) as opened:
        server.fail_with(server.error(status, said))
        failed = await failure_of(opened)
    assert words in failed.message
    assert opened.waits == []


async def test_an_error_with_the_status_of_an_answer_is_an_error() -> None:
    server = OpenAiServer("Hello.")
    async with open_model(server) as opened:
        busy = json.dumps({"error": {"message": "no provider is free", "code": 503}}).encode()
        server.fail_with(Reply(busy))
        answer = await opened.endpoint.ask(CALL, some_budget())
    assert (answer.text, opened.waits) == ("Hello.", [0.5])


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [5]}', b"[" * 100_000]
)
@both
async def test_what_cannot_be_understood_is_told(kind: Kind, body: bytes) -> None:
    server = kind()
    async with open_model(server) as opened:
        server.fail_with(Reply(body))
        failed = await failure_of(opened)
    assert "cannot be understood" in failed.message
    assert "llm.protocol" in failed.message


async def test_an_answer_that_is_too_long_is_no_answer() -> None:
    server = OpenAiServer("x" * 300_000)
    async with open_model(server) as opened:
        failed = await failure_of(opened)
    assert "too long or broke off" in failed.message


async def test_a_server_that_is_not_there_is_named_with_its_setting() -> None:
    async with serving(OpenAiServer()) as server:
        wire = OpenAiFormat(f"{server.url}/v1", "m", None)
    with capture_logs() as log:
        async with open_model_at(server.url, wire) as opened:
            failed = await failure_of(opened)
    assert "gave no answer: No connection to it could be made: Connection refused" in failed.message
    assert server.address not in failed.message
    assert server.url in [line.get("address") for line in log]
    assert "CINDER_LLM__BASE_URL" in failed.message
    assert len(opened.waits) == 2


async def test_a_slow_server_is_given_up_and_not_asked_again() -> None:
    server = OpenAiServer()
    async with open_model(server, timeout_seconds=0.2) as opened:
        server.stall()
        failed = await failure_of(opened)
    assert "did not answer in time" in failed.message
    assert len(server.asked) == 1


async def test_a_slow_server_spends_the_budgets_time() -> None:
    server = OpenAiServer()
    async with open_model(server) as opened:
        server.stall()
        with pytest.raises(BudgetExceeded, match="CINDER_LLM__MAX_SECONDS"):
            await opened.endpoint.ask(CALL, some_budget(seconds=0.2))


async def test_tries_are_calls_of_the_budget() -> None:
    server = OpenAiServer()
    async with open_model(server) as opened:
        server.fail_with(BUSY, BUSY)
        with pytest.raises(BudgetExceeded, match="2 of 2 calls"):
            await opened.endpoint.ask(CALL, some_budget(calls=2))
    assert len(server.asked) == 2


@both
async def test_a_provider_that_does_not_count_spends_tokens_all_the_same(kind: Kind) -> None:
    server = kind("y" * 270)
    server.counts = False
    async with open_model(server) as opened:
        budget = some_budget()
        answer = await opened.endpoint.ask(CALL, budget)
    assert (answer.tokens, budget.tokens) == (None, 90)


async def test_a_server_that_wants_other_parameters_gets_them_from_then_on() -> None:
    server = OpenAiServer("One.", "Two.")
    async with open_model(server) as opened:
        server.fail_with(
            server.error(400, "'max_tokens' is not supported. Use 'max_completion_tokens'"),
            server.error(400, "'temperature' does not support 0 with this model"),
        )
        await opened.endpoint.ask(CALL, some_budget())
        await opened.endpoint.ask(CALL, some_budget())
    limits = [(body.get("max_tokens"), "temperature" in body) for body in server.bodies]
    assert limits == [(50, True), (None, True), (None, False), (None, False)]
    assert server.bodies[-1]["max_completion_tokens"] == 50


async def test_a_refusal_that_stays_ends() -> None:
    server = OpenAiServer()
    async with open_model(server) as opened:
        server.fail_with(*[server.error(400, "temperature, max_completion_tokens")] * 9)
        with pytest.raises(FormatRefused):
            await opened.endpoint.ask(CALL, some_budget())
    assert len(server.asked) == 3


async def test_no_more_calls_are_made_at_once_than_allowed() -> None:
    class Gathering(OpenAiServer):
        """Answers when told to, and knows how many waited."""

        def __init__(self) -> None:
            super().__init__()
            self.waiting = 0
            self.most = 0
            self.two_are_here = asyncio.Event()
            self.may_answer = asyncio.Event()

        async def behave(self, origin: Origin, reader: Reader, writer: Writer) -> None:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            if self.waiting == 2:
                self.two_are_here.set()
            await self.may_answer.wait()
            self.waiting -= 1
            await super().behave(origin, reader, writer)

    server = Gathering()
    async with (
        open_model(server, max_concurrency=2) as opened,
        asyncio.timeout(20),
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(5):
            tasks.create_task(opened.endpoint.ask(CALL, some_budget()))
        await server.two_are_here.wait()
        server.may_answer.set()
    assert (len(server.asked), server.most) == (5, 2)


async def test_a_caller_with_many_calls_leaves_room_for_another() -> None:
    class Holding(OpenAiServer):
        """Keeps the greedy waiting until told to answer."""

        def __init__(self) -> None:
            super().__init__()
            self.is_asked = asyncio.Event()
            self.may_answer = asyncio.Event()

        async def behave(self, origin: Origin, reader: Reader, writer: Writer) -> None:
            await read_request(origin, reader)
            self.is_asked.set()
            if b"greedy" in origin.bodies[-1]:
                await self.may_answer.wait()
            said = json.dumps(self.message("Hello.", {})).encode()
            writer.write(answer_of(said, b"Content-Type: application/json", b"Connection: close"))
            await writer.drain()

    server, limits = Holding(), BudgetLimits(calls=9, tokens=9_000, seconds=60)
    greedy = WireCall(user="greedy", system="", max_output_tokens=50)
    async with (
        open_model(server, max_concurrency=2) as opened,
        asyncio.timeout(20),
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(5):
            tasks.create_task(opened.endpoint.ask(greedy, Budget(limits, caller="greedy")))
        await server.is_asked.wait()
        answer = await opened.endpoint.ask(CALL, Budget(limits, caller="modest"))
        server.may_answer.set()
    assert answer.text == "Hello."
