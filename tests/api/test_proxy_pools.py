"""Pages through pools of proxies: HTTP, HTTP with credentials and SOCKS5, static and rendered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx2
import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings, read_settings
from cinder.errors import CinderError, ConnectionFailed, EgressBlocked
from cinder.mcp.server import TOOLS, build_server
from cinder.models.document import FetchSource, VerdictKind
from cinder.models.request import (
    OWNER,
    CachePolicy,
    Mode,
    ProxyTier,
    RenderOptions,
    ScrapeRequest,
)
from cinder.server.asgi import create_app
from cinder.services.jobs.specs import MapRequest
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.api.working import asking, is_over, serve_jobs, until
from tests.browser.egress_site import HostileSite, Page, open_hostile_site, run_script
from tests.egress.relay_proxies import RelayProxy, open_relays, three_relays
from tests.resolver import TableResolver
from tests.site import Canary

HOSTS = [f"host{number}.test" for number in range(6)]
NAMES = {host: ["127.0.0.1"] for host in HOSTS} | {"private.test": ["127.0.0.1"]}
RESOLVER = TableResolver(NAMES)
ARTICLE = Page(f"<title>Embers</title><h1>Embers</h1><p>{'Coals keep their heat for long. ' * 30}")
WALL = Page(
    "<title>Just a moment...</title><div id=challenge-error-text>Enable JavaScript</div>",
    status=403,
    headers=(("cf-mitigated", "challenge"), ("Server", "cloudflare")),
)
MODES = [Mode.STATIC, Mode.DYNAMIC]


@dataclass
class World:
    """A website, three proxies in the pool `eu`, and cinder."""

    site: HostileSite
    relays: tuple[RelayProxy, ...]
    app: App

    @property
    def counts(self) -> list[int]:
        return [len(relay.relayed) for relay in self.relays]

    async def scrape(
        self, url: str, mode: Mode = Mode.STATIC, pool: str | None = "eu", **options: Any
    ) -> ScrapeOutcome:
        tier = ProxyTier.BASIC
        render = RenderOptions(mode=mode, proxy_pool=pool, proxy=tier, block_ads=False, **options)
        cache = CachePolicy(force_rescrape=True)
        return await self.app.scrape.scrape(ScrapeRequest(url=url, render=render, cache=cache))


def make_settings(
    folder: Path, site: HostileSite, relays: tuple[RelayProxy, ...], rotation: str
) -> Settings:
    port = site.origin.port
    pool = {
        "proxies": [relay.url for relay in relays],
        "rotation": rotation,
        "backoff_seconds": 0.05,
        "max_backoff_seconds": 0.05,
    }
    return read_settings(
        data_dir=folder / "data",
        server={"port": 0, "api_token": "test-token"},
        egress={
            "allow": [site.address, *(f"{host}:{port}" for host in HOSTS)],
            "proxy_pools": {"eu": pool, "us": pool},
        },
        scrape={
            "retry_wait_seconds": 0.01,
            "network_idle_timeout_ms": 0,
            "stability_max_wait_ms": 200,
        },
    )


@asynccontextmanager
async def open_world(folder: Path, rotation: str = "request") -> AsyncIterator[World]:
    async with open_hostile_site() as site, open_relays(*three_relays()) as relays:
        site.pages["/"] = ARTICLE
        settings = make_settings(folder, site, relays, rotation)
        async with open_app(settings, resolver=RESOLVER) as app:
            yield World(site, relays, app)


@pytest.mark.parametrize("mode", MODES)
async def test_pages_take_turns_with_the_proxies_which_get_pinned_addresses(
    mode: Mode, tmp_path: Path
) -> None:
    async with open_world(tmp_path) as world:
        for _ in range(3):
            outcome = await world.scrape(world.site.url("/", HOSTS[0]), mode)
            assert outcome.document.verdict.kind is VerdictKind.OK
            assert outcome.document.proxy_pool == outcome.diagnostics.proxy_pool == "eu"
        assert all(world.counts)
        assert {target for relay in world.relays for target in relay.relayed} == {
            world.site.address
        }
        # A browser asks for the icon, too; nothing else came by another way.
        assert sum(world.counts) == sum(world.site.hits.values())
        before = world.counts
        direct = await world.scrape(world.site.url("/"), mode, pool=None)
        assert (direct.document.proxy_pool, world.counts) == (None, before)


@pytest.mark.parametrize("mode", MODES)
async def test_the_pages_of_a_host_stay_with_one_proxy(mode: Mode, tmp_path: Path) -> None:
    async with open_world(tmp_path, "host") as world:
        hosts = HOSTS if mode is Mode.STATIC else HOSTS[:2]
        for host in hosts:
            before = world.counts
            for _ in range(2):
                await world.scrape(world.site.url("/", host), mode)
            changed = [now - then for now, then in zip(world.counts, before, strict=True)]
            assert len([number for number in changed if number]) == 1
        assert mode is Mode.DYNAMIC or len([count for count in world.counts if count]) > 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_proxy_that_is_gone_is_skipped_and_comes_back(mode: Mode, tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        url = world.site.url("/")
        for number in range(3):
            relay = world.relays[number]
            await relay.stop()
            before = len(relay.relayed)
            for _ in range(3):
                assert (await world.scrape(url, mode)).document.verdict.kind is VerdictKind.OK
            assert len(relay.relayed) == before
            await relay.start()
            # It has its turn again as soon as its back-off is over.
            for _ in range(200):
                await world.scrape(url, mode)
                if len(relay.relayed) > before:
                    break
            assert len(relay.relayed) > before


@pytest.mark.parametrize("mode", MODES)
async def test_without_any_proxy_the_error_names_the_pool_and_nothing_leaves_directly(
    mode: Mode, tmp_path: Path
) -> None:
    async with open_world(tmp_path) as world:
        for relay in world.relays:
            await relay.stop()
        with pytest.raises(ConnectionFailed, match="pool 'eu'") as caught:
            await world.scrape(world.site.url("/"), mode)
        assert caught.value.diagnostics
        assert caught.value.diagnostics.proxy_pool == "eu"
        assert not any(str(relay.port) in caught.value.message for relay in world.relays)
        assert sum(world.site.hits.values()) == 0
        for relay in world.relays:
            await relay.start()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rotation", ["request", "host", "blocked"])
async def test_a_private_address_behind_the_proxies_stays_untouched(
    rotation: str, mode: Mode, tmp_path: Path, canary: Canary
) -> None:
    async with open_world(tmp_path, rotation) as world:
        private = f"http://127.0.0.1:{canary.port}/"
        world.site.pages["/away"] = Page(status=302, headers=(("Location", private),))
        urls = (private, f"http://private.test:{canary.port}/", world.site.url("/away"))
        for url in urls:
            with pytest.raises(EgressBlocked):
                await world.scrape(url, mode)
        if mode is Mode.DYNAMIC:
            script = run_script(f"fetch('{private}').catch(error => error.name)")
            page = await world.scrape(world.site.url("/"), mode, actions=(script,))
            assert page.document.actions[0].value == "TypeError"
        asked = {target for relay in world.relays for target in relay.relayed}
        assert asked == {world.site.address}
        assert not canary.was_reached()


async def test_a_blocked_page_is_tried_through_the_next_proxy(tmp_path: Path) -> None:
    async with open_world(tmp_path, "blocked") as world:
        answers = [WALL, WALL, *[ARTICLE] * 3]
        world.site.pages["/walled"] = lambda _: answers.pop(0)
        for _ in range(2):
            outcome = await world.scrape(world.site.url("/walled"))
            assert outcome.document.verdict.kind is VerdictKind.OK
        # Two were blocked once each; the third one stays.
        assert sorted(world.counts) == [1, 1, 2]
        # A page that every proxy is blocked for was tried once through each.
        world.site.pages["/walled"] = WALL
        with pytest.raises(CinderError, match="blocked"):
            await world.scrape(world.site.url("/walled"))
        assert sorted(world.counts) == [2, 2, 3]


async def test_a_blocked_page_stays_with_its_proxy_in_pools_that_do_not_rotate_on_it(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, "host") as world:
        world.site.pages["/walled"] = WALL
        with pytest.raises(CinderError, match="blocked"):
            await world.scrape(world.site.url("/walled"))
        assert sorted(world.counts) == [0, 0, 1]


async def test_pages_of_different_pools_are_cached_apart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        cached: dict[str | None, list[bool]] = {}
        for pool in (None, "eu", "us", None, "eu", "us"):
            request = ScrapeRequest(
                url=world.site.url("/"), render=RenderOptions(mode=Mode.STATIC, proxy_pool=pool)
            )
            outcome = await world.app.scrape.scrape(request)
            assert outcome.document.proxy_pool == pool
            cached.setdefault(pool, []).append(outcome.cached)
        assert cached == {pool: [False, True] for pool in (None, "eu", "us")}


async def test_a_shell_is_rendered_and_a_file_is_fetched_through_the_pool(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        world.site.pages["/shell"] = Page(
            "<div id=root></div><script>root.innerHTML = '<h1>Embers</h1><p>' +"
            " 'Coals keep their heat for long. '.repeat(30)</script>"
        )
        world.site.pages["/file"] = Page(b"%PDF-1.4 x", type="application/pdf")
        shell = await world.scrape(world.site.url("/shell"), Mode.SMART)
        assert shell.document.source is FetchSource.BROWSER
        file = await world.scrape(world.site.url("/file"), Mode.DYNAMIC)
        assert file.document.media
        assert sum(world.counts) == sum(world.site.hits.values())


async def test_an_unknown_pool_is_refused_with_the_names_of_those_there_are(tmp_path: Path) -> None:
    async with open_hostile_site() as site, open_relays(*three_relays()) as relays:
        site.pages["/"] = ARTICLE
        settings = make_settings(tmp_path, site, relays, "request")
        page, unknown = {"url": site.url("/")}, {"proxyPool": "mars"}
        bodies: dict[str, dict[str, Any]] = {
            "/api/v2/scrape": page,
            "/v1/scrape": page,
            "/v1/crawl": page,
            "/v1/map": page,
            "/v1/extract": {"urls": [site.url("/")], "prompt": "the title"},
            "/v1/search-and-scrape": {"query": "embers"},
        }
        api = create_app(settings, open_app(settings, resolver=RESOLVER))
        async with asking(api) as client:
            batch = {"urls": [site.url("/")]}
            for path, body in [*bodies.items(), ("/api/v2/scrape", batch)]:
                answer = await client.post(path, json={**body, **unknown})
                assert answer.status_code == 400, (path, answer.text)
                assert "There is no pool 'mars'. Configured are: eu, us" in answer.text
            for path in ("/api/v2/scrape", "/v1/scrape"):
                answer = await client.post(path, json={**page, "proxyPool": "eu", "mode": "static"})
                assert answer.status_code == 200, answer.text
                assert '"proxyPool":"eu"' in answer.text.replace(" ", "")
                url = await client.post(path, json={**page, "proxyPool": relays[0].url})
                assert url.status_code == 400
        async with (
            open_app(settings, resolver=RESOLVER) as app,
            Client(build_server(app, TOOLS)) as mcp,
        ):
            failed = await mcp.call_tool("scrape", {**page, **unknown})
            assert "Configured are: eu, us" in failed.model_dump_json()
            read = await mcp.call_tool(
                "cinder_scrape", {**page, "proxyPool": "us", "mode": "static"}
            )
            assert "Proxy pool: us" in read.model_dump_json()


async def test_a_crawl_leaves_through_its_pool_alone(tmp_path: Path) -> None:
    async with open_hostile_site() as site, open_relays(*three_relays()) as relays:
        links = "".join(f"<a href=/page{number}>Page {number}</a> " for number in range(4))
        site.pages["/"] = Page(f"<title>Start</title><h1>Start</h1><p>{links}")
        for number in range(4):
            site.pages[f"/page{number}"] = ARTICLE
        settings = make_settings(tmp_path, site, relays, "request")
        async with serve_jobs(settings, RESOLVER) as client:
            body = {"url": site.url("/"), "proxyPool": "eu"}
            begun = (await client.post("/v1/crawl", json=body)).json()

            async def read() -> dict[str, Any]:
                answer: dict[str, Any] = (await client.get(f"/v1/crawl/{begun['crawlId']}")).json()
                return answer

            report = await until(read, is_over)
        assert report["status"] == "completed"
        assert {"/robots.txt", "/sitemap.xml", "/page3"} <= site.hits.keys()
        assert sum(len(relay.relayed) for relay in relays) == sum(site.hits.values())
        assert all(relay.relayed for relay in relays)


async def test_the_images_of_an_export_leave_through_the_pool_of_their_page(
    tmp_path: Path,
) -> None:
    async with open_hostile_site() as site, open_relays(*three_relays()) as relays:
        text = "Coals keep their heat for long. " * 30
        site.pages["/"] = Page(f"<h1>Embers</h1><p>{text}<img src=/coal.png alt=Coal></p>")
        site.pages["/coal.png"] = Page(b"\x89PNG\r\n\x1a\n", type="image/png")
        settings = make_settings(tmp_path, site, relays, "request")
        async with serve_jobs(settings, RESOLVER) as client:
            body = {"url": site.url("/"), "proxyPool": "eu"}
            path = f"/v1/crawl/{(await client.post('/v1/crawl', json=body)).json()['crawlId']}"

            async def read() -> dict[str, Any]:
                answer: dict[str, Any] = (await client.get(path)).json()
                return answer

            await until(read, is_over)
            files = await export_with_images(client, path)
        [image] = (name for name in files if name.endswith(".png"))
        assert files[image].startswith(b"\x89PNG")
        assert sum(len(relay.relayed) for relay in relays) == sum(site.hits.values())

        before = dict(site.hits)
        egress = settings.egress.model_copy(update={"proxy_pools": {}})
        without = settings.model_copy(update={"egress": egress})
        async with serve_jobs(without, RESOLVER, works=False) as client:
            files = await export_with_images(client, path)
        [page] = files.values()
        assert f"]({site.url('/coal.png')})" in page.decode()
        assert "There is no pool 'eu'" in page.decode()
        assert site.hits == before


async def export_with_images(client: httpx2.AsyncClient, path: str) -> dict[str, bytes]:
    answer = await client.get(f"{path}/export", params={"format": "zip", "images": True})
    assert answer.status_code == 200, answer.text
    with ZipFile(BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


async def test_a_map_leaves_through_its_pool_alone(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        request = MapRequest(url=world.site.url("/"), caller=OWNER, proxy_pool="eu")
        found = await world.app.site_map.map(request)
        assert [each.url for each in found.urls] == [world.site.url("/")]
        assert {"/robots.txt", "/sitemap.xml", "/"} <= world.site.hits.keys()
        assert sum(world.counts) == sum(world.site.hits.values())
