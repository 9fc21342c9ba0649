"""A token for some domains: what it reads of all that is kept, and where its webhooks go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.mcp.resources import SAVED_TEMPLATE
from cinder.models.caller import CallerPolicy
from cinder.server.asgi import create_app
from tests.api.test_callers import BASE, make_token, sending
from tests.api.working import TOKEN, started
from tests.mcp.reading import text_of
from tests.resolver import TableResolver
from tests.site import Site

Json = dict[str, Any]  # Any: whatever JSON a route answers with

ALLOWED, OTHER = "docs.allowed.test", "other.test"


@pytest.fixture
async def api(settings: Settings, site: Site) -> AsyncIterator[Starlette]:
    """A server to which the site has two names, and hooks have public and private ones."""
    names = (ALLOWED, OTHER)
    resolver = TableResolver(
        {
            **{name: ["127.0.0.1"] for name in names},
            "hooks.allowed.test": ["93.184.216.34"],
            "hooks.test": ["93.184.216.34"],
            "inner.test": ["10.0.0.7"],
            "mixed.test": ["93.184.216.34", "10.0.0.7"],
        }
    )
    allow = (*settings.egress.allow, *(f"{name}:{site.port}" for name in names))
    egress = settings.egress.model_copy(update={"allow": allow})
    open_settings = settings.model_copy(update={"egress": egress})
    served = create_app(open_settings, open_app(open_settings, resolver=resolver))
    async with started(served):
        yield served


@asynccontextmanager
async def limited(api: Starlette) -> AsyncIterator[tuple[httpx2.AsyncClient, Client]]:
    """A caller whose token is for allowed.test and all beneath it."""
    secret = await make_token(api, "limited", policy=CallerPolicy(domains=("allowed.test",)))
    async with (
        sending(api, secret) as http,
        Client(streamable_http_client(f"{BASE}/mcp", http_client=http)) as agent,
    ):
        yield http, agent


async def save_as_owner(api: Starlette, *urls: str) -> list[str]:
    """Have pages saved for all; return the URIs of their text."""
    async with sending(api, TOKEN) as owner:
        answers = [await owner.post("/api/v2/scrape", json={"url": url}) for url in urls]
    return [answer.json()["data"]["savedUris"]["cleaned"] for answer in answers]


def urls_at(site: Site, path: str = "/article") -> tuple[str, str]:
    return f"http://{ALLOWED}:{site.port}{path}", f"http://{OTHER}:{site.port}{path}"


async def test_resources_of_other_domains_are_neither_listed_nor_read(
    api: Starlette, site: Site
) -> None:
    mine, others = await save_as_owner(api, *urls_at(site))
    async with limited(api) as (_, agent):
        listed = [str(each.uri) for each in (await agent.list_resources()).resources]
        assert listed == [mine]
        await agent.read_resource(mine)
        await agent.read_resource(f"scrape://{ALLOWED}:{site.port}/article/cleaned_latest")
        for uri in (others, f"scrape://{OTHER}:{site.port}/article/cleaned_latest"):
            with pytest.raises(MCPError, match="Nothing is saved under this URI"):
                await agent.read_resource(uri)


async def test_a_page_that_came_from_another_domain_is_not_read(api: Starlette, site: Site) -> None:
    target = f"http://{OTHER}:{site.port}/article"
    (uri,) = await save_as_owner(api, f"http://{ALLOWED}:{site.port}/redirect?to={target}")
    async with limited(api) as (http, agent):
        with pytest.raises(MCPError, match="Nothing is saved under this URI"):
            await agent.read_resource(uri)
        found = await http.post("/v1/search", json={"query": "ash rake", "providers": ["local"]})
    assert found.json()["results"] == []


async def test_pages_of_other_domains_are_not_found(api: Starlette, site: Site) -> None:
    mine, others = urls_at(site)
    await save_as_owner(api, others, mine)
    asked = {"query": "ash rake", "providers": ["local"]}
    async with limited(api) as (http, agent):
        found = (await http.post("/v1/search", json=asked)).json()
        told = await agent.call_tool("cinder_search", asked)
        both = await http.post("/v1/search-and-scrape", json=asked)
        elsewhere = {**asked, "includeDomains": [OTHER]}
        none = (await http.post("/v1/search", json=elsewhere)).json()
    assert [hit["url"] for hit in found["results"]] == [mine]
    assert none["results"] == []
    assert OTHER not in text_of(told) + both.text


async def test_pages_of_other_domains_are_not_completed(api: Starlette, site: Site) -> None:
    await save_as_owner(api, *urls_at(site))
    template = types.ResourceTemplateReference(uri=SAVED_TEMPLATE.uri_template)
    async with limited(api) as (_, agent):
        pages = await agent.complete(template, {"name": "page", "value": ""})
        moments = await agent.complete(
            template,
            {"name": "timestamp", "value": "2"},
            {"page": f"{OTHER}:{site.port}/article"},
        )
    assert pages.completion.values == [f"{ALLOWED}:{site.port}"]
    assert moments.completion.values == []


async def test_cached_pages_of_other_domains_are_refused(api: Starlette, site: Site) -> None:
    mine, others = urls_at(site)
    await save_as_owner(api, mine, others)
    async with limited(api) as (http, _):
        answers = [await http.post("/api/v2/scrape", json={"url": url}) for url in (mine, others)]
    assert answers[0].json()["data"]["cached"]
    assert answers[1].json()["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("kind", ["crawl", "batch"])
async def test_webhooks_go_to_the_tokens_domains_alone(
    api: Starlette, site: Site, kind: str
) -> None:
    url, _ = urls_at(site)
    async with limited(api) as (http, _):
        refused = await start(http, kind, url, "https://hooks.test/events")
        taken = await start(http, kind, url, "https://hooks.allowed.test/events")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert "webhook.url" in refused.json()["error"]["message"]
    assert taken.status_code == 200, taken.text


@pytest.mark.parametrize("kind", ["crawl", "batch"])
@pytest.mark.parametrize(
    "hook",
    [
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://169.254.169.254/latest/",
        "http://168.63.129.16/",
        "https://inner.test/",
        "https://mixed.test/",
        "https://hooks.test:22/",
        "https://hooks.test:0/",
    ],
)
async def test_a_webhook_to_what_is_not_public_is_refused_at_the_start(
    api: Starlette, site: Site, kind: str, hook: str
) -> None:
    url, _ = urls_at(site)
    async with sending(api, TOKEN) as owner:
        refused = await start(owner, kind, url, hook)
        jobs = [(await owner.get(f"/v1/{name}")).json() for name in ("crawls", "batches")]
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "EGRESS_BLOCKED")
    assert "webhook.url" in refused.json()["error"]["message"]
    assert "10.0.0.7" not in refused.text
    assert jobs == [{"crawls": []}, {"batches": []}]


async def test_a_webhook_that_does_not_resolve_yet_is_taken(api: Starlette, site: Site) -> None:
    url, _ = urls_at(site)
    async with sending(api, TOKEN) as owner:
        taken = await start(owner, "crawl", url, "https://later.test/")
    assert taken.status_code == 200, taken.text


async def start(client: httpx2.AsyncClient, kind: str, url: str, hook: str) -> httpx2.Response:
    if kind == "crawl":
        return await client.post("/v1/crawl", json={"url": url, "webhook": {"url": hook}})
    return await client.post("/api/v2/scrape", json={"urls": [url], "webhook": {"url": hook}})
