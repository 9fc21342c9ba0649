import base64
from datetime import UTC, datetime

import mcp_types as types
import pytest

from cinder.model.document import Document, Media, Source
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.mcp.media_result import MAX_INLINE_BYTES, describe_media, media_blocks
from tests.site import Site
from tests.site.pages import PDF, PNG
from tests.surfaces.mcp.conftest import Call
from tests.surfaces.mcp.reading import kinds_of, text_of, unmarked


def outcome_of(media: Media) -> ScrapeOutcome:
    document = Document(
        url="https://example.com/file",
        final_url="https://example.com/file",
        status_code=200,
        source=Source.NATIVE,
        strategy="native",
        content_type=media.mime,
        scraped_at=datetime(2026, 11, 15, tzinfo=UTC),
        load_time_ms=1,
        media=media,
    )
    return ScrapeOutcome(document=document)


async def test_image_is_shown_and_linked(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/image")))
    image, link, _ = result.content
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
