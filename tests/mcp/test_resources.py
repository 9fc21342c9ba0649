"""Resources, and subscriptions to a crawl and to a page's newest version."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourceUpdated

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.fair_queue import slots_without_reserve
from cinder.mcp.resources import MAX_SUBSCRIPTIONS, NEXT_URI_KEY, PAGE_SIZE, Resources
from cinder.mcp.server import build_server
from cinder.models.caller import EVERYDAY_SCOPES
from tests.api.running import RunningServer, run_server
from tests.mcp.conftest import Connect, Era
from tests.resolver import TableResolver
from tests.site import Site
from tests.site.pages import PNG

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
# What the older era has, the newer one's SDK warns of.
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__qualname__}"
)


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs."""
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


class Subscriber:
    """A client of either era, and what it was told."""

    def __init__(self, app: App, era: Era) -> None:
        self._era = era
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.client = Client(build_server(app), mode=era, message_handler=self._note)

    async def _note(self, message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification) and self._era == "legacy":
            self.told.put_nowait(str(message.params.uri))

    @asynccontextmanager
    async def subscribed(self, *uris: str) -> AsyncIterator[None]:
        if self._era == "legacy":
            for uri in uris:
                await self.client.subscribe_resource(uri)
            yield
            return
        async with (
            self.client.listen(resource_subscriptions=uris) as events,
            asyncio.TaskGroup() as tasks,
        ):
            listening = tasks.create_task(self._forward(events))
            yield
            listening.cancel()

    async def _forward(self, events: Any) -> None:
        async for event in events:
            assert isinstance(event, ResourceUpdated)
            self.told.put_nowait(event.uri)

    async def next(self) -> str:
        async with asyncio.timeout(60):
            return await self.told.get()


def latest(site: Site, path: str) -> str:
    return f"scrape://{site.address}{path}/cleaned_latest"


@ERAS
async def test_a_crawls_new_pages_are_told(app: App, site: Site, era: Era) -> None:
    subscriber = Subscriber(app, era)
    async with subscriber.client as client:
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/silent"), "maxDepth": 1})
        uri = f"crawl://{(crawl.structured_content or {})['crawlId']}"
        async with subscriber.subscribed(uri):
            site.release()
            text = ""
            # The change of its status from queued to running may come first.
            while '"pagesCrawled": 1' not in text:
                assert await subscriber.next() == uri
                (contents,) = (await client.read_resource(uri)).contents
                assert isinstance(contents, types.TextResourceContents)
                text = contents.text
    assert {"audience", "lastModified"} <= set((contents.meta or {})["cinder/annotations"])


@ERAS
async def test_only_a_changed_page_is_told_of(app: App, site: Site, era: Era) -> None:
    path, other = "/diary?days=first,first,changed", "/numbered?n=1"
    subscriber = Subscriber(app, era)
    async with subscriber.client as client:
        await client.call_tool("scrape", {"url": site.url(path)})
        async with subscriber.subscribed(latest(site, path), latest(site, other)):
            await client.call_tool("scrape", {"url": site.url(path), "forceRescrape": True})
            await client.call_tool("scrape", {"url": site.url(other)})
            assert await subscriber.next() == latest(site, other)
            await client.call_tool("scrape", {"url": site.url(path), "forceRescrape": True})
            assert await subscriber.next() == latest(site, path)
            (contents,) = (await client.read_resource(latest(site, path))).contents
    assert isinstance(contents, types.TextResourceContents)
    assert "| Oak | 10 |" in contents.text


async def test_who_unsubscribed_is_told_no_more(app: App, site: Site) -> None:
    subscriber = Subscriber(app, "legacy")
    first, second = latest(site, "/numbered?n=1"), latest(site, "/numbered?n=2")
    async with subscriber.client as client, subscriber.subscribed(first, second):
        await client.unsubscribe_resource(first)
        for n in (1, 2):
            await client.call_tool("scrape", {"url": site.url(f"/numbered?n={n}")})
        assert await subscriber.next() == second
    assert subscriber.told.empty()


@ERAS
@pytest.mark.parametrize(
    "uri",
    [
        "crawl://crawl-000000000000000000000000",
        "https://example.com/",
        "scrape://example.com/cleaned_2026-11-16T00:00:00.000Z",
    ],
)
async def test_what_never_changes_is_refused(app: App, era: Era, uri: str) -> None:
    subscriber = Subscriber(app, era)
    async with subscriber.client:
        with pytest.raises(MCPError) as caught:
            async with subscriber.subscribed(uri):
                pass
    assert caught.value.code == types.INVALID_PARAMS


@asynccontextmanager
async def connected(server: RunningServer, token: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        yield client


def some_pages(count: int) -> list[str]:
    return [f"scrape://a.example/{number}/cleaned_latest" for number in range(count)]


async def is_heard(client: Client) -> bool:
    try:
        async with client.listen(resource_subscriptions=some_pages(1)):
            return True
    except MCPError:
        return False


async def test_no_caller_takes_all_subscriptions(settings: Settings) -> None:
    most = slots_without_reserve(MAX_SUBSCRIPTIONS)
    async with open_app(settings) as app:
        greedy = await app.callers.create("greedy", EVERYDAY_SCOPES)
        modest = await app.callers.create("modest", EVERYDAY_SCOPES)
    async with (
        run_server(settings.data_dir, CINDER_SERVER__API_TOKEN="owners") as server,
        connected(server, greedy.secret) as taking,
        connected(server, modest.secret) as asking,
        asyncio.timeout(60),
    ):
        async with taking.listen(resource_subscriptions=some_pages(most)):
            assert not await is_heard(taking)
            assert await is_heard(asking)
        while not await is_heard(taking):
            continue  # the server sees a while later that a stream is closed


async def test_saved_pages_are_listed_newest_first(connect: Connect, site: Site) -> None:
    async with connect() as client:
        for n in (1, 2):
            await client.call_tool("scrape", {"url": site.url(f"/numbered?n={n}")})
        listed = await client.list_resources()
    newest, oldest = listed.resources
    assert (newest.name, oldest.name) == ("Ember 2", "Ember 1")
    assert newest.mime_type == "text/markdown"
    assert newest.meta == {"cinder/untrusted": True}
    assert newest.size
    assert newest.annotations is not None
    assert newest.annotations.last_modified is not None
    assert listed.next_cursor is None


async def test_long_list_has_pages(connect: Connect, site: Site) -> None:
    async with connect() as client:
        for n in range(PAGE_SIZE + 1):
            url = site.url(f"/numbered?n={n}")
            await client.call_tool("scrape", {"url": url, "resultHandling": "saveOnly"})
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
    assert len(first.resources) == PAGE_SIZE
    assert [resource.name for resource in second.resources] == ["Ember 0"]
    assert second.next_cursor is None


async def test_wrong_cursor_is_refused(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.list_resources(cursor="next please")
    assert caught.value.code == types.INVALID_PARAMS


async def test_template_describes_the_uris(connect: Connect) -> None:
    async with connect() as client:
        templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "scrape://{+page}/{kind}_{timestamp}{?startIndex,maxChars,maxTokens,section,query}",
        "crawl://{id}{?offset}",
    ]


@ERAS
async def test_saved_text_is_read_back(connect: Connect, site: Site) -> None:
    async with connect() as client:
        scraped = await client.call_tool("scrape", {"url": site.url("/article")})
        uri = scraped.structured_content["savedUris"]["cleaned"]
        (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    assert (contents.uri, contents.mime_type) == (uri, "text/markdown")
    assert contents.text == scraped.structured_content["content"]
    assert contents.meta == {
        "cinder/untrusted": True,
        "cinder/annotations": {
            "audience": ["user", "assistant"],
            "priority": 0.5,
            "lastModified": uri.rpartition("_")[2],
        },
    }


async def test_saved_file_is_read_back(connect: Connect, site: Site) -> None:
    async with connect() as client:
        scraped = await client.call_tool("scrape", {"url": site.url("/image")})
        uri = scraped.structured_content["savedUris"]["raw"]
        (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.BlobResourceContents)
    assert (contents.mime_type, base64.b64decode(contents.blob)) == ("image/png", PNG)


@ERAS
@pytest.mark.parametrize(
    "uri", ["scrape://nowhere.test/raw_2026-11-15T00:00:00.000Z", "https://example.com/"]
)
async def test_missing_or_foreign_uri_is_a_protocol_error(connect: Connect, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.code == types.INVALID_PARAMS
    assert caught.value.error.data == {"uri": uri}


async def test_text_over_the_ceiling_is_cut_and_says_so(
    app: App, connect: Connect, site: Site
) -> None:
    async with connect() as client:
        scraped = await client.call_tool("scrape", {"url": site.url("/article")})
    uri = scraped.structured_content["savedUris"]["cleaned"]
    over_stdio: Any = SimpleNamespace(request=None)
    params = types.ReadResourceRequestParams(uri=uri)
    (contents,) = (await Resources(app, max_chars=50).read(over_stdio, params)).contents
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text.startswith(scraped.structured_content["content"][:24])
    (following,) = re.findall(r"resources/read of (\S+) goes on", contents.text)
    assert contents.meta is not None
    assert contents.meta[NEXT_URI_KEY] == following == f"{uri}?startIndex=24"


async def test_a_window_reads_a_part_of_a_saved_page(connect: Connect, site: Site) -> None:
    async with connect() as client:
        scraped = await client.call_tool("scrape", {"url": site.url("/article")})
        uri = scraped.structured_content["savedUris"]["cleaned"]
        content = scraped.structured_content["content"]
        read = ""
        part: str | None = f"{uri}?maxTokens=50"
        while part:
            (contents,) = (await client.read_resource(part)).contents
            assert isinstance(contents, types.TextResourceContents)
            assert contents.uri == part
            part = (contents.meta or {}).get(NEXT_URI_KEY)
            read += contents.text.rpartition("\n\n[")[0] if part else contents.text
        assert read == content
        (found,) = (await client.read_resource(f"{uri}?query=coals&maxChars=400")).contents
        assert isinstance(found, types.TextResourceContents)
        assert "Cover the coals" in found.text


@pytest.mark.parametrize(
    "window", ["section=nothing-like-it", "startIndex=x", "other=1", "maxChars=1&maxTokens=1"]
)
async def test_a_window_that_is_not_one_is_refused(
    connect: Connect, site: Site, window: str
) -> None:
    async with connect() as client:
        scraped = await client.call_tool("scrape", {"url": site.url("/article")})
        uri = scraped.structured_content["savedUris"]["cleaned"]
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"{uri}?{window}")
    assert caught.value.code == types.INVALID_PARAMS
