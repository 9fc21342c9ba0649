"""Scrapes the source pages of an extraction."""

import asyncio

from cinder.errors import CinderError, ScrapeTimeout
from cinder.fair_queue import FairQueue, Requester
from cinder.models.document import Verdict, VerdictKind
from cinder.models.extraction import ExtractRequest, PageSource
from cinder.models.request import ContentOptions, Format, PdfParser, RenderOptions, ScrapeRequest
from cinder.models.saved import SavedKind
from cinder.services.extraction.stages import SourcePage, page_of
from cinder.services.scraping.outcome import Scraper

# Pages with these verdicts do not have the requested content.
_OTHER_PAGES = frozenset((VerdictKind.LOGIN_WALL, VerdictKind.CONSENT_ONLY, VerdictKind.SOFT_404))
_MAX_SCRAPE_SECONDS = 60.0
_MAX_ERROR_CHARS = 300


class PageScraper:
    """Scrapes the pages of extractions, with one limit for all of them together."""

    def __init__(self, scraper: Scraper, at_once: int) -> None:
        self._scraper = scraper
        self._slots = FairQueue(at_once)

    async def read(self, request: ExtractRequest, seconds: float) -> list[SourcePage]:
        """Return the page of each URL, or why it failed."""
        limit = min(seconds, _MAX_SCRAPE_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            reads = [tasks.create_task(self._read(url, request, limit)) for url in request.urls]
        return [task.result() for task in reads]

    async def _read(self, url: str, request: ExtractRequest, seconds: float) -> SourcePage:
        # The same options as in the tools that read a page, so that they share the cached copy.
        scrape_request = ScrapeRequest(
            url=url,
            formats=(Format.MARKDOWN,),
            timeout_ms=max(1, round(seconds * 1000)),
            cache=request.cache,
            content=ContentOptions(pdf_parser=PdfParser()),
            render=RenderOptions(mode=request.mode),
            caller=request.caller,
        )
        try:
            requester = Requester(caller=request.caller)
            async with asyncio.timeout(seconds), self._slots.hold(requester):
                outcome = await self._scraper.scrape(scrape_request)
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=url)
            return _failed(url, late)
        except CinderError as error:
            return _failed(url, error)
        document, verdict = outcome.document, outcome.document.verdict
        uris = outcome.saved.uris if outcome.saved else {}
        refusal = None
        if document.media is not None:
            refusal = f"It is a file, {document.media.mime}, without text to extract from."
        elif verdict.kind in _OTHER_PAGES:
            refusal = f"It is not the page that was asked for: {verdict.kind} ({verdict.evidence})."
        source = PageSource(
            url=url,
            final_url=document.final_url,
            title=document.content.metadata.title,
            verdict=verdict,
            uri=uris.get(SavedKind.CLEANED),
            page_uri=uris.get(SavedKind.RAW),
            error=refusal,
        )
        return SourcePage(source, None if refusal else page_of(document))


def _failed(url: str, error: CinderError) -> SourcePage:
    verdict = Verdict(VerdictKind(error.verdict)) if error.verdict else None
    return SourcePage(
        PageSource(
            url=url, verdict=verdict, error=f"{error.code}: {error.message[:_MAX_ERROR_CHARS]}"
        )
    )
