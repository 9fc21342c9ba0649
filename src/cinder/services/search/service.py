"""The search service: answers searches from ranked lists, and scrapes the pages of results."""

import asyncio
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from cinder.errors import (
    CinderError,
    FieldProblem,
    InvalidRequest,
    Overloaded,
    ScrapeTimeout,
    SearchFailed,
)
from cinder.fair_queue import FairQueue, Requester
from cinder.metrics import Metrics
from cinder.models.request import Mode
from cinder.models.search import LOCAL, SearchAnswer, SearchMode, SearchRequest, SearchResult
from cinder.search.base import Provider, ProviderQuery
from cinder.services.scraping.outcome import ScrapeOutcome, Scraper
from cinder.services.search.fan_out import MODE_TIMES, ModeTimes, ProviderFanOut, SearchTiming
from cinder.services.search.providers import ProviderCaller
from cinder.services.search.query import read_query
from cinder.services.search.ranked_list import (
    MAX_RESULTS_HELD,
    ProviderCursor,
    RankedList,
    RankedListCache,
    ids_of,
)
from cinder.services.search.result_ranking import ResultRanker, page_request

_NO_PROVIDER = (
    "No web search provider is set up (setting search.providers): only pages that cinder has saved "
    "were searched."
)
_NONE_ANSWERED = "No web search provider answered: only pages that cinder has saved were searched."


def describe_warnings(
    ranked: RankedList, request: SearchRequest, *, is_cut_short: bool, was_lost: bool
) -> tuple[str, ...]:
    """Return the warnings of a response, in sentences."""
    web = [source for source in ranked.sources if source.provider.name != LOCAL]
    queried = [source for source in web if source.provider.name in ranked.reports]
    is_deep = request.mode is SearchMode.DEEP
    warnings = []
    if not web and LOCAL not in request.providers:
        warnings.append(_NO_PROVIDER)
    elif queried and not any(source.next_page for source in queried):
        warnings.append(_NONE_ANSWERED)
    if ranked.undated:
        advice = "" if is_deep else "; mode deep reads the date from the page"
        left_out = _count_results(ranked.undated)
        warnings.append(f"{left_out} left out by maxAge: nothing tells the date{advice}.")
    if request.filters.required_text:
        where = "the pages themselves" if is_deep else "titles, summaries and saved pages"
        warnings.append(f"requiredText was looked for in {where}.")
    if ranked.unread:
        advice = "could not be read" if is_deep else "mode deep reads it"
        left_out = _count_results(ranked.unread)
        warnings.append(f"{left_out} left out whose whole text was not checked: {advice}.")
    paging = _paging_warnings(ranked, request, is_cut_short=is_cut_short, was_lost=was_lost)
    return (*warnings, *paging)


def _paging_warnings(
    ranked: RankedList, request: SearchRequest, *, is_cut_short: bool, was_lost: bool
) -> Iterator[str]:
    if was_lost:
        yield (
            "Earlier pages of this search are not held any more, so it was repeated: results may "
            "repeat."
        )
    if is_cut_short and ranked.results[request.offset :] == []:
        yield "The time ran out before this page of results. Ask for it again to go on."
    elif is_cut_short:
        yield "Not every provider could be asked to the end: there may be more. Ask again to go on."
    if ranked.is_full and request.offset + request.num_results >= MAX_RESULTS_HELD:
        yield f"A search holds at most {MAX_RESULTS_HELD} results. Narrow the query to find others."


def _count_results(left_out: set[str]) -> str:
    return f"{len(left_out)} results were" if len(left_out) > 1 else "One result was"


# A list that is younger than this answers the same search again, even if it is outdated.
_FRESH_SECONDS = 10.0
_LEAST_PAGE, _MOST_PAGE = 20, 50
# How many pages of a provider one request may query, one after the other.
_MAX_ROUNDS = 20
_TOO_MANY = "Too many searches are running. Try again soon."


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """How many searches may run at once, and how long each may take."""

    searches_at_once: int = 16
    times: Mapping[SearchMode, ModeTimes] = field(default_factory=lambda: MODE_TIMES)


class SearchService:
    """Answers the searches of all surfaces."""

    def __init__(
        self,
        *,
        providers: Sequence[Provider],
        provider_caller: ProviderCaller,
        ranker: ResultRanker,
        cache: RankedListCache,
        metrics: Metrics,
        limits: SearchLimits | None = None,
    ) -> None:
        """Take the providers in the owner's order; the local one is among them."""
        self._providers = {provider.name: provider for provider in providers}
        self._provider_caller = provider_caller
        self._ranker = ranker
        self._cache = cache
        self._metrics = metrics
        limits = limits or SearchLimits()
        self._times = limits.times
        self._slots = FairQueue(limits.searches_at_once)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Return a page of results within the time of the request's mode.

        Raises:
            InvalidRequest: there is no such provider, or no query.
            Overloaded: too many searches are running.
            SearchFailed: no provider answered.
        """
        request = replace(request, query=read_query(request.query))
        unknown = [name for name in request.providers if name not in self._providers]
        if unknown:
            known = ", ".join(self._providers)
            message = f"There is no provider {unknown[0][:100]!r}. Known are: {known}"
            raise InvalidRequest(problems=(FieldProblem("providers", message),))
        names = dict.fromkeys(request.providers) or self._providers
        chosen = [self._providers[name] for name in names]
        started, outcome = time.monotonic(), "failed"
        try:
            answer = await self._search(request, chosen, started)
            outcome = "ok"
            return answer
        finally:
            seconds = time.monotonic() - started
            self._metrics.observe_search(request.mode, outcome, seconds)

    async def _search(
        self, request: SearchRequest, chosen: Sequence[Provider], started: float
    ) -> SearchAnswer:
        timing = SearchTiming.starting_now(self._times[request.mode])
        names = tuple(provider.name for provider in chosen)
        key = (request.caller, request.query, request.mode, request.filters, names)
        ranked, is_new = await self._find_list(key, request, chosen, timing)
        has_time = await self._extend(ranked, request, timing)
        if not ranked.has_answered:
            self._cache.drop(key, ranked)
            if not ranked.reports:
                raise Overloaded(_TOO_MANY)  # no provider could be queried in time
            errors = "; ".join(
                f"{report.name}: {report.error}" for report in ranked.reports.values()
            )
            raise SearchFailed(f"No search provider gave an answer. {errors}")
        self._cache.tidy()
        end = request.offset + request.num_results
        has_more = len(ranked.results) > end
        ranked.has_promised = ranked.has_promised or has_more
        return SearchAnswer(
            query=request.query,
            results=tuple(ranked.results[request.offset : end]),
            has_more=has_more,
            next_offset=end if has_more else None,
            search_ms=round((time.monotonic() - started) * 1000),
            providers=tuple(ranked.reports.values()),
            warnings=describe_warnings(
                ranked,
                request,
                is_cut_short=not has_time,
                was_lost=is_new and request.offset > 0,
            ),
        )

    async def _find_list(
        self,
        key: Hashable,
        request: SearchRequest,
        chosen: Sequence[Provider],
        timing: SearchTiming,
    ) -> tuple[RankedList, bool]:
        """Return the list of a search, and whether it is new."""
        held = self._cache.find(key)
        if held is not None and request.offset == 0:
            is_outdated = await self._is_outdated(held, request, timing)
            current = self._cache.find(key)  # another request may have replaced it meanwhile
            held = None if is_outdated and current is held else current
        if held is not None:
            return held, False
        begun = RankedList(
            sources=[ProviderCursor(provider, request.query) for provider in chosen],
            page_size=max(_LEAST_PAGE, min(request.num_results + 1, _MOST_PAGE)),
            began_at=self._cache.clock(),
        )
        self._cache.hold(key, begun)
        return begun, True

    async def _is_outdated(
        self, held: RankedList, request: SearchRequest, timing: SearchTiming
    ) -> bool:
        """Whether to repeat a search from the start instead of using the cached list.

        It is repeated if no caller expects further pages of the list, if a provider had failed, or
        if matching pages have been saved since.
        """
        if self._cache.clock() - held.began_at < _FRESH_SECONDS:
            return False
        if not held.has_promised or not held.is_whole:
            return True
        source = held.local
        if source is None or not source.next_page:
            return False
        query = ProviderQuery(
            text=request.query,
            caller=request.caller,
            count=held.page_size,
            filters=request.filters,
        )
        answer = await self._provider_caller.ask(source.provider, query, timing.asked_by)
        return not ids_of(answer) <= source.known | held.ids

    async def _extend(
        self, ranked: RankedList, request: SearchRequest, timing: SearchTiming
    ) -> bool:
        """Get as many results as the request needs; return whether the time sufficed."""
        # One more than requested shows whether there are further results.
        needed = min(request.offset + request.num_results + 1, MAX_RESULTS_HELD)
        if len(ranked.results) >= needed:
            return True
        async with AsyncExitStack() as held:
            try:
                # A request that started at the same time may end slightly later.
                async with asyncio.timeout_at(timing.read_by + 1):
                    await held.enter_async_context(ranked.lock)
                async with asyncio.timeout_at(timing.begun_by):
                    requester = Requester(caller=request.caller)
                    await held.enter_async_context(self._slots.hold(requester))
            except TimeoutError:
                raise Overloaded(_TOO_MANY) from None
            fan_out = ProviderFanOut(
                ranked=ranked,
                request=request,
                timing=timing,
                provider_caller=self._provider_caller,
                needed=needed,
            )
            if ranked.pending:
                await self._ranker.settle(ranked, request, timing.read_by)
            for _ in range(_MAX_ROUNDS):
                if len(ranked.results) >= needed or fan_out.is_over:
                    return True
                if fan_out.is_late:
                    return False
                if not await fan_out.go_on():
                    return not fan_out.failed
                await self._ranker.settle(ranked, request, timing.read_by)
        return len(ranked.results) >= needed


SCRAPE_SECONDS = 40.0
MAX_PAGES = 20

# For all searches together.
_AT_ONCE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedResult:
    """A result with its page, or with the error of scraping it."""

    result: SearchResult
    outcome: ScrapeOutcome | None = None
    error: CinderError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedSearch:
    """A search's response, and the pages of its results in the same order."""

    answer: SearchAnswer
    pages: tuple[ScrapedResult, ...]


class SearchAndScrape:
    """Searches, and scrapes the results."""

    def __init__(self, search: SearchService, scraper: Scraper) -> None:
        self._search = search
        self._scraper = scraper
        self._slots = FairQueue(_AT_ONCE)

    async def run(
        self, request: SearchRequest, mode: Mode, *, seconds: float = SCRAPE_SECONDS
    ) -> ScrapedSearch:
        """Return the results with their pages, or with the errors of those that failed.

        Raises:
            InvalidRequest, Overloaded, SearchFailed: the search failed.
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
            who = Requester(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(result.url, caller, left, mode))
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=result.url)
            return ScrapedResult(result=result, error=late)
        except CinderError as error:
            return ScrapedResult(result=result, error=error)
        return ScrapedResult(result=result, outcome=outcome)
