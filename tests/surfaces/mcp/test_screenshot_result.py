import base64
from dataclasses import replace
from io import BytesIO
from typing import Any

import mcp_types as types
from PIL import Image

from cinder.model.document import Media
from cinder.model.request import Format, ResultHandling, ScrapeRequest
from cinder.model.saved import SavedKind
from cinder.services.excerpt import Window
from cinder.services.fitting import without_nulls
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.mcp.scrape_result import scrape_result
from cinder.surfaces.mcp.screenshot_result import MAX_IMAGES
from tests.surfaces.documents import (
    a_page,
    a_png,
    fresh,
    kept,
    scrape_action,
    screenshot_action,
    script_action,
    without_markdown,
)
from tests.surfaces.mcp.reading import kinds_of, text_of


async def result_of(
    outcome: ScrapeOutcome,
    *formats: Format,
    handling: ResultHandling = ResultHandling.SAVE_AND_RETURN,
) -> types.CallToolResult:
    request = ScrapeRequest(url=outcome.document.url, formats=formats, result_handling=handling)
    return await scrape_result(outcome, request, Window(0, 1_000), max_edge=100)


def images_in(result: types.CallToolResult) -> list[tuple[int, int]]:
    """Return the size of every image in a result."""
    blocks = [block for block in result.content if isinstance(block, types.ImageContent)]
    assert all(block.mime_type == "image/png" for block in blocks)
    return [Image.open(BytesIO(base64.b64decode(block.data))).size for block in blocks]


async def test_a_screenshot_is_scaled_beside_the_text_and_the_original_linked() -> None:
    picture = a_png(200, 50)
    outcome = kept(a_page(screenshot=picture))
    result = await result_of(outcome, Format.MARKDOWN, Format.SCREENSHOT)
    assert kinds_of(result) == ["resource", "text", "image", "resource_link"]
    assert images_in(result) == [(100, 25)]
    link = result.content[-1]
    assert isinstance(link, types.ResourceLink)
    assert outcome.saved is not None
    assert link.uri == outcome.saved.uris[SavedKind.SCREENSHOT]
    assert (link.mime_type, link.size) == ("image/png", len(picture.data))
    message = result.structured_content["message"]
    assert "the page, 100x25 (scaled from 200x50)" in message
    assert link.uri in message
    assert message in text_of(result)


async def test_a_screenshot_alone_comes_with_the_header() -> None:
    page = without_markdown(a_page(screenshot=a_png()))
    result = await result_of(fresh(page), Format.FULL_SCREENSHOT)
    assert kinds_of(result) == ["text", "image"]
    assert "Verdict: ok" in text_of(result)


async def test_structured_content_holds_no_picture_and_no_null() -> None:
    actions = (scrape_action(), screenshot_action(), script_action({"a": None}))
    outcome = kept(a_page(screenshot=a_png(), actions=actions))
    data: Any = (await result_of(outcome, Format.MARKDOWN, Format.SCREENSHOT)).structured_content
    assert base64.b64encode(a_png().data).decode() not in str(data)
    assert without_nulls(data) == data
    assert [action["type"] for action in data["actions"]] == [
        "scrape",
        "screenshot",
        "executeJavascript",
    ]
    assert data["actions"][2]["result"] == '{"a": null}'


async def test_what_actions_brought_stands_in_the_text_too() -> None:
    actions = (scrape_action(), screenshot_action("after"), script_action([1, 2]))
    result = await result_of(fresh(a_page(actions=actions)), Format.MARKDOWN)
    text = text_of(result)
    for part in ("actions (3):", "[0] scrape: Scraped the page", "Ash", "<p>Ash</p>", "[1, 2]"):
        assert part in text
    assert "actions[1] (after), 8x6" in text
    assert images_in(result) == [(8, 6)]


async def test_pictures_beyond_the_limit_are_named_and_left_out() -> None:
    actions = tuple(screenshot_action() for _ in range(MAX_IMAGES + 1))
    page = a_page(screenshot=a_png(), actions=actions)
    result = await result_of(fresh(page), Format.MARKDOWN, Format.SCREENSHOT)
    assert len(images_in(result)) == MAX_IMAGES
    message = result.structured_content["message"]
    assert f"Not shown: actions[{MAX_IMAGES - 1}], actions[{MAX_IMAGES}];" in message


async def test_a_picture_that_cannot_be_scaled_is_linked_only() -> None:
    outcome = kept(a_page(screenshot=Media("image/png", b"broken")))
    result = await result_of(outcome, Format.MARKDOWN, Format.SCREENSHOT)
    assert kinds_of(result) == ["resource", "text", "resource_link"]
    assert "Not shown: the page;" in result.structured_content["message"]


async def test_save_only_links_the_page_and_its_screenshot() -> None:
    outcome = kept(a_page(screenshot=a_png()))
    formats = (Format.MARKDOWN, Format.SCREENSHOT)
    result = await result_of(outcome, *formats, handling=ResultHandling.SAVE_ONLY)
    assert outcome.saved is not None
    uris = outcome.saved.uris
    links = [block.uri for block in result.content if isinstance(block, types.ResourceLink)]
    assert links == [uris[SavedKind.CLEANED], uris[SavedKind.SCREENSHOT]]
    assert "actions" not in result.structured_content


async def test_a_page_without_pictures_has_no_message() -> None:
    result = await result_of(fresh(replace(a_page())), Format.MARKDOWN)
    assert "message" not in result.structured_content


async def test_html_beside_a_summary_stands_under_the_uri_of_the_page_as_it_came() -> None:
    page = a_page()
    outcome = kept(replace(page, content=replace(page.content, html="<p>Ember</p>")))
    block = (await result_of(outcome, Format.HTML, Format.SUMMARY)).content[0]
    assert isinstance(block, types.EmbeddedResource)
    assert outcome.saved is not None
    assert block.resource.uri == outcome.saved.uris[SavedKind.RAW]
