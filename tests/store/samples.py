"""Documents, keys and a clock to test the store with."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cinder.models.document import (
    ActionResult,
    Document,
    Extraction,
    FetchSource,
    LinkDetail,
    Media,
    PageMetadata,
    Validators,
    Verdict,
    VerdictKind,
)
from cinder.models.request import ActionType
from cinder.store.document_rows import EntryKey

NOW = datetime(2025, 11, 15, 18, 30, 0, 123456, tzinfo=UTC)
URL = "https://example.com/article"


class Clock:
    """A clock that stops until `move_on` is called."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def move_on(self, by: timedelta) -> None:
        self.now += by


def a_document(
    text: str | None = "<h1>Hello</h1>", *, url: str = URL, scraped_at: datetime = NOW
) -> Document:
    markdown = None if text is None else f"# {text}"
    return Document(
        url=url,
        final_url=url,
        status_code=200,
        source=FetchSource.NATIVE,
        strategy="static",
        content_type="text/html",
        scraped_at=scraped_at,
        load_time_ms=12,
        content=Extraction(text=text, markdown=markdown, metadata=PageMetadata(title="Hello")),
    )


def a_full_document() -> Document:
    """Return a page's document in which no field has its default but those for files."""
    return replace(
        a_document(),
        final_url="https://example.com/article?from=redirect",
        status_code=203,
        source=FetchSource.BROWSER,
        proxy_pool="eu",
        retry_after_seconds=30,
        screenshot=Media("image/png", bytes(range(256)) * 40),
        actions=some_actions(),
        verdict=Verdict(VerdictKind.PAYWALL, "a “subscribe” box"),
        is_cut=True,
        validators=Validators(etag='W/"abc"', last_modified="Sat, 15 Nov 2025 18:30:00 GMT"),
        extracted="the extracted 🜂 text",
        content=Extraction(
            text="<h1>Grüße 🎉</h1>",
            markdown="# Grüße 🎉\n",
            html="<h1>Grüße</h1>",
            links=("https://example.com/a", "https://example.com/b"),
            links_detail=(
                LinkDetail(
                    url="https://example.com/a", text="Grüße", rel="nofollow", section="nav"
                ),
            ),
            images=(),
            branding={"colors": {"primary": "#ff5500"}, "fonts": [{"family": "Sora"}]},
            word_count=3,
            token_count=5,
            empty_evidence="no text layer",
            is_partial=True,
            is_out_of_time=True,
            warnings=("cleaning failed",),
            metadata=a_full_metadata(),
        ),
    )


def some_actions() -> tuple[ActionResult, ...]:
    return (
        ActionResult(type=ActionType.CLICK, message="Clicked #more", elapsed_ms=7),
        ActionResult(
            type=ActionType.SCREENSHOT,
            message="Took a screenshot",
            name="after 🎉",
            screenshot=Media("image/png", b"\x89PNG\0\xff"),
        ),
        ActionResult(
            type=ActionType.SCRAPE, message="Scraped main", html="<p>Grüße</p>", markdown="Grüße"
        ),
        ActionResult(
            type=ActionType.EXECUTE_JAVASCRIPT,
            message="Ran a script",
            value={"list": [1, 2.5, None, "x"], "empty": {}},
        ),
    )


def a_full_metadata() -> PageMetadata:
    return PageMetadata(
        page_count=3,
        kept_share=0.25,
        title="Grüße 🎉",
        description="A page",
        language="de",
        author="Someone",
        published="2025-01-01",
        modified="2025-01-02",
        canonical="https://example.com/article",
        site_name="Example",
        robots="noindex",
        keywords=("one", "two"),
        images=("https://example.com/i.png",),
        open_graph={"og:title": "Grüße", "og:type": "article"},
        json_ld=({"@type": "Article", "parts": [1, 2.5, None, True, {"deep": []}]}, "text"),
    )


def a_key(
    cache_key: str = "key", *, owner: str | None = None, expires_at: datetime | None = None
) -> EntryKey:
    return EntryKey(
        cache_key=cache_key,
        options={"formats": ["markdown"], "note": "nul \x00, surrogate \ud800"},
        owner=owner,
        expires_at=expires_at or NOW + timedelta(days=30),
        extract_query="What is it?",
    )
