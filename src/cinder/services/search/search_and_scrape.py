"""Search and scrape: the first results of a search with their pages, within one deadline."""

import asyncio
from dataclasses import dataclass, replace

from cinder.errors import CinderError, ScrapeTimeout
from cinder.model.request import Mode
from cinder.model.search import SearchAnswer, SearchRequest, SearchResult
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.search.result_reader import Scraper, page_request
from cinder.services.search.service import SearchService
from cinder.shares import Claimant, FairPlaces

SCRAPE_SECONDS = 40.0
MAX_PAGES = 20

# For all searches together.
_AT_ONCE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedResult:
    """A result with its page, or with what kept it from being had."""

    result: SearchResult
    outcome: ScrapeOutcome | None = None
    error: CinderError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedSearch:
    """A search's answer, and the pages of its results in the same order."""

    answer: SearchAnswer
    pages: tuple[ScrapedResult, ...]


class SearchAndScrape:
    """Searches, and scrapes what was found."""

    def __init__(self, search: SearchService, scraper: Scraper) -> None:
        self._search = search
        self._scraper = scraper
        self._slots = FairPlaces(_AT_ONCE)

    async def run(
        self, request: SearchRequest, mode: Mode, *, seconds: float = SCRAPE_SECONDS
    ) -> ScrapedSearch:
        """Return the results with their pages; what could not be had by then says why.

        Raises:
            InvalidRequest, Overloaded, SearchFailed: the search did.
        """
        request = replace(request, num_results=min(request.num_results, MAX_PAGES))
        answer = await self._search.search(request)
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as tasks:
            scraping = [
                tasks.create_task(self._scrape(result, request.caller, mode, until))
                for result in answer.results
            ]
        return ScrapedSearch(answer=answer, pages=tuple(task.result() for task in scraping))

    async def _scrape(
        self, result: SearchResult, caller: str, mode: Mode, until: float
    ) -> ScrapedResult:
        try:
            who = Claimant(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(result.url, caller, left, mode))
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=result.url)
            return ScrapedResult(result=result, error=late)
        except CinderError as error:
            return ScrapedResult(result=result, error=error)
        return ScrapedResult(result=result, outcome=outcome)
