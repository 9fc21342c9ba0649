"""POST /v1/search on what the server has saved itself: no provider, no network."""

from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cinder.app.composition import App
from cinder.models.request import ScrapeRequest
from cinder.models.search import SearchRequest
from tests.api.seed_schema import hold_against_seed
from tests.site import Site

OPERATORS = st.sampled_from(
    [
        '"',
        "-",
        "*",
        "(",
        ")",
        "^",
        ":",
        "{",
        "}",
        "+",
        "NEAR",
        "AND",
        "OR",
        "NOT",
        "'",
        "&",
        "|",
        "!",
    ]
)
WORDS = st.one_of(OPERATORS, st.text(max_size=8), st.sampled_from(["ember", "coals", "title:"]))


async def search(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    hold_against_seed(answer)
    return answer


async def test_a_page_is_found_once_it_is_saved(client: httpx2.AsyncClient, site: Site) -> None:
    before = await search(client, query="rake the ash aside")
    assert before["results"] == []
    await client.post("/v1/scrape", json={"url": site.url("/article")})
    after = await search(client, query="rake the ash aside in the morning", providers=["local"])
    (found,) = after["results"]
    assert (found["url"], found["title"]) == (site.url("/article"), "Ember care")
    assert "ash aside" in found["summary"]
    assert found["publishedDate"].startswith("2025-11-15T18:30:00")
    assert after["providers"] == [
        {"name": "local", "milliseconds": after["providers"][0]["milliseconds"], "results": 1}
    ]


@pytest.mark.parametrize("mode", ["fast", "balanced", "deep"])
async def test_required_text_may_stand_anywhere_in_a_saved_page(
    client: httpx2.AsyncClient, site: Site, mode: str
) -> None:
    for path in ("/article", "/guide"):
        await client.post("/v1/scrape", json={"url": site.url(path)})
    answer = await search(
        client, query="fire ember", mode=mode, requiredText=["rake the ash aside"]
    )
    assert [result["url"] for result in answer["results"]] == [site.url("/article")]


async def test_pages_that_came_with_credentials_are_found_by_their_owner_alone(
    app: App, site: Site
) -> None:
    headers = (("Authorization", "Bearer x"),)
    await app.scrape.scrape(
        ScrapeRequest(url=site.url("/article"), headers=headers, caller="somebody")
    )
    found = {
        caller: len((await app.search.search(SearchRequest(query="ember", caller=caller))).results)
        for caller in ("somebody", "owner")
    }
    assert found == {"somebody": 1, "owner": 0}


@hypothesis_settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(words=st.lists(WORDS, min_size=1, max_size=8))
async def test_no_query_is_an_error_of_the_server(
    client: httpx2.AsyncClient, words: list[str]
) -> None:
    for mode in ("fast", "balanced"):
        response = await client.post("/v1/search", json={"query": " ".join(words), "mode": mode})
        assert response.status_code in (200, 400), response.text
        if response.status_code == 200:
            assert all("error" not in report for report in response.json()["providers"])
