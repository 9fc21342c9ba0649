"""The language model, as the settings name it, through egress."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.errors import EgressBlocked, SettingsError
from cinder.llm.base import BudgetExceeded, ModelFailed, ModelRequest
from cinder.models.document import Json
from cinder.models.request import ScrapeRequest
from tests.llm.servers import KEY, MODEL, AnthropicServer, OpenAiServer
from tests.search_servers import Reply, serving

NAME: Mapping[str, Json] = {"type": "object", "properties": {"name": {"type": "string"}}}


@asynccontextmanager
async def open_cinder(path: Path, **llm: Any) -> AsyncIterator[App]:  # Any: what fields take
    async with open_app(read_settings(data_dir=path, llm=llm)) as app:
        yield app


@pytest.mark.parametrize(
    ("kind", "protocol"), [(OpenAiServer, "openai"), (AnthropicServer, "anthropic")]
)
async def test_the_model_answers_from_the_private_address_that_the_owner_wrote(
    kind: type[OpenAiServer] | type[AnthropicServer], protocol: str, tmp_path: Path
) -> None:
    async with (
        serving(kind('{"name": "Ember"}')) as server,
        open_cinder(
            tmp_path, base_url=server.url, model=MODEL, api_key=KEY, protocol=protocol
        ) as app,
    ):
        configured = app.language_model
        assert configured is not None
        question = ModelRequest(user="?", schema=NAME)
        answer = await configured.model.complete(question, configured.new_budget())
        with pytest.raises(EgressBlocked):
            await app.scrape.scrape(ScrapeRequest(url=f"{server.url}/"))
        figures = app.metrics.render().decode()
    headers = server.asked[0].headers
    assert answer.value == {"name": "Ember"}
    assert configured.model.name == MODEL
    assert headers["user-agent"].startswith("cinder/")
    assert KEY in (headers.get("x-api-key") or headers["authorization"])
    assert 'cinder_model_seconds_count{outcome="ok"} 2.0' in figures


async def test_without_an_address_there_is_no_model(tmp_path: Path) -> None:
    async with open_cinder(tmp_path) as app:
        findings = [finding.part for finding in await app.health.examine()]
        assert app.language_model is None
    assert "model" not in findings


async def test_a_redirect_is_not_followed_with_the_key(tmp_path: Path) -> None:
    async with serving(OpenAiServer()) as elsewhere, serving(OpenAiServer()) as server:
        server.fail_with(Reply(b"", status=307, headers={"Location": f"{elsewhere.url}/v1"}))
        async with open_cinder(tmp_path, base_url=server.url, model=MODEL, api_key=KEY) as app:
            configured = app.language_model
            assert configured is not None
            with pytest.raises(ModelFailed, match="redirects elsewhere"):
                await configured.model.complete(ModelRequest(user="?"), configured.new_budget())
    assert elsewhere.asked == []


async def test_the_budget_is_what_the_settings_allow(tmp_path: Path) -> None:
    async with (
        serving(OpenAiServer("One.")) as server,
        open_cinder(tmp_path, base_url=server.url, model=MODEL, max_calls=1) as app,
    ):
        configured = app.language_model
        assert configured is not None
        budget = configured.new_budget()
        await configured.model.complete(ModelRequest(user="?"), budget)
        with pytest.raises(BudgetExceeded, match="1 of 1 calls"):
            await configured.model.complete(ModelRequest(user="?"), budget)


@pytest.mark.parametrize(
    ("llm", "words"),
    [
        (
            {"base_url": "http://a.example/?k=1", "model": "m"},
            r"llm\.base-url \(CINDER_LLM__BASE_URL\): It must have no",
        ),
        ({"base_url": "gopher://a", "model": "m"}, r"llm\.base-url"),
        ({"base_url": "http://a.example", "model": "m", "api_key": "two\nlines"}, "llm.api-key"),
        ({"base_url": "http://a.example"}, "CINDER_LLM__MODEL"),
        ({"model": "m"}, "CINDER_LLM__BASE_URL"),
        ({"api_key": "k"}, "CINDER_LLM__BASE_URL"),
        ({"base_url": "http://a.example", "model": "m", "protocol": "grpc"}, r"llm\.protocol"),
    ],
)
async def test_what_cannot_be_used_is_an_error_of_the_settings(
    llm: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=words):
        async with open_cinder(tmp_path, **llm):
            pytest.fail("it opened")
