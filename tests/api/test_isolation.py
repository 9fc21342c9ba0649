"""One caller tries to get at what another has that credentials, or a job, made his own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from cinder.api.v1.routes import LOOKUPS
from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.server.asgi import create_app
from tests.api.test_callers import BASE, make_token, sending
from tests.api.working import is_over, started, until
from tests.mcp.reading import text_of
from tests.resolver import TableResolver
from tests.site import Site

Json = dict[str, Any]  # Any: whatever JSON a route answers with

SECRET = {"Authorization": "Basic dTpw"}
# Ways to ask for a page that make the answer the caller's own.
PERSONAL: tuple[tuple[str, Json], ...] = (
    ("/article", {"headers": SECRET}),
    ("/article", {"headers": {"Cookie": "login=one"}}),
    ("/article", {"headers": {"X-Api-Key": "one"}}),
    ("/article?access_token=one", {}),
    ("/article?X-Amz-Signature=one", {}),
    ("/article", {"headers": {"User-Agent": "one"}}),
    ("/article", {"headers": {"Accept-Language": "de"}}),
    ("/article", {"includeTags": ["article"]}),
    ("/article", {"excludeTags": ["nav"]}),
    ("/article", {"extract": "who wrote it"}),
)


@dataclass(frozen=True, slots=True)
class Side:
    """A caller over both surfaces."""

    http: httpx2.AsyncClient
    mcp: Client

    async def scrape(self, **body: Any) -> Json:  # Any: JSON
        answer = await self.http.post("/api/v2/scrape", json=body)
        assert answer.status_code == 200, answer.text
        data: Json = answer.json()["data"]
        return data

    async def resources(self) -> str:
        return str((await self.mcp.list_resources()).resources)

    async def search(self, query: str) -> list[str]:
        asked = {"query": query, "providers": ["local"]}
        answer = (await self.http.post("/v1/search", json=asked)).json()
        return [result["url"] for result in answer["results"]]


@asynccontextmanager
async def side(api: Starlette, name: str) -> AsyncIterator[Side]:
    async with (
        sending(api, await make_token(api, name)) as http,
        Client(streamable_http_client(f"{BASE}/mcp", http_client=http)) as mcp,
    ):
        yield Side(http, mcp)


@asynccontextmanager
async def both_sides(api: Starlette) -> AsyncIterator[tuple[Side, Side]]:
    async with side(api, "one") as one, side(api, "two") as two:
        yield one, two


@pytest.mark.parametrize(("path", "how"), PERSONAL)
async def test_a_page_opened_by_credentials_is_nowhere_to_be_found_by_others(
    path: str, how: Json, api: Starlette, site: Site
) -> None:
    asked = {"url": site.url(path), **how}
    async with both_sides(api) as (one, two):
        mine = await one.scrape(**asked)
        for uri in mine["savedUris"].values():
            await one.mcp.read_resource(uri)
            with pytest.raises(MCPError, match="Nothing is saved under this URI"):
                await two.mcp.read_resource(uri)
        assert "/article" in await one.resources()
        assert "/article" not in await two.resources()
        assert await one.search("ash rake") == [site.url(path)]
        assert await two.search("ash rake") == []
        assert not (await two.scrape(**asked))["cached"]


@pytest.mark.parametrize(
    "how",
    [
        {"headers": {"User-Agent": "greetings from one"}},
        {"headers": {"X-Greeting": "greetings from one"}},
    ],
)
async def test_words_that_a_caller_sends_reach_nobody_else(
    how: Json, api: Starlette, site: Site
) -> None:
    url = site.url("/echo")
    latest = f"scrape://{site.address}/echo/cleaned_latest"
    async with both_sides(api) as (one, two):
        plain = await one.scrape(url=url)
        mine = await one.scrape(url=url, **how)
        again = await one.scrape(url=url, **how)
        assert "greetings from one" in mine["content"]
        assert (again["cached"], again["savedUris"]) == (True, mine["savedUris"])
        for caller in (one, two):
            newest = (await caller.mcp.read_resource(latest)).contents[0]
            assert newest.uri == plain["savedUris"]["cleaned"]
            assert "greetings from one" not in str(newest)
        assert await two.search('"greetings from one"') == []
        assert not (await two.scrape(url=url, **how))["cached"]
        exact = await one.mcp.read_resource(mine["savedUris"]["cleaned"])
        assert "greetings from one" in str(exact.contents)


async def test_what_ones_own_options_shaped_is_not_the_latest_version(
    api: Starlette, site: Site
) -> None:
    url, latest = site.url("/article"), f"scrape://{site.address}/article/cleaned_latest"
    async with side(api, "one") as one:
        await one.scrape(url=url, includeTags=["h1"])
        with pytest.raises(MCPError, match="Nothing is saved under this URI"):
            await one.mcp.read_resource(latest)
        plain = await one.scrape(url=url)
        await one.scrape(url=url, excludeTags=["h1"])
        newest = (await one.mcp.read_resource(latest)).contents[0]
    assert newest.uri == plain["savedUris"]["cleaned"]


async def test_a_page_that_was_only_fetched_in_another_way_is_for_all(
    api: Starlette, site: Site
) -> None:
    async with both_sides(api) as (one, two):
        asked = {"url": site.url("/article"), "mode": "static", "waitFor": 0, "blockAds": False}
        await one.scrape(**asked, onlyMainContent=False)
        assert (await two.scrape(**asked, onlyMainContent=False))["cached"]
        assert await two.search("ash rake") == [site.url("/article")]


async def test_the_version_that_changes_are_told_against_is_ones_own(
    api: Starlette, site: Site
) -> None:
    asked = {"url": site.url("/article"), "headers": SECRET, "formats": ["changeTracking"]}
    async with both_sides(api) as (one, two):
        await one.scrape(**asked)
        again = await one.scrape(**asked)
        others = await two.scrape(**asked)
    assert again["changeTracking"]["changeStatus"] == "same"
    assert others["changeTracking"]["changeStatus"] == "new"


async def test_what_a_search_brought_one_caller_is_not_handed_to_the_next(
    api: Starlette, site: Site
) -> None:
    asked = {"query": "ash rake", "providers": ["local"], "numResults": 1}
    async with both_sides(api) as (one, two):
        await one.scrape(url=site.url("/article"), headers=SECRET)
        # A ranked list is held for the one who asked first.
        assert await one.search("ash rake") == [site.url("/article")]
        assert (await two.http.post("/v1/search", json=asked)).json()["results"] == []
        pages = await two.http.post("/v1/search-and-scrape", json=asked)
        told = await two.mcp.call_tool("cinder_search", asked)
    assert "Ember care" not in pages.text + text_of(told)


async def start_jobs(caller: Side, site: Site) -> dict[str, str]:
    """Start a crawl, and a batch with credentials; return their ids."""
    crawl = {"url": site.url("/article"), "maxDepth": 1}
    batch = {"urls": [site.url("/links")], "headers": SECRET}
    return {
        "crawl": (await caller.http.post("/v1/crawl", json=crawl)).json()["crawlId"],
        "batch": (await caller.http.post("/api/v2/scrape", json=batch)).json()["data"]["jobId"],
    }


async def test_no_route_of_a_job_answers_another_caller(api: Starlette, site: Site) -> None:
    async with both_sides(api) as (one, two):
        jobs = await start_jobs(one, site)
        answers = {}
        for method, path in LOOKUPS:
            if "{id}" in path:
                place = path.replace("{id}", jobs["crawl" if "/crawl" in path else "batch"])
                answer = await two.http.request(method.upper(), place)
                answers[method, path] = answer.status_code
        listed = [(await two.http.get(f"/v1/{kind}")).json() for kind in ("crawls", "batches")]
        mine = [await one.http.get(f"/v1/{kind}/{job}") for kind, job in jobs.items()]
    assert len(answers) >= 16
    assert set(answers.values()) == {404}
    assert listed == [{"crawls": []}, {"batches": []}]
    assert [answer.status_code for answer in mine] == [200, 200]


async def test_no_tool_tells_of_another_callers_job_nor_ends_it(api: Starlette, site: Site) -> None:
    async with both_sides(api) as (one, two):
        jobs = await start_jobs(one, site)
        told = [
            await two.mcp.call_tool("cinder_get_crawl_status", {"id": jobs["crawl"]}),
            *[
                await two.mcp.call_tool("scrape", {"command": command, "jobId": jobs["batch"]})
                for command in ("status", "errors", "cancel")
            ],
        ]
        sent = [
            await two.http.post("/api/v2/scrape", json={"command": command, "jobId": jobs["batch"]})
            for command in ("status", "errors", "cancel")
        ]
        batch = (await one.http.get(f"/v1/batch/{jobs['batch']}")).json()
    assert all(result.is_error for result in told)
    assert ["NOT_FOUND" in text_of(result) for result in told] == [True] * 4
    assert [answer.status_code for answer in sent] == [404] * 3
    assert batch["status"] != "cancelled"


@pytest.fixture
async def working_api(settings: Settings, resolver: TableResolver) -> AsyncIterator[Starlette]:
    """A server that works on jobs."""
    served = create_app(settings, open_app(settings, resolver=resolver, works_on_jobs=True))
    async with started(served):
        yield served


async def test_the_pages_of_a_batch_with_credentials_are_its_callers_alone(
    working_api: Starlette, site: Site
) -> None:
    async with both_sides(working_api) as (one, two):
        batch = (await start_jobs(one, site))["batch"]

        async def look() -> Json:
            answer: Json = (await one.http.get(f"/v1/batch/{batch}")).json()
            return answer

        await until(look, is_over)
        assert "/links" in await one.resources()
        assert "/links" not in await two.resources()


async def test_the_same_idempotency_key_of_two_callers_starts_two_jobs(
    api: Starlette, site: Site
) -> None:
    start = {"url": site.url("/article"), "maxDepth": 1, "idempotencyKey": "monday"}
    async with both_sides(api) as (one, two):
        crawls = [
            (await caller.http.post("/v1/crawl", json=start)).json()["crawlId"]
            for caller in (one, one, two)
        ]
    assert crawls[0] == crawls[1] != crawls[2]
