"""The result of a scrape as content blocks and structured data."""

import base64
import struct
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from random import Random
from typing import Any

import mcp_types as types
import pytest
from PIL import Image

from cinder.mcp.scrape_result import (
    MAX_IMAGE_PIXELS,
    MAX_IMAGES,
    MAX_INLINE_BYTES,
    PngImage,
    describe_media,
    media_blocks,
    read_png,
    scale_png,
    scrape_result,
)
from cinder.models.document import Document, FetchSource, Media
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.models.saved import SavedKind
from cinder.services.excerpt import TextWindow, without_nulls
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.api.documents import (
    a_page,
    a_png,
    fresh,
    kept,
    scrape_action,
    screenshot_action,
    script_action,
    without_markdown,
)
from tests.mcp.conftest import Call
from tests.mcp.reading import kinds_of, text_of, unmarked
from tests.site import Site
from tests.site.pages import PDF, PNG


async def result_of(
    outcome: ScrapeOutcome,
    *formats: Format,
    handling: ResultHandling = ResultHandling.SAVE_AND_RETURN,
) -> types.CallToolResult:
    request = ScrapeRequest(url=outcome.document.url, formats=formats, result_handling=handling)
    return await scrape_result(outcome, request, TextWindow(0, 1_000), max_edge=100)


def images_in(result: types.CallToolResult) -> list[tuple[int, int]]:
    """Return the size of every image in a result."""
    blocks = [block for block in result.content if isinstance(block, types.ImageContent)]
    assert all(block.mime_type == "image/png" for block in blocks)
    return [Image.open(BytesIO(base64.b64decode(block.data))).size for block in blocks]


async def test_a_screenshot_is_scaled_beside_the_text_and_the_original_linked() -> None:
    picture = a_png(200, 50)
    outcome = kept(a_page(screenshot=picture))
    result = await result_of(outcome, Format.MARKDOWN, Format.SCREENSHOT)
    assert kinds_of(result) == ["resource", "resource_link", "text", "image"]
    assert images_in(result) == [(100, 25)]
    link = result.content[1]
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
    assert kinds_of(result) == ["resource", "resource_link", "text"]
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


def outcome_of(media: Media) -> ScrapeOutcome:
    document = Document(
        url="https://example.com/file",
        final_url="https://example.com/file",
        status_code=200,
        source=FetchSource.NATIVE,
        strategy="native",
        content_type=media.mime,
        scraped_at=datetime(2026, 11, 15, tzinfo=UTC),
        load_time_ms=1,
        media=media,
    )
    return ScrapeOutcome(document=document)


async def test_image_is_shown_and_linked(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/image")))
    link, image, _ = result.content
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", PNG)
    assert isinstance(link, types.ResourceLink)
    assert (link.uri, link.size) == (result.structured_content["savedUris"]["raw"], len(PNG))
    assert "image/png" in text_of(result)


async def test_bytes_are_not_in_the_structured_content(call: Call, site: Site) -> None:
    data = (await call("scrape", url=site.url("/image"))).structured_content
    assert (data["contentType"], data["size"]) == ("image/png", len(PNG))
    assert data["savedUris"]["raw"] in data["message"]
    assert base64.b64encode(PNG).decode() not in str(data)


async def test_other_file_is_embedded_as_a_blob(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/paper")))
    assert kinds_of(result) == ["resource", "resource_link", "text"]
    block = result.content[0]
    assert isinstance(block, types.EmbeddedResource)
    assert isinstance(block.resource, types.BlobResourceContents)
    assert block.resource.uri == result.structured_content["savedUris"]["raw"]
    assert block.resource.mime_type == "application/pdf"
    assert base64.b64decode(block.resource.blob) == PDF


async def test_file_that_is_not_saved_has_no_link(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/image"), resultHandling="returnOnly"))
    assert kinds_of(result) == ["image", "text"]
    assert "not saved" in result.structured_content["message"]


async def test_file_can_be_saved_only(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/image"), resultHandling="saveOnly"))
    (link,) = result.content
    assert isinstance(link, types.ResourceLink)
    assert link.mime_type == "image/png"


@pytest.mark.parametrize(
    "media", [Media("image/svg+xml", b"<svg/>"), Media("image/png", b"<p>Not found</p>")]
)
def test_image_that_models_cannot_view_is_a_blob(media: Media) -> None:
    blocks = media_blocks(outcome_of(media), media, "")
    assert [block.type for block in blocks] == ["resource", "text"]


def test_large_file_is_not_in_the_result() -> None:
    media = Media("image/png", b"\0" * (MAX_INLINE_BYTES + 1))
    outcome = outcome_of(media)
    data = describe_media(outcome, media, {"url": "https://example.com/file"})
    assert "saveAndReturn" in str(data["message"])
    blocks = media_blocks(outcome, media, str(data["message"]))
    assert [block.type for block in blocks] == ["text"]


def noise(width: int, height: int) -> bytes:
    """Return a PNG that does not compress."""
    file = BytesIO()
    pixels = Random(0).randbytes(width * height * 3)
    Image.frombytes("RGB", (width, height), pixels).save(file, "PNG")
    return file.getvalue()


def test_a_small_picture_stays_as_it_is() -> None:
    data = a_png(100, 80).data
    assert scale_png(data, 100) == PngImage(data, 100, 80)


@pytest.mark.parametrize(
    ("size", "scaled"), [((200, 100), (100, 50)), ((50, 400), (12, 100)), ((4000, 1), (100, 1))]
)
def test_the_longest_edge_is_scaled_to_the_limit(
    size: tuple[int, int], scaled: tuple[int, int]
) -> None:
    picture = scale_png(a_png(*size).data, 100)
    assert picture is not None
    assert (picture.width, picture.height) == scaled
    assert read_png(picture.data) == picture
    with Image.open(BytesIO(picture.data)) as image:
        assert image.getpixel((0, 0)) == (255, 165, 0)


def test_a_picture_of_too_many_bytes_is_made_smaller_until_it_fits() -> None:
    picture = scale_png(noise(300, 300), 1_000, max_bytes=50_000)
    assert picture is not None
    assert len(picture.data) <= 50_000
    assert 50 < picture.width < 300


def test_a_picture_that_cannot_be_made_to_fit_is_not_shown() -> None:
    assert scale_png(noise(300, 300), 1_000, max_bytes=100) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"<p>Not found</p>", a_png(200, 200).data[:20], a_png(200, 200).data[:60], noise(9, 9)],
)
def test_what_is_no_whole_png_is_not_shown(data: bytes) -> None:
    broken = data.replace(b"IDAT", b"IDOT")
    assert scale_png(broken, 4) is None


def test_a_decompression_bomb_is_not_unpacked() -> None:
    small = a_png().data
    edge = int(MAX_IMAGE_PIXELS**0.5) + 1
    bomb = small[:16] + struct.pack(">II", edge, edge) + small[24:]
    assert scale_png(bomb, 100) is None
