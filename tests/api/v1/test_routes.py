"""tests.api.v1.test_routes"""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cinder.config.settings import Settings
from cinder.search.base import ProviderFailed
from cinder.server.asgi import create_app
from tests.api.searching import open_searching, web_of
from tests.api.seed_schema import hold_against_seed
from tests.api.working import asking
from tests.resolver import TableResolver
from tests.services.extraction.wares import ALL, PROMPT, SCHEMA, urls_of
from tests.services.search.doubles import ListProvider, World, hit
from tests.site import Site


@pytest.fixture
def world(site: Site) -> World:
    return World(providers=web_of(site))


@pytest.fixture
async def client(
    settings: Settings, resolver: TableResolver, world: World
) -> AsyncIterator[httpx2.AsyncClient]:
    api = create_app(settings, open_searching(settings, resolver, world))
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
    api = create_app(small, open_searching(small, resolver, world))
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


async def ask(client: httpx2.AsyncClient, **body: Any) -> tuple[int, dict[str, Any]]:
    response = await client.post("/v1/extract", json=body, timeout=60)
    return response.status_code, response.json()


async def test_three_urls_a_prompt_and_a_schema_give_data_proof_and_sources(
    client: httpx2.AsyncClient, site: Site
) -> None:
    urls = urls_of(site, *ALL)
    status, answer = await ask(client, urls=urls, prompt=PROMPT, schema=SCHEMA)
    assert status == 200
    uses = ["Tea", "Soup", "Light", "Raking"]
    assert answer["data"] == {"name": "Iron Kettle", "price": 49.5, "uses": uses}
    price = next(each for each in answer["proof"] if each["path"] == "price")
    assert price == {
        "path": "price",
        "grounding": "normalized",
        "method": "label",
        "url": urls[0],
        "quote": "$49.50",
        "text": "markdown",
        "start": price["start"],
        "end": price["start"] + 6,
        "label": "Price",
        "rule": "amount of money",
    }
    assert [each["url"] for each in answer["sources"]] == list(urls)
    assert {each["verdict"] for each in answer["sources"]} == {"ok"}
    assert answer["missing"] == ["smith"]
    assert answer["engine"] == "rules"
    assert {each["path"] for each in answer["conflicts"]} == {"name", "price"}
    assert "usage" not in answer


async def test_what_is_missing_can_be_found_by_the_caller_and_sent_back(
    client: httpx2.AsyncClient, site: Site
) -> None:
    wanted = {"urls": urls_of(site, "lantern", "kettle"), "schema": SCHEMA}
    _, answer = await ask(client, **wanted)
    hand_off = answer["handOff"]
    assert (hand_off["fields"], hand_off["schema"]) == (["smith"], SCHEMA)
    passage = next(each for each in hand_off["passages"] if "Tobias Flint" in each["text"])
    claim = {"path": "smith", "value": "Tobias Flint", "quote": "the forge of old Tobias Flint"}
    _, answer = await ask(client, **wanted, verify=[{**claim, "passage": passage["id"]}])
    assert answer["data"]["smith"] == "Tobias Flint"
    assert "handOff" not in answer
    smith = next(each for each in answer["proof"] if each["path"] == "smith")
    assert (smith["grounding"], smith["method"]) == ("verified", "caller")
    assert smith["url"] == passage["url"]
    assert "caller" in answer["engine"]


async def test_a_claim_without_proof_is_unverified_and_dropped_when_strict(
    client: httpx2.AsyncClient, site: Site
) -> None:
    claim = {"path": "smith", "value": "Wayland", "quote": "forged by Wayland"}
    wanted = {"urls": urls_of(site, "kettle"), "schema": SCHEMA, "verify": [claim]}
    _, answer = await ask(client, **wanted)
    smith = next(each for each in answer["proof"] if each["path"] == "smith")
    assert smith["grounding"] == "unverified"
    _, answer = await ask(client, **wanted, strictGrounding=True)
    assert "smith" not in answer["data"]
    assert answer["missing"] == ["smith"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prompt": "name"}, "urls"),
        ({"urls": [], "prompt": "name"}, "urls"),
        ({"urls": ["https://a.example/"]}, "prompt"),
        ({"urls": ["https://a.example/"], "prompt": " "}, "prompt"),
        ({"urls": ["ftp://a.example/"], "prompt": "name"}, "urls[0]"),
        ({"urls": ["a.example"] + [f"a{n}.example" for n in range(10)], "prompt": "x"}, "urls"),
        (
            {"urls": ["a.example"], "schema": {"type": "object", "required": "name"}},
            "schema.required",
        ),
        ({"urls": ["a.example"], "prompt": "x", "strict": True}, "strict"),
        ({"urls": ["a.example"], "verify": [{"path": "a"}]}, "verify[0].value"),
        (
            {"urls": ["a.example"], "verify": [{"path": "a..b", "value": 1, "quote": "1"}]},
            "verify[0].path",
        ),
        (
            {
                "urls": ["a.example"],
                "verify": [{"path": "a", "value": 1, "quote": "1", "passage": "2-p"}],
            },
            "verify[0].passage",
        ),
        (
            {
                "urls": ["a.example"],
                "verify": [{"path": "a", "value": 1, "quote": "1", "url": "b.example"}],
            },
            "verify[0].url",
        ),
    ],
)
async def test_what_is_wrong_with_a_request_is_named(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    status, answer = await ask(client, **body)
    assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert field in [each["field"] for each in answer["error"]["validationErrors"]]


async def test_nothing_to_read_is_a_failure_that_says_what_was_tried(
    client: httpx2.AsyncClient, site: Site
) -> None:
    status, answer = await ask(client, urls=[site.url("/status?code=500")], prompt="name")
    assert (status, answer["error"]["code"]) == (500, "EXTRACTION_FAILED")
    assert "500" in answer["error"]["message"]


async def test_the_route_is_documented_with_an_example(client: httpx2.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    body = document["paths"]["/v1/extract"]["post"]["requestBody"]["content"]["application/json"]
    assert set(body["example"]) == {"urls", "prompt", "schema"}
    assert "schema" in document["components"]["schemas"]["ExtractArguments"]["properties"]


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/v1/scrape", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_a_page_comes_with_its_metadata(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"))
    assert answer["url"] == site.url("/article")
    assert answer["title"] == "Ember care"
    assert answer["content"].startswith("# Ember care")
    assert answer["statusCode"] == 200
    assert answer["loadTime"] >= 0
    assert answer["verdict"] == "ok"
    metadata = answer["metadata"]
    assert metadata["description"] == "How to keep a fire overnight."
    assert metadata["author"] == "Ada Stoker"
    assert metadata["keywords"] == ["fire", "ash", "ember"]
    assert metadata["publishDate"].startswith("2025-11-15T18:30:00")


async def test_metadata_can_be_left_out(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"), includeMetadata=False)
    assert "metadata" not in answer


async def test_html_keeps_the_structure(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"), returnFormat="html")
    assert "<h1>Ember care</h1>" in answer["content"]


async def test_json_has_outline_sections_tables_and_links(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=site.url("/article"), returnFormat="json", mode="static")
    page = json.loads(answer["content"])
    assert [(part["level"], part["title"]) for part in page["outline"]] == [
        (1, "Ember care"),
        (2, "In the morning"),
    ]
    assert page["sections"][1]["text"].startswith("Rake the ash aside")
    assert page["tables"] == [[["Wood", "Hours"], ["Oak", "9"]]]
    assert site.url("/coals?x=1") in page["links"]
    assert page["jsonLd"] == [{"@type": "Article", "headline": "Ember care"}]


async def test_a_page_has_an_outline_and_is_read_in_parts(
    client: httpx2.AsyncClient, site: Site
) -> None:
    whole = await scrape(client, url=site.url("/guide"))
    assert whole["outline"][1]["id"] == "oak"
    section = await scrape(client, url=site.url("/guide"), section="Banking a fire")
    assert section["content"].startswith("## Banking a fire\n")
    assert section["section"]["id"] == "banking-a-fire"
    found = await scrape(client, url=site.url("/guide"), query="close the damper")
    assert found["passages"][0]["section"] == "banking-a-fire"
    assert found["warning"] == "One passage matches the query in the text."
    assert site.hits("/guide") == 1


async def test_an_http_error_page_is_returned_with_its_status(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=site.url("/status?code=404"))
    assert (answer["statusCode"], answer["verdict"]) == (404, "http_error")
    assert "Sorry" in answer["content"]


async def test_a_page_without_a_scheme_may_be_served_over_http(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=f"{site.address}/article")
    assert answer["url"] == site.url("/article")
    assert "http:// was used" in answer["warning"]


async def test_a_page_of_a_busy_server_says_when_to_ask_again(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=site.url("/flaky?failures=9&retry-after=3600"))
    assert (answer["statusCode"], answer["retryAfter"]) == (503, 3600)


async def test_a_blocked_page_is_an_error_that_clients_do_not_retry(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {"url": site.url("/wall?code=403"), "mode": "static"}
    response = await client.post("/v1/scrape", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (422, "BLOCKED")
    assert (error["statusCode"], error["verdict"]) == (403, "blocked")


async def test_a_file_is_named_rather_than_returned(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/image"))
    assert "image/png" in answer["content"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "mode": "quick"}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "returnformat": "html"}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "section": "a", "returnFormat": "html"}, 400, "VALIDATION_ERROR"),
        ({"url": "http://nowhere.test/", "mode": "dynamic"}, 424, "DNS_ERROR"),
        ({"url": "http://127.0.0.1:22/"}, 403, "EGRESS_BLOCKED"),
        ({"url": "http://nowhere.test/"}, 424, "DNS_ERROR"),
    ],
)
async def test_errors_have_a_code_and_its_status(
    client: httpx2.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    response = await client.post("/v1/scrape", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_a_pdf_is_always_parsed(client: httpx2.AsyncClient, site: Site) -> None:
    url = site.url("/document?name=leaflet.pdf")
    data = (await client.post("/v1/scrape", json={"url": url})).json()
    assert data["content"].startswith("<!-- page 1 -->\n\n# Ember care")
    assert data["metadata"]["pageCount"] == 2
    assert data["title"] == "Ember care"


async def test_a_broken_pdf_is_a_clear_error(client: httpx2.AsyncClient, site: Site) -> None:
    response = await client.post("/v1/scrape", json={"url": site.url("/paper")})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "UNSUPPORTED")
