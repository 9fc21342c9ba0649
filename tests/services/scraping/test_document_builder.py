"""Documents of PDFs: warnings about limits and missing formats."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.fetch.base import FetchTask
from cinder.models.document import (
    ActionResult,
    Extraction,
    FetchedPage,
    FetchSource,
    Json,
    VerdictKind,
)
from cinder.models.request import (
    ActionType,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    RenderOptions,
    ScrapeRequest,
)
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.scraping.document_builder import (
    BrandReader,
    convert_scraped,
    judge_pdf,
    missing_format_warnings,
    unconverted_warnings,
)
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.services.overload import overloaded_sandbox
from tests.site import Canary, Site


def branding(site: Site, path: str, mode: Mode = Mode.SMART) -> ScrapeRequest:
    return ScrapeRequest(
        url=site.url(path), formats=(Format.BRANDING,), render=RenderOptions(mode=mode)
    )


def found(outcome: ScrapeOutcome, *path: str) -> Json:
    value: Json = outcome.document.content.branding
    for name in path:
        assert isinstance(value, dict)
        value = value[name]
    return value


@pytest.mark.parametrize("mode", [Mode.SMART, Mode.STATIC])
async def test_without_a_browser_the_style_sheets_are_fetched(
    app: App, site: Site, mode: Mode
) -> None:
    outcome = await app.scrape.scrape(branding(site, "/brand", mode))
    assert outcome.document.source is FetchSource.NATIVE
    assert found(outcome, "colors", "primary") == "#d9480f"
    assert found(outcome, "sources", "colors.background") == "css:body"
    assert [site.hits(path) for path in ("/brand-css", "/missing-css", "/print-css")] == [1, 1, 0]
    assert outcome.warning is not None
    assert outcome.warning.startswith("1 of the page's 2 style sheets could not be read")


async def test_in_a_browser_computed_styles_are_taken(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(branding(site, "/brand", Mode.DYNAMIC))
    assert outcome.document.source is FetchSource.BROWSER
    assert found(outcome, "colors") == {
        "background": "#fffaf5",
        "textPrimary": "#1f2933",
        "link": "#0055ff",
        "primary": "#d9480f",
        "secondary": "#334e68",
        "accent": "#0055ff",
    }
    assert found(outcome, "sources", "colors.background") == "computed:body.home"
    assert found(outcome, "sources", "components.buttonPrimary.background") == (
        "computed:a.btn.btn-primary"
    )
    assert found(outcome, "typography", "fontSizes") == {"h1": "48px", "body": "18px"}
    assert (site.hits("/brand-css"), outcome.warning) == (1, None)


async def test_a_page_without_a_background_is_as_light_as_its_window(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(branding(site, "/article", Mode.DYNAMIC))
    assert found(outcome, "colorScheme") == "light"
    assert found(outcome, "colors") == {
        "background": "#ffffff",
        "textPrimary": "#000000",
        "link": "#0000ee",
    }
    assert found(outcome, "sources", "colorScheme") == "computed:canvas"


async def test_a_page_that_breaks_its_own_scripts_is_sampled_all_the_same(
    app: App, site: Site
) -> None:
    outcome = await app.scrape.scrape(branding(site, "/broken-globals", Mode.DYNAMIC))
    assert found(outcome, "sources", "colors.textPrimary") == "computed:p"


async def test_a_kept_page_keeps_its_branding(app: App, site: Site) -> None:
    first = await app.scrape.scrape(branding(site, "/brand"))
    second = await app.scrape.scrape(branding(site, "/brand"))
    assert second.cached
    assert second.document.content.branding == first.document.content.branding


async def test_style_sheets_pass_the_same_guard_as_pages(
    app: App, site: Site, canary: Canary
) -> None:
    request = branding(site, f"/styled?sheet=http://127.0.0.1:{canary.port}/x.css")
    outcome = await app.scrape.scrape(request)
    assert not canary.was_reached()
    assert outcome.warning is not None
    assert "1 of the page's 1 style sheets" in outcome.warning


@pytest.mark.parametrize(("host", "is_sent"), [("127.0.0.1", True), ("site.test", False)])
async def test_headers_go_to_the_pages_own_site_alone(
    app: App, site: Site, host: str, is_sent: bool
) -> None:
    request = branding(site, f"/styled?sheet=http://{host}:{site.port}/brand-css")
    await app.scrape.scrape(replace(request, headers=(("X-Token", "secret"),)))
    assert ("x-token" in site.pages.headers["/brand-css"]) is is_sent


async def test_a_style_sheet_that_does_not_come_is_not_waited_for(app: App, site: Site) -> None:
    request = replace(branding(site, "/styled?sheet=/silent"), timeout_ms=8_000)
    outcome = await app.scrape.scrape(request)
    assert outcome.warning is not None
    assert found(outcome) == {}


async def test_what_is_no_style_sheet_is_not_taken_for_one(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(branding(site, "/styled?sheet=/article"))
    assert outcome.warning is not None


async def test_a_file_has_no_branding(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(branding(site, "/image"))
    assert outcome.document.media is not None
    assert outcome.document.content.branding is None


class _NoFetcher:
    """Fetches nothing: a page that a browser rendered needs no style sheets."""

    name = "none"

    async def fetch(self, task: FetchTask) -> FetchedPage:
        raise AssertionError(task.url)


async def test_a_look_that_nobody_is_free_to_read_is_left_out_with_a_warning() -> None:
    page = FetchedPage(
        url="https://example.com/",
        final_url="https://example.com/",
        status_code=200,
        headers={"content-type": "text/html"},
        body=b"<p>" + b"<b>x</b>" * 200_000,
        source=FetchSource.BROWSER,
        strategy="browser",
        style_samples={},
    )
    async with overloaded_sandbox() as busy:
        brand = await BrandReader(_NoFetcher(), busy).read(page, ScrapeRequest(url=page.url))
    assert brand.branding == {}
    assert "could not be read: Too many" in brand.warnings[0]


NAV = '<nav><a href="/home">Home</a></nav><main><p>Rake the ash. ü</p></main>'


@pytest.fixture
async def sandbox() -> AsyncIterator[ExtractionSandbox]:
    async with ExtractionSandbox(1, 10, 1024 * 1024 * 1024) as opened:
        yield opened


def page_with(*actions: ActionResult) -> FetchedPage:
    return FetchedPage(
        url="https://example.com/",
        final_url="https://example.com/fire/",
        status_code=200,
        headers={"content-type": "text/html; charset=latin-1"},
        body=b"<p>The page</p>",
        source=FetchSource.BROWSER,
        strategy="browser",
        actions=actions,
    )


async def test_scraped_html_gets_its_markdown_all_of_it(sandbox: ExtractionSandbox) -> None:
    click = ActionResult(type=ActionType.CLICK, message="Clicked")
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=NAV)
    kept, converted = await convert_scraped(
        page_with(click, scraped), sandbox, remove_base64_images=True
    )
    assert kept == click
    assert converted.html == NAV
    assert (converted.markdown or "").split() == [
        *("[Home](https://example.com/home)", "Rake", "the", "ash.", "ü")
    ]
    assert unconverted_warnings((kept, converted)) == ()


async def test_html_beyond_the_sandbox_stays_as_it_is_with_a_warning() -> None:
    html = "<p>" + "<b>x</b>" * 200_000
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=html)
    async with ExtractionSandbox(1, 0.001, 1024 * 1024 * 1024) as hurried:
        actions = await convert_scraped(page_with(scraped), hurried, remove_base64_images=True)
    assert actions == (scraped,)
    assert len(unconverted_warnings(actions)) == 1


async def test_html_that_nobody_is_free_to_convert_stays_as_it_is_with_a_warning() -> None:
    html = "<p>" + "<b>x</b>" * 200_000
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=html)
    async with overloaded_sandbox() as busy:
        actions = await convert_scraped(page_with(scraped), busy, remove_base64_images=True)
    assert actions == (scraped,)
    assert len(unconverted_warnings(actions)) == 1


async def test_a_page_without_actions_needs_no_sandbox(sandbox: ExtractionSandbox) -> None:
    assert await convert_scraped(page_with(), sandbox, remove_base64_images=True) == ()


PAGE = FetchedPage(
    url="https://fires.example/a.pdf",
    final_url="https://fires.example/a.pdf",
    status_code=200,
    headers={"content-type": "application/pdf"},
    body=b"%PDF-1.7",
    source=FetchSource.NATIVE,
    strategy="static",
)


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [(None, VerdictKind.PARTIAL), (9, VerdictKind.PARTIAL), (2, VerdictKind.OK)],
)
async def test_pages_that_only_a_setting_leaves_out_make_it_partial(
    settings: Settings, site: Site, asked: int | None, verdict: VerdictKind
) -> None:
    scrape = settings.scrape.model_copy(update={"pdf_max_pages": 3})
    request = ScrapeRequest(
        url=site.url("/document?name=handbook.pdf"),
        formats=(Format.MARKDOWN,),
        content=ContentOptions(pdf_parser=PdfParser(max_pages=asked)),
    )
    async with open_app(settings.model_copy(update={"scrape": scrape})) as app:
        outcome = await app.scrape.scrape(request)
    assert outcome.document.verdict.kind is verdict
    assert "Of 30 pages" in (outcome.warning or "")


def test_a_limit_a_cut_and_no_text_are_told_apart() -> None:
    assert judge_pdf(PAGE, Extraction()).kind is VerdictKind.OK
    assert judge_pdf(PAGE, Extraction(is_partial=True)).kind is VerdictKind.PARTIAL
    assert judge_pdf(PAGE, Extraction(empty_evidence="no text")).kind is VerdictKind.EMPTY
    cut = judge_pdf(replace(PAGE, is_cut=True), Extraction(empty_evidence="no text"))
    assert (cut.kind, cut.evidence) == (VerdictKind.PARTIAL, "the file broke off after 8 bytes")


def test_who_asks_for_the_file_alone_is_told_nothing() -> None:
    raw = ScrapeRequest(url=PAGE.url, formats=(Format.RAW_HTML,))
    assert missing_format_warnings(PAGE, raw, is_parsed=False) == ()
    uncleaned = ScrapeRequest(
        url=PAGE.url, formats=(Format.MARKDOWN,), content=ContentOptions(clean=False)
    )
    assert missing_format_warnings(PAGE, uncleaned, is_parsed=False) == ()


def test_a_parser_is_not_advised_for_what_it_cannot_make() -> None:
    request = ScrapeRequest(url=PAGE.url, formats=(Format.BRANDING,))
    (warning,) = missing_format_warnings(PAGE, request, is_parsed=False)
    assert warning == "The PDF is handed through as the file it is, without branding."
