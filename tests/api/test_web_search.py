"""Searching with engines that speak SearXNG's and Brave's wire formats, over REST and MCP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings, read_settings
from cinder.mcp.server import build_server
from cinder.server.asgi import create_app
from tests.api.seed_schema import hold_against_seed
from tests.api.working import TOKEN, asking
from tests.search_servers import (
    BraveServer,
    Reply,
    SearxngServer,
    Web,
    WebPage,
    serving,
    some_pages,
)
from tests.site import Site

MODES = pytest.mark.parametrize("mode", ["fast", "balanced", "deep"])
SURFACES = pytest.mark.parametrize("surface", ["rest", "mcp"])

# Any: what a search takes and answers is JSON.
Answer = dict[str, Any]
Search = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Engines:
    """Two engines that know different parts of the same web."""

    searxng: SearxngServer
    brave: BraveServer


@pytest.fixture
def pages() -> tuple[Web, Web]:
    now = datetime.now(UTC)
    first = some_pages(25, now=now)
    others = some_pages(15, host="www.ash.example", now=now)
    return first, Web([*first.pages[5:10], *others.pages], now=now)


@pytest.fixture
async def engines(pages: tuple[Web, Web]) -> AsyncIterator[Engines]:
    async with (
        serving(SearxngServer(pages[0])) as searxng,
        serving(BraveServer(pages[1], "key")) as brave,
    ):
        yield Engines(searxng, brave)


@pytest.fixture
def settings(settings: Settings, engines: Engines) -> Settings:
    return read_settings(
        data_dir=settings.data_dir,
        server={"port": 0, "api_token": TOKEN},
        egress={"allow": settings.egress.allow},
        scrape={"max_retries": 0},
        search={
            "providers": "searxng,brave",
            "searxng_url": engines.searxng.url,
            "brave_api_key": "key",
            "brave_url": engines.brave.api_url,
        },
    )


@pytest.fixture
async def search(surface: str, settings: Settings) -> AsyncIterator[Search]:
    opening = _over_rest if surface == "rest" else _over_mcp
    async with open_app(settings) as app, opening(app) as searching:
        yield searching


@asynccontextmanager
async def _over_rest(app: App) -> AsyncIterator[Search]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[App]:
        yield app

    api = create_app(app.settings, opened())
    async with asking(api) as client:

        async def searching(**given: Any) -> Answer:
            response = await client.post("/v1/search", json=given)
            assert response.status_code == 200, response.text
            return _checked(response.json())

        yield searching


@asynccontextmanager
async def _over_mcp(app: App) -> AsyncIterator[Search]:
    async def searching(**given: Any) -> Answer:
        async with Client(build_server(app)) as client:
            await client.list_tools()
            result = await client.call_tool("cinder_search", given)
        assert not result.is_error, result
        return _checked(dict(result.structured_content or {}))

    yield searching


def _checked(answer: Answer) -> Answer:
    hold_against_seed(answer)
    return answer


async def read_all(search: Search, **given: Any) -> list[str]:
    """Follow nextOffset to the end."""
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = await search(**given, offset=offset)
        found += [result["url"] for result in answer["results"]]
        offset = answer.get("nextOffset")
    return found


@SURFACES
@MODES
async def test_every_mode_answers_with_what_its_engines_know(search: Search, mode: str) -> None:
    answer = await search(query="embers", mode=mode, numResults=5)
    assert len(answer["results"]) == 5
    assert answer["hasMore"]
    assert answer["nextOffset"] == 5
    asked = {report["name"] for report in answer["providers"]}
    assert asked == ({"searxng"} if mode == "fast" else {"searxng", "brave", "local"})
    assert all("error" not in report for report in answer["providers"])
    assert all(result["publishedDate"] for result in answer["results"])


@SURFACES
@MODES
async def test_every_page_of_every_mode_is_true(search: Search, mode: str) -> None:
    found = await read_all(search, query="embers", mode=mode, numResults=7)
    assert len(found) == len(set(found)) == (25 if mode == "fast" else 40)


@SURFACES
@MODES
async def test_every_filter_of_every_mode_holds(search: Search, mode: str) -> None:
    domains = {"mode": mode, "query": "embers", "numResults": 50}
    only = await search(**domains, includeDomains=["*.ash.example"])
    assert {result["domain"] for result in only["results"]} <= {"ash.example"}
    assert mode == "fast" or len(only["results"]) == 15
    without = await search(**domains, excludeDomains=["https://ash.example/"])
    assert {result["domain"] for result in without["results"]} == {"embers.example"}
    recent = await search(**domains, maxAge=3.5)
    assert len(recent["results"]) == (4 if mode == "fast" else 8)
    exact = await search(**domains, requiredText=["What to KNOW", "number 7"])
    assert {result["title"] for result in exact["results"]} == {"All about embers, part 7"}


@SURFACES
async def test_a_limited_engine_is_reported_and_left_alone(
    search: Search, engines: Engines
) -> None:
    limited = Reply(b"{}", status=429, headers={"Retry-After": "60"})
    engines.brave.fail_with(limited, limited)
    first = await search(query="embers")
    second = await search(query="glowing embers")
    for answer in (first, second):
        errors = {report["name"]: report.get("error") for report in answer["providers"]}
        assert errors["searxng"] is None
        assert errors["brave"]
        assert len(answer["results"]) == 10
    assert len(engines.brave.asked) == 1


@SURFACES
async def test_a_fast_search_does_without_an_engine_that_fails(
    search: Search, engines: Engines
) -> None:
    engines.searxng.fail_with(Reply(b"oh", "text/plain", 500), Reply(b"oh", "text/plain", 500))
    answer = await search(query="embers", mode="fast")
    assert [report["name"] for report in answer["providers"]] == ["searxng", "brave"]
    assert len(answer["results"]) == 10


@SURFACES
@pytest.mark.parametrize("mode", ["fast", "balanced"])
async def test_an_engine_that_does_not_answer_costs_its_own_results(
    search: Search, engines: Engines, mode: str
) -> None:
    engines.searxng.stall()
    answer = await search(query="embers", mode=mode)
    assert answer["results"]
    assert "No answer within" in answer["providers"][0]["error"]
    assert answer["searchTime"] < (2_000 if mode == "fast" else 5_000)


@pytest.mark.parametrize("surface", ["rest"])
async def test_deep_reads_what_the_engines_found(
    search: Search, engines: Engines, site: Site
) -> None:
    engines.searxng.web = Web([WebPage(site.url("/article"), "Embers", "A page on embers.")])
    answer = await search(query="rake the ash aside from embers", mode="deep")
    article = next(one for one in answer["results"] if one["url"] == site.url("/article"))
    assert "ash aside" in article["summary"]
    again = await search(query="rake ash", providers=["local"])
    assert [result["url"] for result in again["results"]] == [site.url("/article")]
