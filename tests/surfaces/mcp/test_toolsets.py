"""Which tools a client sees, by the settings and by headers, in both eras."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from cinder.app import App, open_app
from cinder.config import ServerSettings, Settings, SettingsError
from cinder.surfaces.mcp.registry import TOOLS
from cinder.surfaces.mcp.server import build_server
from cinder.surfaces.mcp.streamable_http import open_http
from cinder.surfaces.mcp.toolsets import (
    TOOLSETS,
    Selection,
    UnknownName,
    check_selection,
    offer,
)
from tests.conftest import TableResolver
from tests.site import Site
from tests.surfaces.mcp.conftest import Era
from tests.surfaces.mcp.reading import error_of
from tests.surfaces.mcp.test_streamable_http import URL, by_the_owner

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@asynccontextmanager
async def connected(
    settings: Settings, resolver: TableResolver, era: Era, **server: Any
) -> AsyncIterator[Client]:
    """Connect to a cinder whose server has these settings."""
    chosen = settings.server.model_copy(update=server)
    changed = settings.model_copy(update={"server": chosen})
    async with (
        open_app(changed, resolver=resolver) as app,
        Client(build_server(app), mode=era) as client,
    ):
        yield client


@asynccontextmanager
async def over_http(app: App, era: Era, **headers: str) -> AsyncIterator[Client]:
    """Connect over HTTP with headers."""
    async with open_http(app) as endpoint:
        transport = httpx2.ASGITransport(app=by_the_owner(endpoint))
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Client(streamable_http_client(URL, http_client=http), mode=era) as client,
        ):
            yield client


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@ERAS
async def test_default_toolset_is_listed_and_the_others_can_be_called(app: App, era: Era) -> None:
    async with Client(build_server(app), mode=era) as client:
        assert await names_of(client) == list(TOOLSETS["default"])
        texts = {"text_a": "an ember", "text_b": "an ember"}
        result = await client.call_tool("scrape_text_similarity", texts)
    assert not result.is_error


@ERAS
async def test_chosen_tools_are_all_there_is(
    settings: Settings, resolver: TableResolver, era: Era
) -> None:
    chosen = {"mcp_toolsets": ("crawl",), "mcp_tools": ("cinder_scrape",)}
    async with connected(settings, resolver, era, **chosen) as client:
        assert await names_of(client) == [
            *("cinder_scrape", "cinder_crawl", "cinder_get_crawl_status"),
        ]
        refused = error_of(await client.call_tool("scrape", {"url": "https://example.com"}))
        assert "--tools scrape" in refused
        assert "cinder_scrape reads" in (client.instructions or "")
        assert "cinder_search" not in (client.instructions or "")
        assert (await client.list_prompts()).prompts == []


@ERAS
async def test_read_only_takes_clicking_typing_and_scripts_out_of_the_schema(
    settings: Settings, resolver: TableResolver, site: Site, era: Era
) -> None:
    async with connected(settings, resolver, era, mcp_read_only=True) as client:
        scrape = (await client.list_tools()).tools[0]
        actions = scrape.input_schema["properties"]["actions"]["items"]["properties"]
        assert actions["type"]["enum"] == ["wait", "scroll", "screenshot", "scrape"]
        assert {"text", "key", "script"}.isdisjoint(actions)
        assert "click" not in (scrape.description or "")
        assert scrape.annotations is not None
        assert scrape.annotations.read_only_hint is True
        for kind in ("click", "write", "press", "executeJavascript"):
            arguments = {"url": site.url("/article"), "actions": [{"type": kind}]}
            refused = error_of(await client.call_tool("scrape", arguments))
            assert "actions[0].type: Read-only here" in refused
        read = await client.call_tool("scrape", {"url": site.url("/article")})
    assert not read.is_error


@ERAS
async def test_headers_choose_for_a_request(app: App, era: Era) -> None:
    headers = {"X-MCP-Toolsets": "extract, text", "X-MCP-Readonly": "true"}
    async with over_http(app, era, **headers) as client:
        assert await names_of(client) == [
            *("cinder_extract", "scrape_extract_content", "scrape_text_similarity"),
        ]
        refused = await client.call_tool("scrape", {"url": "https://example.com"})
    assert "X-MCP-Toolsets" in error_of(refused)


@ERAS
async def test_unknown_name_in_a_header_is_answered_with_the_nearest(app: App, era: Era) -> None:
    async with over_http(app, era, **{"X-MCP-Toolsets": "serch"}) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
        called = await client.session.call_tool("scrape", {"url": "https://example.com"})
    assert "Did you mean search?" in caught.value.error.message
    assert "Did you mean search?" in error_of(called)


def test_a_header_narrows_what_the_owner_chose_and_never_widens_it() -> None:
    own = Selection(toolsets=("crawl", "text"), is_read_only=True)
    asked = Selection(toolsets=("all",), tools=("scrape",))
    assert list(offer(TOOLS, own, asked).callable) == [
        *("cinder_crawl", "cinder_get_crawl_status"),
        *("scrape_extract_content", "scrape_text_similarity"),
    ]
    scrape = offer(TOOLS, Selection(is_read_only=True), asked).callable["scrape"]
    assert scrape is not TOOLS[0]


def test_every_tool_is_in_a_toolset_of_its_own_beside_all() -> None:
    grouped = [
        name for key, names in TOOLSETS.items() if key not in ("default", "all") for name in names
    ]
    assert sorted(grouped) == sorted(tool.name for tool in TOOLS)


@pytest.mark.parametrize(
    ("selection", "hint"),
    [
        (Selection(toolsets=("defualt",)), "Did you mean default?"),
        (Selection(tools=("cinder_serch",)), "Did you mean cinder_search?"),
        (Selection(toolsets=("zzz",)), "Known are: default, scrape"),
    ],
)
def test_unknown_name_is_answered_with_the_nearest(selection: Selection, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        selection.names()
    assert hint in str(caught.value)


def test_settings_that_choose_what_there_is_not_are_refused() -> None:
    check_selection(ServerSettings(mcp_toolsets=("all",)))
    with pytest.raises(SettingsError, match="Did you mean crawl"):
        check_selection(ServerSettings(mcp_toolsets=("crawls",)))
