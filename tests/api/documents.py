"""Documents, outcomes and pictures made by hand, to test answers with."""

from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO

from PIL import Image

from cinder.models.document import (
    ActionResult,
    Document,
    Extraction,
    FetchSource,
    Json,
    Media,
    PageMetadata,
)
from cinder.models.request import ActionType
from cinder.models.saved import SavedDocument, Version
from cinder.services.scraping.outcome import ScrapeOutcome

MOMENT = datetime(2026, 11, 15, tzinfo=UTC)


def a_png(width: int = 8, height: int = 6) -> Media:
    file = BytesIO()
    Image.new("RGB", (width, height), "orange").save(file, "PNG")
    return Media("image/png", file.getvalue())


def a_page(
    *,
    screenshot: Media | None = None,
    actions: tuple[ActionResult, ...] = (),
    markdown: str = "Ember",
) -> Document:
    return Document(
        url="https://example.com/page",
        final_url="https://example.com/page",
        status_code=200,
        source=FetchSource.BROWSER,
        strategy="browser",
        content_type="text/html",
        scraped_at=MOMENT,
        load_time_ms=1,
        content=Extraction(
            text="<p>Ember</p>", markdown=markdown, metadata=PageMetadata(title="Page")
        ),
        screenshot=screenshot,
        actions=actions,
    )


def without_markdown(document: Document) -> Document:
    return replace(document, content=replace(document.content, markdown=None))


def fresh(document: Document) -> ScrapeOutcome:
    """Return the outcome of a scrape that was not saved."""
    return ScrapeOutcome(document=document)


def kept(document: Document) -> ScrapeOutcome:
    """Return the outcome of a scrape that was saved."""
    saved = SavedDocument(document, Version("example.com/page", MOMENT), "key")
    return ScrapeOutcome(document=document, saved=saved)


def screenshot_action(name: str | None = None, picture: Media | None = None) -> ActionResult:
    return ActionResult(
        type=ActionType.SCREENSHOT,
        message="Took a screenshot",
        elapsed_ms=5,
        name=name,
        screenshot=picture or a_png(),
    )


def scrape_action(html: str = "<p>Ash</p>", markdown: str = "Ash") -> ActionResult:
    return ActionResult(
        type=ActionType.SCRAPE, message="Scraped the page", html=html, markdown=markdown
    )


def script_action(value: Json) -> ActionResult:
    return ActionResult(
        type=ActionType.EXECUTE_JAVASCRIPT,
        message="Ran a script",
        value=value,
    )
