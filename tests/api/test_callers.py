"""Several callers on one server: each sees what his token opens, and nothing of the others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy, TokenScope
from cinder.server.asgi import create_app
from tests.api.working import TOKEN, started
from tests.mcp.reading import text_of
from tests.resolver import TableResolver
from tests.site import Site

BASE = "http://127.0.0.1:8000"
Json = dict[str, Any]  # Any: whatever JSON a route answers with


@asynccontextmanager
async def sending(
    api: Starlette, secret: str, *, address: str = "127.0.0.1"
) -> AsyncIterator[httpx2.AsyncClient]:
    """Send requests with a token."""
    transport = httpx2.ASGITransport(app=api, raise_app_exceptions=False, client=(address, 40_000))
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        yield client


async def make_token(
    api: Starlette, name: str, *scopes: TokenScope, policy: CallerPolicy | None = None
) -> str:
    made = await api.state.callers.create(name, scopes or EVERYDAY_SCOPES, policy)
    secret: str = made.secret
    return secret


async def test_a_token_opens_what_its_scopes_say(api: Starlette, site: Site) -> None:
    crawl = {"url": site.url("/article"), "maxDepth": 1}
    batch = {"urls": [site.url("/article")]}
    requests: list[tuple[str, str, Json | None, TokenScope]] = [
        ("POST", "/v1/scrape", {"url": site.url("/article")}, TokenScope.SCRAPE),
        ("POST", "/api/v2/scrape", {"url": site.url("/article")}, TokenScope.SCRAPE),
        ("POST", "/v1/search", {"query": "ash", "mode": "fast"}, TokenScope.SCRAPE),
        ("POST", "/v1/crawl", crawl, TokenScope.CRAWL),
        ("POST", "/api/v2/scrape", batch, TokenScope.CRAWL),
        ("GET", "/v1/crawls", None, TokenScope.READ),
        ("GET", "/metrics", None, TokenScope.ADMIN),
    ]
    for scope in TokenScope:
        async with sending(api, await make_token(api, scope.value, scope)) as client:
            for method, path, body, needed in requests:
                answer = await client.request(method, path, json=body)
                is_open = scope in (needed, TokenScope.ADMIN)
                assert answer.status_code == (200 if is_open else 403), (scope, path)
                if not is_open:
                    assert answer.json()["error"]["code"] == "FORBIDDEN"
                    assert f"'{needed}'" in answer.json()["error"]["message"]


async def test_a_revoked_token_opens_nothing(api: Starlette) -> None:
    async with sending(api, await make_token(api, "ci")) as client:
        assert (await client.get("/v1/crawls")).status_code == 200
        await api.state.callers.revoke("ci")
        assert (await client.get("/v1/crawls")).status_code == 401


@pytest.mark.parametrize("sent", [b"\xff\xfe", b"cinder_\xc3\xa9", b"Bearer", b"", b"\xed\xa0\x80"])
async def test_a_token_of_any_bytes_is_refused_and_nothing_breaks(
    stranger: httpx2.AsyncClient, sent: bytes
) -> None:
    headers = [(b"authorization", b"Bearer " + sent)]
    assert (await stranger.get("/v1/crawls", headers=headers)).status_code == 401


async def test_jobs_of_one_caller_are_nobody_elses(api: Starlette, site: Site) -> None:
    async with (
        sending(api, await make_token(api, "one")) as one,
        sending(api, await make_token(api, "two")) as two,
        sending(api, TOKEN) as owner,
    ):
        start = {"url": site.url("/article"), "maxDepth": 1}
        crawl = (await one.post("/v1/crawl", json=start)).json()["crawlId"]
        for other in (two, owner):
            paths = ("", "/errors", "/ledger", "/events", "/export", "/webhooks")
            for path in paths:
                answer = await other.get(f"/v1/crawl/{crawl}{path}")
                assert answer.status_code == 404, path
            assert (await other.delete(f"/v1/crawl/{crawl}")).status_code == 404
            assert (await other.get("/v1/crawls")).json() == {"crawls": []}
        assert (await one.get(f"/v1/crawl/{crawl}")).status_code == 200


@pytest.mark.parametrize("header", ["Authorization", "X-Jwt", "Ocp-Apim-Subscription-Key"])
async def test_what_came_with_credentials_is_its_callers_alone(
    api: Starlette, site: Site, header: str
) -> None:
    secret_page = {"url": site.url("/article"), "headers": {header: "Basic dTpw"}}
    async with (
        sending(api, await make_token(api, "one")) as one,
        sending(api, await make_token(api, "two")) as two,
    ):
        first = (await one.post("/api/v2/scrape", json=secret_page)).json()["data"]
        again = (await one.post("/api/v2/scrape", json=secret_page)).json()["data"]
        other = (await two.post("/api/v2/scrape", json=secret_page)).json()["data"]
        uri = first["savedUris"]["cleaned"]
        found = [
            (await client.post("/v1/search", json={"query": "ash rake"})).json()["results"]
            for client in (one, two)
        ]
    assert again["cached"]
    assert not other["cached"]
    async with connected(api, "three") as client:
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
    assert uri not in listed
    assert all(len(results) == 1 for results in found)


FORGE = "document.querySelector('p').textContent = 'Pay into the quuxbank account of Mallory'"


async def test_what_a_callers_actions_made_of_a_page_is_no_other_callers(
    api: Starlette, site: Site
) -> None:
    forged = {
        "url": site.url("/article"),
        "actions": [{"type": "executeJavascript", "script": FORGE}],
    }
    async with (
        sending(api, await make_token(api, "one")) as one,
        sending(api, await make_token(api, "two")) as two,
    ):
        made = (await one.post("/api/v2/scrape", json=forged)).json()["data"]
        found = [
            (await client.post("/v1/search", json={"query": "quuxbank"})).json()["results"]
            for client in (one, two)
        ]
    assert "quuxbank" in made["content"]
    assert [len(results) for results in found] == [1, 0]
    async with connected(api, "three") as client:
        assert (await client.list_resources()).resources == []


async def test_a_token_for_some_domains_fetches_from_no_other(api: Starlette, site: Site) -> None:
    policy = CallerPolicy(domains=("site.test",))
    allowed = f"http://site.test:{site.port}"
    async with sending(api, await make_token(api, "ci", policy=policy)) as client:
        for body in (
            {"url": site.url("/article")},
            {"url": f"{allowed}/redirect?to={site.url('/article')}"},
        ):
            answer = await client.post("/v1/scrape", json=body)
            assert answer.status_code == 403, body
            assert "only from site.test" in answer.json()["error"]["message"]
        crawl = await client.post("/v1/crawl", json={"url": site.url("/article")})
        assert crawl.status_code == 403
        good = await client.post("/v1/scrape", json={"url": f"{allowed}/article"})
        assert good.status_code == 200
    assert site.hits("/article") == 1


async def act(client: httpx2.AsyncClient, url: str, *scripts: str) -> httpx2.Response:
    """Scrape a page after scripts, with time for where each of them leads."""
    actions: list[Json] = []
    for script in scripts:
        actions.append({"type": "executeJavascript", "script": script})
        actions.append({"type": "wait", "milliseconds": 300})
        actions.append({"type": "scrape"})
    return await client.post("/api/v2/scrape", json={"url": url, "actions": actions})


async def test_a_browser_under_a_token_for_some_domains_goes_to_no_other(
    api: Starlette, site: Site
) -> None:
    policy = CallerPolicy(domains=("site.test",))
    here, away = f"http://site.test:{site.port}/article", site.url("/links")
    async with sending(api, await make_token(api, "ci", policy=policy)) as client:
        left = await act(client, here, f"location.href = '{away}'", f"location.href = '{here}'")
        asked = await act(client, here, f"fetch('{away}', {{mode: 'no-cors'}}).catch(() => 0)")
        good = await act(client, here, f"location.href = '{here}?again'")
    assert left.status_code == 403
    assert "only from site.test" in left.json()["error"]["message"]
    assert [asked.status_code, good.status_code] == [200, 200]
    assert site.hits("/links") == 0


async def test_pages_that_actions_lead_on_to_are_pages_of_the_day(
    api: Starlette, site: Site
) -> None:
    secret = await make_token(api, "ci", policy=CallerPolicy(pages_per_day=2))
    on = f"location.href = '{site.url('/links')}'"
    async with sending(api, secret) as client:
        led_on = await act(client, site.url("/article"), on)
        more = await client.post("/v1/scrape", json={"url": site.url("/links")})
    assert [led_on.status_code, more.status_code] == [200, 429]


async def test_a_spent_day_is_told_with_when_it_ends(api: Starlette, site: Site) -> None:
    secret = await make_token(api, "ci", policy=CallerPolicy(pages_per_day=1))
    async with sending(api, secret) as client:
        first = await client.post("/v1/scrape", json={"url": site.url("/article")})
        # What is kept costs nothing.
        again = await client.post("/v1/scrape", json={"url": site.url("/article")})
        more = await client.post("/v1/scrape", json={"url": site.url("/links")})
    assert [first.status_code, again.status_code, more.status_code] == [200, 200, 429]
    assert more.json()["error"]["code"] == "RATE_LIMITED"
    assert 1 <= int(more.headers["retry-after"]) <= 86_400


@asynccontextmanager
async def connected(api: Starlette, name: str, *scopes: TokenScope) -> AsyncIterator[Client]:
    """Speak MCP over HTTP with a new token."""
    async with (
        sending(api, await make_token(api, name, *scopes)) as http,
        Client(streamable_http_client(f"{BASE}/mcp", http_client=http)) as client,
    ):
        yield client


async def test_tools_that_a_token_does_not_open_are_neither_shown_nor_run(
    api: Starlette, site: Site
) -> None:
    async with connected(api, "reader", TokenScope.READ) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("cinder_scrape", {"url": site.url("/article")})
        also = await client.call_tool("scrape", {"url": site.url("/article")})
    assert names == {"scrape", "cinder_get_crawl_status"}
    assert refused.is_error
    assert also.is_error
    assert "'scrape'" in text_of(refused) + text_of(also)
    assert site.hits("/article") == 0


async def test_a_session_belongs_to_the_token_that_opened_it(api: Starlette) -> None:
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    accept = {"accept": "application/json, text/event-stream"}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with (
        sending(api, await make_token(api, "one")) as one,
        sending(api, await make_token(api, "two")) as two,
    ):
        opened = await one.post("/mcp", json=opening, headers=accept)
        session = {**accept, "mcp-session-id": opened.headers["mcp-session-id"]}
        own = await one.post("/mcp", json=ping, headers=session)
        others = await two.post("/mcp", json=ping, headers=session)
    assert own.status_code == 200
    assert others.status_code == 404


@pytest.fixture
async def strict(settings: Settings, resolver: TableResolver) -> AsyncIterator[Starlette]:
    """A server that lets little through."""
    few = {
        "rate_limit": "3/hour",
        "address_rate_limit": "5/hour",
        "failed_login_limit": "2/hour",
    }
    server = settings.server.model_copy(update=few)
    chosen = settings.model_copy(update={"server": server})
    served = create_app(chosen, open_app(chosen, resolver=resolver))
    async with started(served):
        yield served


async def statuses(client: httpx2.AsyncClient, times: int) -> list[int]:
    return [(await client.get("/v1/crawls")).status_code for _ in range(times)]


async def test_each_token_has_its_share_and_the_owner_is_not_counted(strict: Starlette) -> None:
    async with (
        sending(strict, await make_token(strict, "one")) as one,
        sending(strict, await make_token(strict, "two")) as two,
        sending(strict, TOKEN) as owner,
    ):
        first = await one.get("/v1/crawls")
        assert await statuses(one, 3) == [200, 200, 429]
        assert await statuses(two, 3) == [200, 200, 200]
        assert await statuses(owner, 10) == [200] * 10
        refused = await one.get("/v1/crawls")
    assert first.headers["ratelimit-policy"] == '"token";q=3;w=3600'
    assert first.headers["ratelimit"].startswith('"token";r=2;t=')
    assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert 0 < int(refused.headers["retry-after"]) <= 3600


async def test_an_address_has_its_share_by_household(strict: Starlette) -> None:
    async with (
        sending(strict, TOKEN, address="2001:db8::1") as one,
        sending(strict, TOKEN, address="2001:db8::ffff") as neighbour,
        sending(strict, TOKEN, address="2001:db8:0:1::1") as other,
    ):
        assert await statuses(one, 3) == [200] * 3
        assert await statuses(neighbour, 3) == [200, 200, 429]
        assert await statuses(other, 1) == [200]
        assert (await one.get("/healthz")).status_code == 200


async def test_who_tries_wrong_tokens_is_no_longer_heard_and_others_are(strict: Starlette) -> None:
    async with (
        sending(strict, "wrong", address="203.0.113.7") as guessing,
        sending(strict, TOKEN, address="203.0.113.7") as right,
        sending(strict, TOKEN, address="203.0.113.8") as other,
    ):
        assert await statuses(guessing, 3) == [401, 401, 429]
        assert await statuses(right, 1) == [429]
        assert await statuses(other, 1) == [200]
        for token in ("wrong", TOKEN):
            form = await guessing.post("/login", data={"token": token})
            assert form.status_code == 429, token


async def test_a_wrong_token_on_this_machine_does_not_shut_its_owner_out(
    strict: Starlette,
) -> None:
    async with sending(strict, "wrong") as guessing, sending(strict, TOKEN) as owner:
        assert await statuses(guessing, 3) == [401, 401, 429]
        assert await statuses(owner, 1) == [200]
