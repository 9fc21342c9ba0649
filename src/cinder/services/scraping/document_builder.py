"""Builds documents from fetched pages: content, PDFs, action results, branding and the verdict."""

import asyncio
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from cinder.errors import CinderError, Overloaded, ParseLimitExceeded, Unsupported
from cinder.fair_queue import Requester
from cinder.fetch.base import Fetcher, FetchTask
from cinder.fetch.responses import PDF_TYPE, UNNAMED_TYPE, is_pdf, media_type, safe_type
from cinder.models.document import (
    ActionResult,
    Document,
    Extraction,
    FetchedPage,
    FetchSource,
    Json,
    Media,
    StoredForm,
    Verdict,
    VerdictKind,
)
from cinder.models.http import read_retry_after
from cinder.models.request import (
    ContentOptions,
    ExtractOptions,
    Format,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.models.url import origin_of
from cinder.sandbox.sandbox import ExtractionSandbox, Sandboxes
from cinder.services.scraping.cache_key import kept_formats
from cinder.verdicts.verdict import judge


async def convert_scraped(
    page: FetchedPage, sandbox: ExtractionSandbox, *, remove_base64_images: bool
) -> tuple[ActionResult, ...]:
    """Return a page's action results, with markdown for scraped HTML.

    HTML that cannot be converted within the sandbox's limits gets none.
    """
    # The HTML of a scrape action is content, even if it looks like navigation.
    options = ExtractOptions(
        formats=(Format.MARKDOWN,),
        content=ContentOptions(only_main_content=False),
        strip_chrome_tags=False,
        remove_base64_images=remove_base64_images,
    )
    results = []
    for result in page.actions:
        if result.html is not None:
            scraped = replace(
                page,
                body=result.html.encode(errors="replace"),
                headers={"content-type": "text/html; charset=utf-8"},
            )
            with suppress(Overloaded, ParseLimitExceeded):
                content = await sandbox.extract(scraped, options)
                if not content.is_partial:
                    result = replace(result, markdown=content.markdown)  # noqa: PLW2901 - the same result
        results.append(result)
    return tuple(results)


def unconverted_warnings(actions: Iterable[ActionResult]) -> tuple[str, ...]:
    """Return a warning if some scraped HTML could not be converted to markdown."""
    left = sum(result.html is not None and result.markdown is None for result in actions)
    return (
        (f"The HTML of {left} scrape action(s) could not be turned to markdown.",) if left else ()
    )


MAX_SHEETS = 20
MAX_SHEET_BYTES = 1_500_000
_MAX_AT_ONCE = 4
_MAX_SECONDS = 10.0
_MAX_ROBOTS_CHARS = 1_000
# The share of a request's time for style sheets: the page is returned even if they do not load.
_SHARE_OF_TIME = 0.25
_BRANDING_ADVICE = "Mode 'dynamic' reads computed styles in a browser instead."

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """A page's branding, and the warnings about it."""

    branding: Mapping[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class BrandReader:
    """Reads the branding of fetched pages."""

    def __init__(self, fetcher: Fetcher, sandbox: ExtractionSandbox) -> None:
        self._fetcher = fetcher
        self._sandbox = sandbox

    async def read(self, page: FetchedPage, request: ScrapeRequest) -> Brand:
        """Return a page's branding; one that cannot be read is empty, with a warning."""
        try:
            # A browser has applied the style sheets already.
            urls = (
                [] if page.style_samples is not None else await self._sandbox.find_stylesheets(page)
            )
            sheets = await self._fetch_sheets(urls[:MAX_SHEETS], page, request)
            branding = await self._sandbox.read_branding(page, sheets)
        except (Overloaded, ParseLimitExceeded) as error:
            return Brand(warnings=(f"The branding could not be read: {error.message}",))
        unread = len(urls) - len(sheets)
        warning = (
            f"{unread} of the page's {len(urls)} style sheets could not be read: the "
            f"branding may lack what they say. {_BRANDING_ADVICE}"
        )
        return Brand(branding=branding, warnings=(warning,) if unread else ())

    async def _fetch_sheets(
        self, urls: Sequence[str], page: FetchedPage, request: ScrapeRequest
    ) -> list[str]:
        seconds = min(_MAX_SECONDS, request.timeout_ms / 1000 * _SHARE_OF_TIME)
        deadline = asyncio.get_running_loop().time() + seconds
        slots = asyncio.Semaphore(_MAX_AT_ONCE)
        origin = origin_of(request.url)
        is_same_origin = origin_of(page.final_url) == origin

        async def fetch(url: str) -> str | None:
            # The caller's headers are sent only to the origin that they requested.
            headers = request.headers if is_same_origin and origin_of(url) == origin else ()
            task = FetchTask(
                url=url,
                timeout_seconds=_MAX_SECONDS,
                headers=headers,
                caller=request.caller,
                render=RenderOptions(proxy_pool=request.render.proxy_pool),
            )
            try:
                async with asyncio.timeout_at(deadline), slots:
                    sheet = await self._fetcher.fetch(task)
            except (CinderError, TimeoutError) as error:
                log.info("style sheet not read", url=url, reason=str(error) or "timeout")
                return None
            is_css = sheet.status_code == 200 and sheet.content_type in ("text/css", "")
            return sheet.body[:MAX_SHEET_BYTES].decode(errors="replace") if is_css else None

        async with asyncio.TaskGroup() as fetches:
            tasks = [fetches.create_task(fetch(url)) for url in urls]
        return [sheet for task in tasks if (sheet := task.result()) is not None]


_MADE_OF_PDF = (
    Format.MARKDOWN,
    Format.HTML,
    Format.LINKS,
    Format.LINKS_DETAIL,
    Format.IMAGES,
    Format.SUMMARY,
    Format.CHANGE_TRACKING,
)
_SERVED_BY_FILE = (Format.RAW_HTML,)
# The formats that need nothing but the HTML of a page.
_DERIVED_FORMATS = frozenset(
    (
        *(Format.MARKDOWN, Format.HTML, Format.RAW_HTML),
        *(Format.LINKS, Format.LINKS_DETAIL, Format.IMAGES, Format.SUMMARY),
    )
)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_SCREENSHOTS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)


def is_pdf_to_parse(page: FetchedPage, request: ScrapeRequest) -> bool:
    """Whether a response is a PDF whose text the request needs.

    Requests for the original, or only for formats that a PDF does not have, get the file itself.
    """
    if request.content.pdf_parser is None or not request.content.clean:
        return False
    return any(name in _MADE_OF_PDF for name in request.formats) and _is_pdf_file(page)


def judge_pdf(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a parsed PDF; a file has no signs of login walls or shells."""
    if page.is_cut:
        return Verdict(VerdictKind.PARTIAL, f"the file broke off after {len(page.body)} bytes")
    if content is not None and content.empty_evidence:
        return Verdict(VerdictKind.EMPTY, content.empty_evidence)
    if content is not None and content.is_partial:
        evidence = "a limit cost some of the content: the warnings say which"
        return Verdict(VerdictKind.PARTIAL, evidence)
    return Verdict()


def read_of_cut_pdf(formats: tuple[Format, ...]) -> Extraction:
    """Return the content of a PDF that is so incomplete that it cannot be parsed."""
    return Extraction(
        markdown="",
        html="" if Format.HTML in formats else None,
        links=() if Format.LINKS in formats else None,
        links_detail=() if Format.LINKS_DETAIL in formats else None,
        images=() if Format.IMAGES in formats else None,
        is_partial=True,
        warnings=("The connection broke off, and what came of the PDF cannot be read.",),
    )


def missing_format_warnings(
    page: FetchedPage, request: ScrapeRequest, *, is_parsed: bool
) -> tuple[str, ...]:
    """Return a warning about requested formats that a PDF lacks, and how to get them."""
    if not request.content.clean or not _is_pdf_file(page):
        return ()
    made = _MADE_OF_PDF if is_parsed else _SERVED_BY_FILE
    seen = _SCREENSHOTS if is_parsed and page.screenshot is not None else ()
    lacking = [name for name in kept_formats(request.formats) if name not in (*made, *seen)]
    if not lacking:
        return ()
    names = ", ".join(map(str, lacking))
    if is_parsed:
        return (f"A PDF has no {names}; the file itself is kept as its raw body.",)
    warning = f"The PDF is handed through as the file it is, without {names}."
    if request.content.pdf_parser is None and any(name in _MADE_OF_PDF for name in lacking):
        warning += ' Add parsers: [{"type": "pdf"}] for its text.'
    return (warning,)


def _is_pdf_file(page: FetchedPage) -> bool:
    return page.status_code < 300 and bool(page.body) and is_pdf(page)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentDefaults:
    """The owner's settings for all pages."""

    strip_chrome_tags: bool = True
    remove_base64_images: bool = True
    retention: timedelta = timedelta(days=30)
    pdf_max_pages: int = 200

    def describe(self) -> dict[str, Json]:
        """Return the settings that change a page's content."""
        return {
            "stripChromeTags": self.strip_chrome_tags,
            "removeBase64Images": self.remove_base64_images,
            "pdfMaxPages": self.pdf_max_pages,
        }


class DocumentBuilder:
    """Turns fetched pages into documents, in the sandboxes."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        brands: BrandReader,
        defaults: ContentDefaults,
        clock: Callable[[], datetime],
        *,
        stored_form: StoredForm | None = None,
    ) -> None:
        self._stored_form = stored_form
        self._sandbox = sandboxes.pages
        self._pdf_sandbox = sandboxes.pdfs
        self._brands = brands
        self._defaults = defaults
        self._clock = clock

    async def make(
        self, page: FetchedPage, request: ScrapeRequest, started: float, who: Requester
    ) -> Document:
        """Return the document of a fetched page; `started` is when the scrape began."""
        is_parsed = is_pdf_to_parse(page, request)
        mime = None if is_parsed else media_type(page)
        content = None if mime else await self._extract(page, request, who, is_pdf=is_parsed)
        if content is not None and content.text is None and not is_parsed:
            # Bytes that are not text are a file, whatever their content type.
            content, mime = None, safe_type(page) or UNNAMED_TYPE
        has_brand = content is not None and not is_parsed and page.status_code < 400
        if content is not None and has_brand and Format.BRANDING in request.formats:
            brand = await self._brands.read(page, request)
            content = with_warnings(replace(content, branding=brand.branding), brand.warnings)
        actions = await convert_scraped(
            page, self._sandbox, remove_base64_images=self._defaults.remove_base64_images
        )
        return Document(
            url=request.url,
            final_url=page.final_url,
            status_code=page.status_code,
            source=page.source,
            strategy=page.strategy,
            content_type=PDF_TYPE if is_parsed else mime or page.content_type or "text/html",
            scraped_at=self._clock(),
            load_time_ms=round((time.monotonic() - started) * 1000),
            proxy_pool=request.render.proxy_pool,
            content=with_warnings(
                with_robots_header(content or Extraction(), page),
                (
                    *page.warnings,
                    *unconverted_warnings(actions),
                    *missing_format_warnings(page, request, is_parsed=is_parsed),
                ),
            ),
            media=Media(mime, page.body) if mime else None,
            original=Media(PDF_TYPE, page.body) if is_parsed else None,
            screenshot=None if mime else page.screenshot,
            actions=actions,
            verdict=judge_pdf(page, content) if is_parsed else judge(page, content),
            is_cut=page.is_cut,
            validators=page.validators,
            retry_after_seconds=_retry_after(page, self._clock()),
        )

    async def derive(
        self, saved: Document, request: ScrapeRequest, who: Requester
    ) -> Document | None:
        """Return a saved page with the formats of another request; None if it must be fetched.

        A rendered page is fetched again: which parts of it are hidden is not saved.
        """
        html = saved.content.text
        if (
            html is None
            or saved.source is not FetchSource.NATIVE
            or saved.content_type not in _HTML_TYPES
            or not set(request.formats) <= _DERIVED_FORMATS
            or request.wants_data
            or request.render.actions
        ):
            return None
        page = FetchedPage(
            url=request.url,
            final_url=saved.final_url,
            status_code=saved.status_code,
            headers={"content-type": f"{saved.content_type}; charset=utf-8"},
            body=html.encode(errors="replace"),
            source=saved.source,
            strategy=saved.strategy,
        )
        with suppress(Overloaded, ParseLimitExceeded):
            content = await self._extract(page, request, who, is_pdf=False)
            if not content.is_partial and not content.is_out_of_time:
                # The header is not saved, but what it said is.
                robots = saved.content.metadata.robots
                content = replace(content, metadata=replace(content.metadata, robots=robots))
                return replace(saved, url=request.url, content=content, extracted=None)
        return None

    async def _extract(
        self, page: FetchedPage, request: ScrapeRequest, who: Requester, *, is_pdf: bool
    ) -> Extraction:
        formats, parser = request.formats, request.content.pdf_parser
        if request.wants_data and Format.MARKDOWN not in formats:
            formats = (*formats, Format.MARKDOWN)  # the extracted data quotes it
        options = ExtractOptions(
            formats=formats,
            content=request.content,
            strip_chrome_tags=self._defaults.strip_chrome_tags,
            remove_base64_images=self._defaults.remove_base64_images,
        )
        if not is_pdf or parser is None:
            is_saved = request.result_handling is not ResultHandling.RETURN_ONLY
            form = self._stored_form if is_saved and page.status_code < 400 else None
            return await self._sandbox.extract(page, options, who, stored_form=form)
        asked, most = parser.max_pages or sys.maxsize, self._defaults.pdf_max_pages
        try:
            content = await self._pdf_sandbox.extract_pdf(page, options, min(asked, most), who)
        except Unsupported:
            if page.is_cut:
                return read_of_cut_pdf(request.formats)
            raise
        # A PDF that is cut by the request's own limit counts as complete.
        has_too_many = min(asked, content.metadata.page_count or 0) > most
        return replace(content, is_partial=True) if has_too_many else content


def _retry_after(page: FetchedPage, now: datetime) -> int | None:
    """Return the whole seconds after which a server that sent an error may be asked again."""
    if page.status_code < 400:
        return None
    seconds = read_retry_after(page.headers.get("retry-after", ""), now)
    return None if seconds is None or math.isinf(seconds) else math.ceil(seconds)


def with_robots_header(content: Extraction, page: FetchedPage) -> Extraction:
    """Return content whose robots directives include those of the response's header."""
    header = page.headers.get("x-robots-tag")
    if not header:
        return content
    robots = "; ".join(filter(None, (content.metadata.robots, header[:_MAX_ROBOTS_CHARS])))
    return replace(content, metadata=replace(content.metadata, robots=robots))


def with_warnings(content: Extraction, warnings: tuple[str, ...]) -> Extraction:
    """Return content with additional warnings."""
    return replace(content, warnings=(*content.warnings, *warnings)) if warnings else content
