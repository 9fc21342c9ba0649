"""POST /v1/search and /v1/search-and-scrape."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cinder.config import Settings
from cinder.search.base import ProviderFailed
from cinder.surfaces.http import create_api
from tests.conftest import TableResolver
from tests.services.search.doubles import ListProvider, World, hit
from tests.site import Site
from tests.surfaces.searching import open_searching, web_of
from tests.surfaces.seed_schema import hold_against_seed
from tests.surfaces.working import asking


@pytest.fixture
def world(site: Site) -> World:
    return World(providers=web_of(site))


@pytest.fixture
async def client(
    settings: Settings, resolver: TableResolver, world: World
) -> AsyncIterator[httpx2.AsyncClient]:
    api = create_api(settings, open_searching(settings, resolver, world))
    async with asking(api) as opened:
        yield opened


async def search(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    hold_against_seed(answer)
    assert "null" not in response.text
    return answer


@pytest.mark.parametrize("mode", ["fast", "balanced", "deep"])
async def test_a_search_answers_in_the_contracts_shape(
    client: httpx2.AsyncClient, site: Site, mode: str
) -> None:
    answer = await search(client, query="keep coals overnight", mode=mode)
    assert answer["query"] == "keep coals overnight"
    assert {result["url"] for result in answer["results"]} >= {site.url("/article")}
    assert answer["hasMore"] is False
    assert answer["providers"][0]["name"] == "web"


async def test_deep_takes_summary_and_date_from_the_page(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await search(client, query="cover the coals with ash", mode="deep")
    article = next(r for r in answer["results"] if r["url"] == site.url("/article"))
    assert "Cover the coals" in article["summary"]
    assert article["publishedDate"].startswith("2025-11-15T18:30:00")


async def test_everything_the_contract_sends_is_taken(client: httpx2.AsyncClient) -> None:
    await search(
        client,
        query="coals",
        mode="balanced",
        numResults=10,
        offset=0,
        includeDomains=[],
        excludeDomains=[],
        requiredText=[],
        maxAge=None,
    )


async def test_pages_are_followed_by_next_offset(
    client: httpx2.AsyncClient, world: World, site: Site
) -> None:
    first = await search(client, query="coals", numResults=3)
    assert (first["hasMore"], first["nextOffset"]) == (True, 3)
    second = await search(client, query="coals", numResults=3, offset=3)
    assert second["hasMore"] is False
    assert "nextOffset" not in second
    ids = [result["id"] for result in (*first["results"], *second["results"])]
    assert len(set(ids)) == 4


async def test_filters_come_through(client: httpx2.AsyncClient, site: Site) -> None:
    none = await search(client, query="coals", excludeDomains=["http://127.0.0.1/"])
    assert none["results"] == []
    some = await search(client, query="coals", requiredText=["ember /guide", "OVERNIGHT"])
    assert [result["url"] for result in some["results"]] == [site.url("/guide")]
    undated = await search(client, query="coals", maxAge=7)
    assert undated["results"] == []
    assert "maxAge" in undated["warning"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"query": "x" * 501}, "query"),
        ({"query": "a", "mode": "slow"}, "mode"),
        ({"query": "a", "numResults": 0}, "numResults"),
        ({"query": "a", "numResults": 101}, "numResults"),
        ({"query": "a", "numResults": True}, "numResults"),
        ({"query": "a", "offset": -1}, "offset"),
        ({"query": "a", "includeDomains": ["a.example", "not a domain"]}, "includeDomains[1]"),
        ({"query": "a", "excludeDomains": ["x"] * 101}, "excludeDomains"),
        ({"query": "a", "requiredText": ["**"]}, "requiredText[0]"),
        ({"query": "a", "maxAge": 0}, "maxAge"),
        ({"query": "a", "maxAge": True}, "maxAge"),
        ({"query": "a", "providers": ["bing"]}, "providers"),
        ({"query": "a", "includeDomain": ["a.example"]}, "includeDomain"),
    ],
)
async def test_what_is_wrong_is_named(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    response = await client.post("/v1/search", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "VALIDATION_ERROR")
    assert [problem["field"] for problem in error["validationErrors"]] == [field]


async def test_where_every_provider_fails_the_answer_says_so(
    client: httpx2.AsyncClient, world: World
) -> None:
    for provider in world.providers:
        assert isinstance(provider, ListProvider)
        provider.error = ProviderFailed("The instance is down")
    response = await client.post("/v1/search", json={"query": "coals", "providers": ["web"]})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (503, "SEARCH_FAILED")
    assert "web: The instance is down" in error["message"]
    assert response.headers["retry-after"] == "5"


async def test_one_failing_provider_is_reported_beside_the_others_results(
    client: httpx2.AsyncClient, world: World
) -> None:
    for provider in world.providers:
        assert isinstance(provider, ListProvider)
        provider.error = ProviderFailed("The instance is down")
    world.index.add("https://saved.example/", "Coals", "About coals.")
    answer = await search(client, query="coals")
    assert [result["domain"] for result in answer["results"]] == ["saved.example"]
    assert answer["providers"][0]["error"] == "The instance is down"


async def test_results_that_do_not_fit_come_on_the_next_page(
    settings: Settings, resolver: TableResolver
) -> None:
    long = [hit(n, summary="coals " * 80) for n in range(1, 101)]
    world = World(providers=[ListProvider("web", long, page_size=50)])
    server = settings.server.model_copy(update={"result_max_chars": 10_000})
    small = settings.model_copy(update={"server": server})
    api = create_api(small, open_searching(small, resolver, world))
    found: list[str] = []
    async with asking(api) as client:
        offset: int | None = 0
        while offset is not None:
            response = await client.post(
                "/v1/search", json={"query": "coals", "numResults": 100, "offset": offset}
            )
            assert len(response.text) <= 10_000
            answer = response.json()
            found += [result["url"] for result in answer["results"]]
            offset = answer.get("nextOffset")
    assert found == [each.url for each in long]


async def test_search_and_scrape_brings_the_pages(client: httpx2.AsyncClient, site: Site) -> None:
    response = await client.post(
        "/v1/search-and-scrape", json={"query": "coals", "numResults": 4, "scrapeMode": "static"}
    )
    answer = response.json()
    assert response.status_code == 200, response.text
    hold_against_seed(answer)
    pages = {result["url"]: result for result in answer["results"]}
    article = pages[site.url("/article")]
    assert article["content"].startswith("# Ember care")
    assert (article["statusCode"], article["verdict"]) == (200, "ok")
    assert article["savedUri"].startswith("scrape://")
    missing = pages[site.url("/status?code=404")]
    assert (missing["statusCode"], missing["verdict"]) == (404, "http_error")
    assert "evidence" in missing


async def test_a_page_that_cannot_be_had_says_why(
    client: httpx2.AsyncClient, world: World, site: Site
) -> None:
    world.index.add("http://private.test/coals", "Coals", "About coals.")
    response = await client.post("/v1/search-and-scrape", json={"query": "coals", "numResults": 20})
    answer = response.json()
    refused = next(r for r in answer["results"] if r["domain"] == "private.test")
    assert refused["error"].startswith("EGRESS_BLOCKED: ")
    assert "content" not in refused
    assert sum("content" in result for result in answer["results"]) == 4


async def test_search_and_scrape_takes_no_deep_mode_and_not_too_many_pages(
    client: httpx2.AsyncClient,
) -> None:
    body = {"query": "coals", "mode": "deep", "numResults": 21}
    error = (await client.post("/v1/search-and-scrape", json=body)).json()["error"]
    assert {p["field"] for p in error["validationErrors"]} == {"mode", "numResults"}


async def test_the_routes_are_documented(client: httpx2.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert {"/v1/search", "/v1/search-and-scrape"} <= set(paths)


@hypothesis_settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    query=st.text(max_size=80),
    phrase=st.text(max_size=20),
    domain=st.text(max_size=20),
)
async def test_no_text_is_an_error_of_the_server(
    client: httpx2.AsyncClient, query: str, phrase: str, domain: str
) -> None:
    body = {"query": query, "requiredText": [phrase], "includeDomains": [domain]}
    for given_body in (body, {"query": query}):
        response = await client.post("/v1/search", json=given_body)
        assert response.status_code in (200, 400), response.text
