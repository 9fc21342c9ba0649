"""The tools `cinder_search` and `cinder_search_and_scrape`, in both eras of the protocol."""

import json
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest

from cinder.app.composition import App
from cinder.config.settings import Settings
from cinder.search.base import ProviderFailed
from tests.api.searching import open_searching, web_of
from tests.api.seed_schema import hold_against_seed
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of, unmarked
from tests.resolver import TableResolver
from tests.services.search.doubles import ListProvider, World, hit
from tests.site import Site

BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@pytest.fixture
def world(site: Site) -> World:
    return World(providers=web_of(site))


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver, world: World) -> AsyncIterator[App]:
    async with open_searching(settings, resolver, world) as opened:
        yield opened


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    data = dict(result.structured_content or {})
    hold_against_seed(data)
    assert None not in data.values()
    return data


@BOTH_ERAS
@pytest.mark.parametrize("mode", ["fast", "balanced", "deep"])
async def test_a_search_says_the_same_as_text_and_as_data(call: Call, mode: str) -> None:
    result = unmarked(await call("cinder_search", query="coals", mode=mode))
    data = data_of(result)
    assert json.loads(text_of(result)) == data
    assert len(data["results"]) >= 3
    assert data["providers"][0]["name"] == "web"


async def test_next_pages_are_other_results(call: Call) -> None:
    first = data_of(await call("cinder_search", query="coals", numResults=3))
    offset = first["nextOffset"]
    second = data_of(await call("cinder_search", query="coals", numResults=3, offset=offset))
    urls = [result["url"] for result in (*first["results"], *second["results"])]
    assert (len(urls), len(set(urls)), second["hasMore"]) == (4, 4, False)


async def test_lists_may_come_as_json_in_a_string(call: Call, site: Site) -> None:
    data = data_of(await call("cinder_search", query="coals", requiredText='["/guide"]'))
    assert [result["url"] for result in data["results"]] == [site.url("/guide")]


async def test_a_long_answer_is_cut_to_size_and_goes_on(call: Call, world: World) -> None:
    long = [hit(n, summary="coals " * 80) for n in range(1, 101)]
    (provider,) = world.providers
    assert isinstance(provider, ListProvider)
    provider.found, provider.page_size = long, 50
    result = await call("cinder_search", query="coals", numResults=100)
    data = data_of(result)
    assert len(text_of(result)) <= 20_000
    assert data["hasMore"]
    assert data["nextOffset"] == len(data["results"]) < 100


@BOTH_ERAS
async def test_pages_come_with_content_verdict_and_uri(call: Call, site: Site) -> None:
    result = await call("cinder_search_and_scrape", query="coals", numResults=4)
    data = data_of(result)
    pages = {page["url"]: page for page in data["results"]}
    article = pages[site.url("/article")]
    assert article["content"].startswith("# Ember care")
    assert (article["statusCode"], article["verdict"]) == (200, "ok")
    assert pages[site.url("/status?code=404")]["verdict"] == "http_error"
    text = text_of(result)
    for page in data["results"]:
        assert page["id"] in text
        assert page["url"] in text
        assert page.get("content", "") in text
        assert page.get("savedUri", "") in text


async def test_pages_share_the_room_there_is(call: Call, world: World, site: Site) -> None:
    (provider,) = world.providers
    assert isinstance(provider, ListProvider)
    provider.found = [hit(1, url=site.url(f"/guide?copy={n}"), title="Guide") for n in range(3)]
    result = await call("cinder_search_and_scrape", query="banking a fire with oak")
    assert len(text_of(result)) <= 20_000
    contents = [page["content"] for page in data_of(result)["results"]]
    assert len(contents) == 3
    assert all("fire" in content for content in contents)


async def test_where_nobody_answers_the_failure_names_each(call: Call, world: World) -> None:
    (provider,) = world.providers
    assert isinstance(provider, ListProvider)
    provider.error = ProviderFailed("The instance is down")
    for tool in ("cinder_search", "cinder_search_and_scrape"):
        text = error_of(await call(tool, query="coals", providers=["web"]))
        assert text.startswith("SEARCH_FAILED: ")
        assert "web: The instance is down" in text


@pytest.mark.parametrize("query", ["", "\ud800", "\x00", "x" * 501])
async def test_a_query_that_is_none_is_refused(call: Call, query: str) -> None:
    text = error_of(await call("cinder_search", query=query))
    assert text.startswith("VALIDATION_ERROR")
    assert "query" in text
