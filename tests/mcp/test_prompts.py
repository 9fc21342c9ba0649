"""tests.mcp.test_prompts"""

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from cinder.mcp.resources import CRAWL_TEMPLATE, SAVED_TEMPLATE
from tests.mcp.conftest import Connect
from tests.site import Site

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
SAVED = types.ResourceTemplateReference(uri=SAVED_TEMPLATE.uri_template)
CRAWL = types.ResourceTemplateReference(uri=CRAWL_TEMPLATE.uri_template)


async def complete(
    client: Client,
    ref: types.PromptReference | types.ResourceTemplateReference,
    name: str,
    value: str,
    **given: str,
) -> list[str]:
    result = await client.complete(ref, {"name": name, "value": value}, given or None)
    return result.completion.values


@ERAS
async def test_hosts_then_paths_then_versions_are_completed(connect: Connect, site: Site) -> None:
    async with connect() as client:
        for path in ("/article", "/numbered?n=1"):
            scraped = await client.call_tool("scrape", {"url": site.url(path)})
        assert await complete(client, SAVED, "page", "127") == [site.address]
        assert await complete(client, SAVED, "page", f"{site.address}/") == [
            f"{site.address}/numbered?n=1",
            f"{site.address}/article",
        ]
        assert await complete(client, SAVED, "page", f"{site.address}/art") == [
            f"{site.address}/article"
        ]
        assert await complete(client, SAVED, "kind", "c") == ["cleaned"]
        page = f"{site.address}/numbered?n=1"
        moments = await complete(client, SAVED, "timestamp", "", page=page, kind="cleaned")
    uri = (scraped.structured_content or {})["savedUris"]["cleaned"]
    assert moments == ["latest", uri.rpartition("_")[2]]


async def test_crawls_are_completed_by_their_ids(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/article")})
        crawl_id = (crawl.structured_content or {})["crawlId"]
        assert await complete(client, CRAWL, "id", "crawl-") == [crawl_id]
        assert await complete(client, CRAWL, "id", "other") == []
        assert await complete(client, CRAWL, "offset", "1") == []


async def test_prompts_are_completed_with_choices_and_saved_pages(
    connect: Connect, site: Site
) -> None:
    url = site.url("/article")
    async with connect() as client:
        await client.call_tool("scrape", {"url": url})
        research = types.PromptReference(name="research")
        compare = types.PromptReference(name="compare_pages")
        assert await complete(client, research, "depth", "t") == ["thorough"]
        assert await complete(client, research, "topic", "t") == []
        assert await complete(client, compare, "urls", "127.0") == [url]
        assert await complete(client, compare, "urls", "https://a.test http") == [
            f"https://a.test {url}"
        ]


@pytest.mark.parametrize(
    "ref",
    [
        types.PromptReference(name="no such prompt"),
        types.ResourceTemplateReference(uri="test://{id}"),
    ],
)
async def test_blanks_of_what_there_is_not_are_refused(
    connect: Connect, ref: types.PromptReference | types.ResourceTemplateReference
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await complete(client, ref, "id", "")
    assert caught.value.code == types.INVALID_PARAMS
