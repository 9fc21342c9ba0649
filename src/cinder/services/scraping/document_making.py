"""Making documents of fetched pages: content, pictures, actions, and a verdict on it all."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cinder.errors import Unsupported
from cinder.extract.options import ExtractOptions
from cinder.fetch.media import PDF_TYPE, UNNAMED_TYPE, media_type, safe_type
from cinder.fetch.verdicts.verdict import judge
from cinder.model.document import Document, Extraction, FetchedPage, Json, Media
from cinder.model.request import Format, ScrapeRequest
from cinder.services.sandbox.sandbox import Sandboxes
from cinder.services.scraping.action_results import convert_scraped, unconverted_warnings
from cinder.services.scraping.branding import BrandReader
from cinder.services.scraping.pdf_documents import (
    is_pdf_to_parse,
    judge_pdf,
    read_of_cut_pdf,
    unmade_warnings,
)
from cinder.shares import Claimant


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


class DocumentMaker:
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
        self, page: FetchedPage, request: ScrapeRequest, started: float, who: Claimant
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
                    *unmade_warnings(page, request, is_parsed=is_parsed),
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
        self, page: FetchedPage, request: ScrapeRequest, who: Claimant, *, is_pdf: bool
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
