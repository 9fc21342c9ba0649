"""Scrapes the source pages of an extraction."""

import asyncio
from typing import Protocol

from cinder.errors import CinderError, ScrapeTimeout
from cinder.fair_queue import FairQueue, Requester
from cinder.models.document import Document, Verdict, VerdictKind
from cinder.models.extraction import ExtractRequest, PageSource
from cinder.models.request import ContentOptions, Format, PdfParser, RenderOptions, ScrapeRequest
from cinder.models.saved import SavedKind
from cinder.services.extraction.stages import SourcePage, page_of
from cinder.services.scraping.outcome import ScrapeOutcome

# What such a page holds is not of what was asked for.
_OTHER_PAGES = frozenset((VerdictKind.LOGIN_WALL, VerdictKind.CONSENT_ONLY, VerdictKind.SOFT_404))
_MAX_SCRAPE_SECONDS = 60.0
_MAX_ERROR_CHARS = 300


class PageScrapeService(Protocol):
    """Scrapes a page."""

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return the page."""
        ...


class PageScraper:
    """Scrapes the pages of extractions, so many at once for all of them together."""

    def __init__(self, scraper: PageScrapeService, at_once: int) -> None:
        self._scraper = scraper
        self._slots = FairQueue(at_once)

    async def read(self, request: ExtractRequest, seconds: float) -> list[SourcePage]:
        """Return what came of each URL; one that failed says why, and the others go on."""
        limit = min(seconds, _MAX_SCRAPE_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            reading = [
                tasks.create_task(self._read_one(url, request, limit)) for url in request.urls
            ]
        return [task.result() for task in reading]

    async def _read_one(self, url: str, request: ExtractRequest, seconds: float) -> SourcePage:
        try:
            who = Requester(caller=request.caller)
            async with asyncio.timeout(seconds), self._slots.hold(who):
                outcome = await self._scraper.scrape(_scrape_request(url, request, seconds))
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=url)
            return _failed(url, late)
        except CinderError as error:
            return _failed(url, error)
        return _describe(url, outcome)


def _scrape_request(url: str, request: ExtractRequest, seconds: float) -> ScrapeRequest:
    # As the tools for reading a page ask for it, so that what one saved serves the others.
    return ScrapeRequest(
        url=url,
        formats=(Format.MARKDOWN,),
        timeout_ms=max(1, round(seconds * 1000)),
        cache=request.cache,
        content=ContentOptions(pdf_parser=PdfParser()),
        render=RenderOptions(mode=request.mode),
        caller=request.caller,
    )


def _failed(url: str, error: CinderError) -> SourcePage:
    verdict = Verdict(VerdictKind(error.verdict)) if error.verdict else None
    return SourcePage(
        PageSource(
            url=url, verdict=verdict, error=f"{error.code}: {error.message[:_MAX_ERROR_CHARS]}"
        )
    )


def _describe(url: str, outcome: ScrapeOutcome) -> SourcePage:
    document = outcome.document
    uris = outcome.saved.uris if outcome.saved else {}
    refusal = _refuse(document)
    source = PageSource(
        url=url,
        final_url=document.final_url,
        title=document.content.metadata.title,
        verdict=document.verdict,
        uri=uris.get(SavedKind.CLEANED),
        page_uri=uris.get(SavedKind.RAW),
        error=refusal,
    )
    return SourcePage(source, None if refusal else page_of(document))


def _refuse(document: Document) -> str | None:
    """Return why nothing is taken from a document; None where it is a page with content."""
    verdict = document.verdict
    if document.media is not None:
        return f"It is a file, {document.media.mime}, without text to extract from."
    if verdict.kind in _OTHER_PAGES:
        return f"It is not the page that was asked for: {verdict.kind} ({verdict.evidence})."
    return None
