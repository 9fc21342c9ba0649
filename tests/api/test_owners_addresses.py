"""Servers that the owner configured: whoever may use them learns nothing of where they are."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from structlog.testing import capture_logs

from cinder.app.composition import open_app
from cinder.config.settings import Settings, read_settings
from cinder.models.caller import TokenScope
from cinder.server.asgi import create_app
from tests.api.test_callers import BASE, make_token, sending
from tests.api.working import TOKEN, is_over, started, until
from tests.egress.loopback import (
    Behaviour,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    open_origin,
    read_request,
)
from tests.resolver import TableResolver
from tests.site import Site

HOST = "parlour-of-the-owner.test"
ELSEWHERE = "attic-of-the-owner.test"
SCOPES = (TokenScope.READ, TokenScope.SCRAPE)
WANTED = {"type": "object", "properties": {"colour of the roof": {"type": "string"}}}

Json = dict[str, Any]  # Any: whatever a route or a tool takes
Ask = Callable[[Starlette, Json], Awaitable[str]]


async def hang(origin: Origin, reader: Reader, writer: Writer) -> None:
    await read_request(origin, reader)
    await reader.read()


async def tell_of_itself(origin: Origin, reader: Reader, writer: Writer) -> None:
    await read_request(origin, reader)
    said = f"http://{HOST}:{origin.port}/v1 on port {origin.port} takes none of this"
    body = f'{{"error": {{"message": "{said}", "detail": "{said}"}}}}'.encode()
    writer.write(answer_of(body, status=b"418 I'm a teapot"))
    await writer.drain()


TROUBLES: Mapping[str, Behaviour | None] = {
    "is not there": None,
    "answers 500": answering(answer_of(b"{}", status=b"500 Internal Server Error")),
    "redirects": answering(
        answer_of(b"", f"Location: http://{ELSEWHERE}/".encode(), status=b"302 Found")
    ),
    "answers a page": answering(answer_of(b"<title>Hi</title>", b"Content-Type: text/html")),
    "tells of itself": tell_of_itself,
    "does not answer": hang,
}
UPSTREAM_TROUBLES: Mapping[str, Behaviour | None] = {
    "is not there": None,
    "does not know cinder": answering(answer_of(b"", status=b"407 Who")),
    "declines": answering(answer_of(b"", status=b"403 Forbidden")),
    "speaks no HTTP": answering(b"SSH-2.0-OpenSSH\r\n\r\n"),
    "does not answer": hang,
}


@asynccontextmanager
async def in_trouble(behaviour: Behaviour | None) -> AsyncIterator[int]:
    """Yield the port of a server that does not do what it is for."""
    async with open_origin(behaviour or hang) as origin:
        if behaviour is not None:
            yield origin.port
            return
    yield origin.port


@dataclass(frozen=True, slots=True)
class Configured:
    """A kind of server, where its address is set, and what leads there."""

    settings: Callable[[str], Json]
    setting: str
    path: str
    tool: str
    arguments: Json

    async def over_rest(self, api: Starlette, arguments: Json) -> str:
        async with sending(api, await make_token(api, "rest", *SCOPES)) as client:
            return (await client.post(self.path, json=arguments)).text

    async def over_mcp(self, api: Starlette, arguments: Json) -> str:
        async with (
            sending(api, await make_token(api, "mcp", *SCOPES)) as http,
            Client(streamable_http_client(f"{BASE}/mcp", http_client=http)) as client,
        ):
            await client.list_tools()
            return (await client.call_tool(self.tool, arguments)).model_dump_json()

    def asked_over(self, surface: str) -> Ask:
        return self.over_rest if surface == "rest" else self.over_mcp


SEARCH = {"query": "embers", "mode": "fast"}
PROVIDERS = {
    "searxng": Configured(
        lambda url: {"search": {"providers": "searxng", "searxng_url": url}},
        "search.searxng-url",
        "/v1/search",
        "cinder_search",
        SEARCH,
    ),
    "brave": Configured(
        lambda url: {
            "search": {"providers": "brave", "brave_url": f"{url}/b", "brave_api_key": "key"}
        },
        "search.brave-url",
        "/v1/search",
        "cinder_search",
        SEARCH,
    ),
    "opensearch": Configured(
        lambda url: {
            "search": {"providers": "wiki", "endpoints": {"wiki": {"description_url": url}}}
        },
        "search.endpoints.wiki",
        "/v1/search",
        "cinder_search",
        SEARCH,
    ),
    "json": Configured(
        lambda url: {
            "search": {"providers": "wiki", "endpoints": {"wiki": {"url": url + "/?q={query}"}}}
        },
        "search.endpoints.wiki",
        "/v1/search",
        "cinder_search",
        SEARCH,
    ),
}


def model_at(url: str) -> Json:
    llm = {"base_url": f"{url}/v1", "model": "m", "max_retries": 0, "timeout_seconds": 0.5}
    return {"llm": llm}


MODEL_USES = {
    "summary": Configured(
        model_at, "llm.base-url", "/api/v2/scrape", "scrape", {"formats": ["summary"]}
    ),
    "extract": Configured(
        model_at, "llm.base-url", "/v1/extract", "cinder_extract", {"schema": WANTED}
    ),
}


@pytest.fixture
def resolver() -> TableResolver:
    return TableResolver({HOST: ["127.0.0.1"]})


@asynccontextmanager
async def serving_with(
    settings: Settings, resolver: TableResolver, changes: Json
) -> AsyncIterator[Starlette]:
    chosen = read_settings(
        data_dir=settings.data_dir,
        server={"port": 0, "api_token": TOKEN},
        scrape={"max_retries": 0},
        **{"egress": {"allow": settings.egress.allow}, **changes},
    )
    api = create_app(chosen, open_app(chosen, resolver=resolver, works_on_jobs=True))
    async with started(api):
        yield api


def assert_hidden(text: str, port: int) -> None:
    for name in (HOST, ELSEWHERE):
        assert name not in text, text
    assert not re.search(rf"(?<!\d){port}(?!\d)", text), text


def assert_kept_nowhere(settings: Settings) -> None:
    for file in settings.data_dir.rglob("*"):
        if file.is_file():
            assert HOST.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("surface", ["rest", "mcp"])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_search_provider_is_named_by_its_setting_and_its_address_in_the_log(
    settings: Settings, resolver: TableResolver, provider: str, trouble: str, surface: str
) -> None:
    configured = PROVIDERS[provider]
    async with in_trouble(TROUBLES[trouble]) as port:
        changes = configured.settings(f"http://{HOST}:{port}")
        with capture_logs() as log:
            async with serving_with(settings, resolver, changes) as api:
                answer = await configured.asked_over(surface)(api, configured.arguments)
    assert_hidden(answer, port)
    assert '"error"' in answer.replace("\\", "")
    if trouble in ("is not there", "redirects"):
        assert configured.setting in answer
    assert f"http://{HOST}:{port}" in [line.get("address") for line in log]
    assert trouble != "redirects" or ELSEWHERE in str(log)
    assert_kept_nowhere(settings)


@pytest.mark.parametrize("surface", ["rest", "mcp"])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("use", MODEL_USES)
async def test_a_language_model_is_named_by_its_setting_and_its_address_in_the_log(
    settings: Settings, resolver: TableResolver, site: Site, use: str, trouble: str, surface: str
) -> None:
    configured, page = MODEL_USES[use], site.url("/guide")
    where = {"urls": [page]} if use == "extract" else {"url": page}
    async with in_trouble(TROUBLES[trouble]) as port:
        changes = configured.settings(f"http://{HOST}:{port}")
        with capture_logs() as log:
            async with serving_with(settings, resolver, changes) as api:
                arguments = {**where, **configured.arguments}
                answer = await configured.asked_over(surface)(api, arguments)
    assert_hidden(answer, port)
    assert "The language model 'm'" in answer
    assert trouble != "is not there" or configured.setting in answer
    assert f"http://{HOST}:{port}" in [line.get("address") for line in log]
    assert_kept_nowhere(settings)


def through_upstream(settings: Settings, port: int) -> Json:
    egress = {"allow": settings.egress.allow, "connect_timeout_seconds": 0.5}
    return {"egress": egress, "browser": {"proxy_server": f"http://{HOST}:{port}"}}


@pytest.mark.parametrize("trouble", UPSTREAM_TROUBLES)
async def test_an_upstream_proxy_is_named_by_its_setting_and_its_address_in_the_log(
    settings: Settings, resolver: TableResolver, site: Site, trouble: str
) -> None:
    rendered = {"url": site.url("/article"), "mode": "dynamic", "proxy": "basic"}
    scrape = Configured(lambda _: {}, "", "/api/v2/scrape", "scrape", rendered)
    async with in_trouble(UPSTREAM_TROUBLES[trouble]) as port:
        changes = through_upstream(settings, port)
        with capture_logs() as log:
            async with serving_with(settings, resolver, changes) as api:
                answers = [
                    await scrape.over_rest(api, rendered),
                    await scrape.over_mcp(api, rendered),
                ]
    for answer in answers:
        assert_hidden(answer, port)
        assert "browser.proxy-server (CINDER_BROWSER__PROXY_SERVER)" in answer
    assert f"{HOST}:{port}" in [line.get("upstream") for line in log]
    assert_kept_nowhere(settings)


@pytest.mark.parametrize("scheme", ["ws", "http"])
@pytest.mark.parametrize("trouble", UPSTREAM_TROUBLES)
async def test_a_remote_browser_is_named_by_its_setting_and_its_address_in_the_log(
    settings: Settings, resolver: TableResolver, site: Site, trouble: str, scheme: str
) -> None:
    page = {"url": site.url("/article"), "mode": "dynamic"}
    scrape = Configured(lambda _: {}, "", "/api/v2/scrape", "scrape", page)
    async with in_trouble(UPSTREAM_TROUBLES[trouble]) as port:
        url = f"{scheme}://{HOST}:{port}/?token={TOKEN}"
        changes = {"browser": {"cdp_url": url, "start_timeout_ms": 500}}
        with capture_logs() as log:
            async with serving_with(settings, resolver, changes) as api:
                answers = [await scrape.over_rest(api, page), await scrape.over_mcp(api, page)]
    for answer in answers:
        assert_hidden(answer, port)
        assert "browser.cdp-url" in answer
    assert f"http://{HOST}:{port}" in [line.get("browser") for line in log]
    assert TOKEN not in str(log)
    assert_kept_nowhere(settings)


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("trouble", UPSTREAM_TROUBLES)
async def test_a_proxy_of_a_pool_is_named_by_its_setting_and_its_address_in_the_log(
    settings: Settings, resolver: TableResolver, site: Site, trouble: str, mode: str
) -> None:
    page = {"url": site.url("/article"), "mode": mode, "proxyPool": "eu", "proxy": "basic"}
    scrape = Configured(lambda _: {}, "", "/api/v2/scrape", "scrape", page)
    async with in_trouble(UPSTREAM_TROUBLES[trouble]) as port:
        egress = {
            "allow": settings.egress.allow,
            "connect_timeout_seconds": 0.5,
            "proxy_pools": {"eu": {"proxies": [f"http://{HOST}:{port}"]}},
        }
        with capture_logs() as log:
            async with serving_with(settings, resolver, {"egress": egress}) as api:
                answers = [await scrape.over_rest(api, page), await scrape.over_mcp(api, page)]
    for answer in answers:
        assert_hidden(answer, port)
        assert "egress.proxy-pools.eu" in answer
    assert f"{HOST}:{port}" in [line.get("upstream") for line in log]
    assert_kept_nowhere(settings)


async def test_a_job_that_failed_by_the_upstream_proxy_keeps_nothing_of_its_address(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    batch = {"urls": [site.url("/article")], "mode": "dynamic", "proxy": "basic"}
    async with (
        in_trouble(None) as port,
        serving_with(settings, resolver, through_upstream(settings, port)) as api,
        sending(api, await make_token(api, "guest", *SCOPES, TokenScope.CRAWL)) as client,
    ):

        async def send(command: str, **body: object) -> Json:
            answer = await client.post("/api/v2/scrape", json={"command": command, **body})
            assert answer.status_code == 200, answer.text
            data: Json = answer.json()["data"]
            return data

        begun = await send("start", **batch)
        await until(lambda: send("status", jobId=begun["jobId"]), is_over)
        told = await send("errors", jobId=begun["jobId"])
    assert_hidden(str(told), port)
    assert "browser.proxy-server" in str(told)
    assert_kept_nowhere(settings)
