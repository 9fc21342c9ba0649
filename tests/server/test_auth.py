"""OAuth over HTTP: /mcp says where tokens come from, and takes those of the issuer it names."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from cinder.app.composition import open_app
from cinder.config.settings import Settings, read_settings
from cinder.errors import SettingsError
from cinder.server.asgi import create_app
from tests.api.working import started
from tests.resolver import TableResolver
from tests.search_servers import Reply, serving
from tests.services.issuer import RESOURCE, Issuer
from tests.site import Site

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with serving(Issuer()) as running:
        yield running


@pytest.fixture
def oauth_settings(settings: Settings, issuer: Issuer) -> Settings:
    # The issuer's own address is reached because the owner named it, and for no other reason.
    oauth = {"issuer": issuer.url, "resource": RESOURCE}
    return settings.model_copy(update={"oauth": type(settings.oauth).model_validate(oauth)})


@pytest.fixture
async def visitor(
    oauth_settings: Settings, resolver: TableResolver
) -> AsyncIterator[httpx2.AsyncClient]:
    api = create_app(oauth_settings, open_app(oauth_settings, resolver=resolver))
    transport = httpx2.ASGITransport(app=api, raise_app_exceptions=False)
    async with (
        started(api),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client,
    ):
        yield client


@pytest.mark.parametrize("path", [WELL_KNOWN, f"{WELL_KNOWN}/mcp"])
async def test_the_resource_is_described_to_anybody(
    path: str, visitor: httpx2.AsyncClient, issuer: Issuer
) -> None:
    response = await visitor.get(path)
    assert response.status_code == 200
    assert response.json() == {
        "resource": RESOURCE,
        "resource_name": "cinder",
        "authorization_servers": [issuer.url],
        "scopes_supported": ["read", "scrape", "crawl"],
        "bearer_methods_supported": ["header"],
    }


async def test_who_has_no_token_is_told_where_to_get_one(visitor: httpx2.AsyncClient) -> None:
    place = f'resource_metadata="https://cinder.example{WELL_KNOWN}/mcp", scope="read scrape crawl"'
    without = await visitor.post("/mcp")
    wrong = await visitor.post("/mcp", headers={"Authorization": "Bearer a.b.c"})
    elsewhere = await visitor.post("/v1/scrape")
    assert [each.status_code for each in (without, wrong, elsewhere)] == [401] * 3
    assert without.headers["WWW-Authenticate"] == f"Bearer {place}"
    assert wrong.headers["WWW-Authenticate"] == f'Bearer error="invalid_token", {place}'
    assert elsewhere.headers["WWW-Authenticate"] == "Bearer"


async def test_a_token_of_the_issuer_opens_mcp_as_far_as_its_scopes_go(
    visitor: httpx2.AsyncClient, issuer: Issuer, site: Site
) -> None:
    visitor.headers["Authorization"] = f"Bearer {issuer.sign(scope='read scrape')}"
    transport = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=visitor)
    async with Client(transport) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        scraped = await client.call_tool("scrape", {"url": site.url("/article")})
        master = await client.call_tool(
            "scrape", {"url": site.url("/article"), "profile": "master", "mode": "dynamic"}
        )
    assert "scrape" in tools
    assert "cinder_crawl" not in tools
    assert not scraped.is_error
    assert master.is_error
    assert "scope 'admin'" in master.model_dump_json()


async def test_a_token_of_the_issuer_opens_nothing_but_mcp(
    visitor: httpx2.AsyncClient, issuer: Issuer
) -> None:
    headers = {"Authorization": f"Bearer {issuer.sign()}"}
    response = await visitor.post("/v1/scrape", json={"url": "a.example"}, headers=headers)
    assert response.status_code == 401


async def test_cinders_own_tokens_open_mcp_as_before(visitor: httpx2.AsyncClient) -> None:
    visitor.headers["Authorization"] = "Bearer test-token"
    transport = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=visitor)
    async with Client(transport) as client:
        assert "cinder_crawl" in {tool.name for tool in (await client.list_tools()).tools}


async def test_while_the_issuer_is_silent_its_tokens_are_not_called_wrong(
    visitor: httpx2.AsyncClient, issuer: Issuer
) -> None:
    issuer.fail_with(*[Reply(b"", status=500)] * 5)
    headers = {"Authorization": f"Bearer {issuer.sign()}"}
    response = await visitor.post("/mcp", headers=headers)
    assert response.status_code == 503
    assert issuer.url in response.json()["error"]["message"]


async def test_without_an_issuer_nothing_of_it_is_served(
    stranger: httpx2.AsyncClient, issuer: Issuer
) -> None:
    assert (await stranger.get(WELL_KNOWN)).status_code == 404
    headers = {"Authorization": f"Bearer {issuer.sign()}"}
    refused = await stranger.post("/mcp", headers=headers)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert issuer.asked == []


@pytest.mark.parametrize(
    "oauth",
    [
        {"issuer": "https://issuer.example"},
        {"issuer": "https://issuer.example", "resource": "cinder.example/mcp"},
        {"issuer": "http://issuer.example", "resource": RESOURCE},
        {"issuer": "https://issuer.example?a=1", "resource": RESOURCE},
    ],
)
async def test_settings_that_would_be_unsafe_or_are_half_are_refused(
    oauth: dict[str, str], tmp_path: Path
) -> None:
    settings = read_settings(data_dir=tmp_path, oauth=oauth)
    with pytest.raises(SettingsError, match=r"oauth\."):
        async with open_app(settings):
            pass
