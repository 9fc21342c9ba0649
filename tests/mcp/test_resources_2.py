"""tests.mcp.test_resources_2"""

import base64

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from cinder.app import App
from cinder.mcp.resources import PAGE_SIZE, Resources
from tests.mcp.conftest import Connect
from tests.site import Site
from tests.site.pages import PNG

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


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
        "scrape://{+page}/{kind}_{timestamp}",
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
    body = await app.archive.read(uri, "owner")
    assert body is not None
    contents = Resources(app, max_chars=50)._contents(body)
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text.startswith(scraped.structured_content["content"][:50])
    assert "startIndex 50" in contents.text
