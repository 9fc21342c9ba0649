"""Reading results: the pages that a deep search found, scraped side by side."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from cinder.errors import CinderError
from cinder.model.document import VerdictKind
from cinder.model.request import ContentOptions, Mode, PdfParser, RenderOptions, ScrapeRequest
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.search.fusion import Candidate
from cinder.services.search.page_scoring import PageText
from cinder.shares import Claimant, FairPlaces

_READABLE = (VerdictKind.OK, VerdictKind.PARTIAL)


class Scraper(Protocol):
    """Scrapes a URL; `ScrapeService` does."""

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return a URL's content.

        Raises:
            CinderError: it could not be had.
        """
        ...


class ResultReader:
    """Reads the pages of candidates, so many at once for all searches together."""

    def __init__(self, scraper: Scraper, *, at_once: int = 16) -> None:
        self._scraper = scraper
        self._slots = FairPlaces(at_once)

    async def read(
        self, candidates: Sequence[Candidate], caller: str, until: float
    ) -> dict[str, PageText]:
        """Return what could be read by a moment of the loop's clock, by the candidates' ids."""
        async with asyncio.TaskGroup() as tasks:
            reading = {
                each.address.id: tasks.create_task(self._read(each.address.url, caller, until))
                for each in candidates
            }
        pages = {name: task.result() for name, task in reading.items()}
        return {name: page for name, page in pages.items() if page is not None}

    async def _read(self, url: str, caller: str, until: float) -> PageText | None:
        try:
            who = Claimant(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(url, caller, left))
        except (TimeoutError, CinderError):
            return None  # the search goes on by what the providers said of it
        document = outcome.document
        if document.verdict.kind not in _READABLE or not document.content.markdown:
            return None
        return PageText(
            markdown=document.content.markdown,
            title=document.content.metadata.title or "",
            final_url=document.final_url,
            published_at=read_date(document.content.metadata.published),
        )


def page_request(url: str, caller: str, seconds: float, mode: Mode = Mode.SMART) -> ScrapeRequest:
    """Return the request for a result's page: the same that `cinder_scrape` would make of it.

    So whoever reads the page after the search has it from the cache.
    """
    return ScrapeRequest(
        url=url,
        timeout_ms=max(1, round(seconds * 1000)),
        content=ContentOptions(pdf_parser=PdfParser()),
        render=RenderOptions(mode=mode),
        caller=caller,
        keep_http_errors=True,
    )


def read_date(text: str | None) -> datetime | None:
    """Return the moment that a page's date means; None where it means none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
