"""Every format of the tool `scrape`, on real pages; the client checks each against the schema."""

import json

import mcp_types as types

from cinder.config.settings import Settings
from tests.mcp.conftest import Call
from tests.mcp.reading import kinds_of, text_of, unmarked
from tests.site import Site


async def test_every_format_answers_in_content_and_in_structured_content(
    call: Call, site: Site, settings: Settings
) -> None:
    formats = ["markdown", "html", "rawHtml", "links", "images", "screenshot"]
    formats += ["branding", "changeTracking"]
    result = await call("scrape", url=site.url("/article"), formats=formats)
    data = result.structured_content
    assert data["content"].startswith("# Ember care")
    assert "<h2>In the morning</h2>" in data["html"]
    assert data["links"] == [site.url(path) for path in ("/", "/about", "/coals?x=1")]
    assert data["images"] == [site.url("/ember.png")]
    assert data["branding"]["colors"]["background"] == "#ffffff"
    assert data["changeTracking"] == {"changeStatus": "new"}
    text = text_of(result)
    for value in (data["content"], data["html"], data["rawHtml"], *data["links"]):
        assert value in text
    assert json.dumps(data["branding"], ensure_ascii=False) in text
    assert "changeTracking: new" in text
    assert "image" in kinds_of(result)
    assert len(text) <= settings.server.mcp_result_max_chars


async def test_images_and_branding_are_read_from_a_styled_page(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/brand"), formats=["images", "branding"])
    data = result.structured_content
    assert site.url("/stove-1600.jpg") in data["images"]
    assert data["branding"]["sources"]["colors.primary"] == "css:--hearth-primary"
    assert "#d9480f" in text_of(result)


async def test_a_change_stands_in_content_as_a_diff(call: Call, site: Site) -> None:
    arguments = {
        "url": site.url("/diary?days=first,changed,404"),
        "formats": ["markdown", "changeTracking"],
    }
    first = await call("scrape", **arguments)
    second = await call("scrape", **arguments)
    change = second.structured_content["changeTracking"]
    assert change["changeStatus"] == "changed"
    uri = first.structured_content["savedUris"]["cleaned"]
    assert f"changeTracking: changed (compared with {change['previousScrapeAt']}, {uri})" in (
        text_of(second)
    )
    assert "-| Oak | 9 |\n+| Oak | 10 |" in text_of(second)
    third = await call("scrape", **arguments)
    assert not third.is_error
    assert third.structured_content["changeTracking"]["changeStatus"] == "removed"
    assert third.structured_content["verdict"] == "http_error"
    assert "changeTracking: removed" in text_of(third)


async def test_a_removed_page_is_told_where_nothing_is_to_be_returned(
    call: Call, site: Site
) -> None:
    arguments = {
        "url": site.url("/diary?days=first,410"),
        "formats": ["changeTracking"],
        "resultHandling": "saveOnly",
    }
    await call("scrape", **arguments)
    result = await call("scrape", **arguments)
    assert result.structured_content["changeTracking"]["changeStatus"] == "removed"
    assert "The page is gone" in text_of(result)


async def test_a_file_is_tracked_as_well(call: Call, site: Site) -> None:
    arguments = {"url": site.url("/image"), "formats": ["markdown", "changeTracking"]}
    await call("scrape", **arguments)
    result = await call("scrape", **arguments)
    assert result.structured_content["changeTracking"]["changeStatus"] == "same"
    assert "changeTracking: same" in text_of(result)


async def test_save_only_gives_a_link_and_the_change(call: Call, site: Site) -> None:
    arguments = {"url": site.url("/article"), "formats": ["markdown", "changeTracking"]}
    result = unmarked(await call("scrape", **arguments, resultHandling="saveOnly"))
    link, note = result.content
    assert isinstance(link, types.ResourceLink)
    assert isinstance(note, types.TextContent)
    assert note.text == "changeTracking: new"
