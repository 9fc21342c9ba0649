"""Builds documents from fetched pages: content, PDFs, action results, branding and the verdict."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    Json,
    Media,
    Verdict,
    VerdictKind,
)
from cinder.models.request import ContentOptions, ExtractOptions, Format, ScrapeRequest
from cinder.models.url import origin_of
from cinder.sandbox.sandbox import ExtractionSandbox, Sandboxes
from cinder.services.scraping.cache_key import kept_formats
from cinder.verdicts.verdict import judge


async def convert_scraped(
    page: FetchedPage, sandbox: ExtractionSandbox, *, remove_base64_images: bool
) -> tuple[ActionResult, ...]:
    """Return a page's action results, those that scraped HTML with the markdown made of it.

    HTML that cannot be converted within the sandbox's limits stays as it is.
    """
    # What a caller scrapes by an action is the content, whatever it looks like.
    options = ExtractOptions(
        formats=(Format.MARKDOWN,),
        content=ContentOptions(only_main_content=False),
        strip_chrome_tags=False,
        remove_base64_images=remove_base64_images,
    )
    return tuple([await _converted(result, page, sandbox, options) for result in page.actions])


def unconverted_warnings(actions: Iterable[ActionResult]) -> tuple[str, ...]:
    """Return a sentence on the scraped HTML of which no markdown could be made."""
    left = sum(result.html is not None and result.markdown is None for result in actions)
    return (
        (f"The HTML of {left} scrape action(s) could not be turned to markdown.",) if left else ()
    )


async def _converted(
    result: ActionResult, page: FetchedPage, sandbox: ExtractionSandbox, options: ExtractOptions
) -> ActionResult:
    if result.html is None:
        return result
    scraped = replace(
        page,
        body=result.html.encode(errors="replace"),
        headers={"content-type": "text/html; charset=utf-8"},
    )
    try:
        content = await sandbox.extract(scraped, options)
    except (Overloaded, ParseLimitExceeded):
        return result
    return result if content.is_partial else replace(result, markdown=content.markdown)


MAX_SHEETS = 20
MAX_SHEET_BYTES = 1_500_000
_MAX_AT_ONCE = 4
_MAX_SECONDS = 10.0
# Of a request's time: a page whose style sheets do not come is still to be answered.
_SHARE_OF_TIME = 0.25
_BRANDING_ADVICE = "Mode 'dynamic' reads computed styles in a browser instead."

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """A page's branding, and what the reader should know of how it was read."""

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
            sheets, warnings = await self._sheets(page, request)
            branding = await self._sandbox.read_branding(page, sheets)
        except (Overloaded, ParseLimitExceeded) as error:
            return Brand(warnings=(f"The branding could not be read: {error.message}",))
        return Brand(branding=branding, warnings=warnings)

    async def _sheets(
        self, page: FetchedPage, request: ScrapeRequest
    ) -> tuple[list[str], tuple[str, ...]]:
        """Return the style sheets that the page links to, unless a browser has applied them."""
        if page.style_samples is not None:
            return [], ()
        addresses = await self._sandbox.find_stylesheets(page)
        seconds = min(_MAX_SECONDS, request.timeout_ms / 1000 * _SHARE_OF_TIME)
        deadline = asyncio.get_running_loop().time() + seconds
        turns = asyncio.Semaphore(_MAX_AT_ONCE)
        async with asyncio.TaskGroup() as fetches:
            tasks = [
                fetches.create_task(self._fetch_in_turn(turns, task, deadline))
                for task in self._tasks(addresses[:MAX_SHEETS], page, request)
            ]
        sheets = [sheet for task in tasks if (sheet := task.result()) is not None]
        unread = len(addresses) - len(sheets)
        warning = (
            f"{unread} of the page's {len(addresses)} style sheets could not be read: the "
            f"branding may lack what they say. {_BRANDING_ADVICE}"
        )
        return sheets, (warning,) if unread else ()

    def _tasks(
        self, addresses: Sequence[str], page: FetchedPage, request: ScrapeRequest
    ) -> list[FetchTask]:
        home = origin_of(request.url)
        is_home = origin_of(page.final_url) == home
        return [
            FetchTask(
                url=address,
                timeout_seconds=_MAX_SECONDS,
                # What the caller sends along is meant for the page's own site.
                headers=request.headers if is_home and origin_of(address) == home else (),
                caller=request.caller,
            )
            for address in addresses
        ]

    async def _fetch_in_turn(
        self, turns: asyncio.Semaphore, task: FetchTask, deadline: float
    ) -> str | None:
        try:
            async with asyncio.timeout_at(deadline), turns:
                sheet = await self._fetcher.fetch(task)
        except (CinderError, TimeoutError) as error:
            log.info("style sheet not read", url=task.url, reason=str(error) or "timeout")
            return None
        is_css = sheet.status_code == 200 and sheet.content_type in ("text/css", "")
        return sheet.body[:MAX_SHEET_BYTES].decode(errors="replace") if is_css else None


_MADE_OF_PDF = (
    Format.MARKDOWN,
    Format.HTML,
    Format.LINKS,
    Format.IMAGES,
    Format.SUMMARY,
    Format.CHANGE_TRACKING,
)
# What the file itself answers.
_SERVED_BY_FILE = (Format.RAW_HTML,)
_SCREENSHOTS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)


def is_pdf_to_parse(page: FetchedPage, request: ScrapeRequest) -> bool:
    """Whether an answer is a PDF of which the request wants text.

    One who wants nothing converted, or only what a PDF has none of, gets the file itself.
    """
    if request.content.pdf_parser is None or not request.content.clean:
        return False
    return any(wanted in _MADE_OF_PDF for wanted in request.formats) and _is_pdf_file(page)


def judge_pdf(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a parsed PDF; a file shows no signs of walls and shells."""
    if page.is_cut:
        return Verdict(VerdictKind.PARTIAL, f"the file broke off after {len(page.body)} bytes")
    if content is not None and content.empty_evidence:
        return Verdict(VerdictKind.EMPTY, content.empty_evidence)
    if content is not None and content.is_partial:
        evidence = "a limit cost some of the content: the warnings say which"
        return Verdict(VerdictKind.PARTIAL, evidence)
    return Verdict()


def read_of_cut_pdf(formats: tuple[Format, ...]) -> Extraction:
    """Return what there is of a PDF that broke off so early that nothing of it can be read."""
    return Extraction(
        markdown="",
        html="" if Format.HTML in formats else None,
        links=() if Format.LINKS in formats else None,
        images=() if Format.IMAGES in formats else None,
        is_partial=True,
        warnings=("The connection broke off, and what came of the PDF cannot be read.",),
    )


def missing_format_warnings(
    page: FetchedPage, request: ScrapeRequest, *, is_parsed: bool
) -> tuple[str, ...]:
    """Say which of the formats asked for a PDF's answer lacks, and how to get those there are."""
    if not request.content.clean or not _is_pdf_file(page):
        return ()
    made = _MADE_OF_PDF if is_parsed else _SERVED_BY_FILE
    seen = _SCREENSHOTS if is_parsed and page.screenshot is not None else ()
    wishes = kept_formats(request.formats)
    lacking = [wanted for wanted in wishes if wanted not in (*made, *seen)]
    if not lacking:
        return ()
    if is_parsed:
        return (f"A PDF has no {_join(lacking)}; the file itself is kept as its raw body.",)
    told = f"The PDF is handed through as the file it is, without {_join(lacking)}."
    can_be_made = request.content.pdf_parser is None and any(x in _MADE_OF_PDF for x in lacking)
    return (f'{told} Add parsers: [{{"type": "pdf"}}] for its text.' if can_be_made else told,)


def _is_pdf_file(page: FetchedPage) -> bool:
    return page.status_code < 300 and bool(page.body) and is_pdf(page)


def _join(formats: list[Format]) -> str:
    return ", ".join(map(str, formats))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentDefaults:
    """What the owner has set for all pages."""

    strip_chrome_tags: bool = True
    remove_base64_images: bool = True
    retention: timedelta = timedelta(days=30)
    pdf_max_pages: int = 200

    def describe(self) -> dict[str, Json]:
        """Return what of it changes a page's content."""
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
    ) -> None:
        self._sandbox = sandboxes.pages
        self._pdf_sandbox = sandboxes.pdfs
        self._brands = brands
        self._defaults = defaults
        self._clock = clock

    async def make(
        self, page: FetchedPage, request: ScrapeRequest, started: float, who: Requester
    ) -> Document:
        """Return what a fetched page is to its request; `started` is when work on it began."""
        is_parsed = is_pdf_to_parse(page, request)
        mime = None if is_parsed else media_type(page)
        content = None if mime else await self._extract(page, request, who, is_pdf=is_parsed)
        if content is not None and content.text is None and not is_parsed:
            # Bytes that are no text have no content to take out: a file, whatever it calls itself.
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
            content=with_warnings(
                content or Extraction(),
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
        )

    async def _extract(
        self, page: FetchedPage, request: ScrapeRequest, who: Requester, *, is_pdf: bool
    ) -> Extraction:
        options, parser = self._options(request), request.content.pdf_parser
        if not is_pdf or parser is None:
            return await self._sandbox.extract(page, options, who)
        asked, most = parser.max_pages or sys.maxsize, self._defaults.pdf_max_pages
        try:
            content = await self._pdf_sandbox.extract_pdf(page, options, min(asked, most), who)
        except Unsupported:
            if page.is_cut:
                return read_of_cut_pdf(request.formats)
            raise
        # Who asked for so many pages himself has them all.
        has_too_many = min(asked, content.metadata.page_count or 0) > most
        return replace(content, is_partial=True) if has_too_many else content

    def _options(self, request: ScrapeRequest) -> ExtractOptions:
        formats = request.formats
        if request.extract is not None and Format.MARKDOWN not in formats:
            # What is extracted is quoted from it.
            formats = (*formats, Format.MARKDOWN)
        return ExtractOptions(
            formats=formats,
            content=request.content,
            strip_chrome_tags=self._defaults.strip_chrome_tags,
            remove_base64_images=self._defaults.remove_base64_images,
        )


def with_warnings(content: Extraction, warnings: tuple[str, ...]) -> Extraction:
    """Return content with more to know before it is trusted."""
    return replace(content, warnings=(*content.warnings, *warnings)) if warnings else content
