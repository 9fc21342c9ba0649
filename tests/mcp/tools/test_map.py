"""The tool `cinder_map`: as many URLs as fit, and how to get the rest."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from tests.mapped_site import MappedSite, serve_mapped_site
from tests.mcp.conftest import Connect
from tests.mcp.reading import text_of, unmarked

PAGES = [f"/guide/page-{number}" for number in range(1_000)]


@pytest.fixture
def mapped() -> Iterator[MappedSite]:
    with serve_mapped_site() as running:
        running.put_sitemaps([*PAGES, "/guide/ash"], 500)
        yield running


@pytest.fixture
async def app(tmp_path: Path, mapped: MappedSite) -> AsyncIterator[App]:
    settings = read_settings(data_dir=tmp_path, egress={"allow": [mapped.address]})
    async with open_app(settings) as opened:
        yield opened


async def test_a_long_map_is_read_in_parts(connect: Connect, mapped: MappedSite) -> None:
    arguments: dict[str, Any] = {"url": mapped.url("/"), "sitemap": "only", "limit": 400}
    found: list[str] = []
    async with connect() as client:
        while True:
            result = unmarked(await client.call_tool("cinder_map", arguments))
            assert len(text_of(result)) <= 20_000
            data = result.structured_content or {}
            assert json.loads(text_of(result)) == data
            found += [each["url"].removeprefix(mapped.base) for each in data["urls"]]
            if not data["hasMore"]:
                break
            assert data["nextOffset"] == len(found)
            arguments["offset"] = data["nextOffset"]
    assert found == [*PAGES, "/guide/ash"]


async def test_a_search_brings_the_page_first(connect: Connect, mapped: MappedSite) -> None:
    async with connect() as client:
        arguments = {"url": mapped.url("/"), "search": "ash", "sitemap": "only"}
        result = unmarked(await client.call_tool("cinder_map", arguments))
    data = result.structured_content or {}
    assert data["urls"][0]["url"] == mapped.url("/guide/ash")
