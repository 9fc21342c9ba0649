"""The search service: providers asked by mode, lists fused, results ranked and kept."""

import asyncio
import math
import time
from collections.abc import Collection, Hashable, Mapping, Sequence
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
from cinder.fetch.escalation import check_proxy_pool
from cinder.metrics import Metrics
from cinder.models.request import RenderOptions
from cinder.models.search import LOCAL, SearchAnswer, SearchMode, SearchRequest, SearchResult
from cinder.search.base import Provider, ProviderQuery
from cinder.services.scraping.outcome import ScrapeOutcome, Scraper
from cinder.services.search.fusion import RankedHits
from cinder.services.search.providers import ProviderAnswer, ProviderCaller
from cinder.services.search.query import expand_query, read_query
from cinder.services.search.ranked_list import (
    MAX_RESULTS_HELD,
    ProviderCursor,
    RankedList,
    RankedListCache,
    ids_of,
)
from cinder.services.search.result_ranking import ResultRanker, page_request

# How long a balanced search waits for a provider that failed recently.
_DOUBTFUL_SECONDS = 1.5
# The least time for a provider. A fast search reserves it for each later provider.
_RESERVED_SECONDS = 0.3
# How many pages of a provider are requested at once when many results are needed.
_MOST_AHEAD = 4
# A provider that returned so many different pages supports paging.
_PROVEN_PAGES = 2
_EXPANSION_WEIGHT = 0.5
_FEEDBACK_HITS = 5


@dataclass(frozen=True, slots=True)
class ModeTimes:
    """When the phases of a search in one mode end, in seconds after its start."""

    ask: float
    expand: float
    read: float


# The contract gives a fast search 2 seconds, a balanced one 5 and a deep one 15.
MODE_TIMES = {
    SearchMode.FAST: ModeTimes(1.7, 1.7, 1.7),
    SearchMode.BALANCED: ModeTimes(4.5, 4.5, 4.5),
    SearchMode.DEEP: ModeTimes(5.0, 9.0, 14.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTiming:
    """When the phases of one search end, by the loop's clock."""

    begun_by: float
    """Requests that queued longer than this are refused: too little of their time is left."""
    asked_by: float
    expanded_by: float
    read_by: float

    @classmethod
    def starting_now(cls, times: ModeTimes) -> "SearchTiming":
        """Return the timing of a search that starts now."""
        now = asyncio.get_running_loop().time()
        return cls(
            begun_by=now + times.ask / 2,
            asked_by=now + times.ask,
            expanded_by=now + times.expand,
            read_by=now + times.read,
        )


@dataclass(slots=True, kw_only=True)
class ProviderFanOut:
    """Gets more hits for one list, on behalf of one request."""

    ranked: RankedList
    request: SearchRequest
    timing: SearchTiming
    provider_caller: ProviderCaller
    needed: int
    """How many results the request needs."""
    failed: list[ProviderCursor] = field(default_factory=list)
    """The sources that failed during this request, and are not queried again."""

    @property
    def is_over(self) -> bool:
        """Whether every provider is exhausted."""
        return all(source.is_exhausted for source in self.ranked.sources)

    @property
    def is_late(self) -> bool:
        """Whether too little time is left for a provider to answer."""
        return asyncio.get_running_loop().time() > self.timing.asked_by - _RESERVED_SECONDS

    async def go_on(self) -> bool:
        """Query the next page of results; return whether there are new hits."""
        match self.request.mode:
            case SearchMode.FAST:
                return await self._query_in_turn()
            case SearchMode.BALANCED:
                return await self._query(self._open_sources(), self.timing.asked_by)
            case SearchMode.DEEP:
                return await self._query_deeply()

    def _open_sources(self) -> list[ProviderCursor]:
        return [
            source
            for source in self.ranked.sources
            if not source.is_exhausted and source not in self.failed
        ]

    def _is_healthy(self, source: ProviderCursor) -> bool:
        return self.provider_caller.health.is_healthy(source.provider.name)

    async def _query_in_turn(self) -> bool:
        """Query the provider that has answered before, else the first that is healthy."""
        sources = [source for source in self.ranked.sources if source not in self.failed]
        begun = [source for source in sources if source.rank]
        rest = [source for source in sources if not source.rank and not source.is_exhausted]
        rest.sort(key=self._is_healthy, reverse=True)
        sources = [*reversed(begun), *rest]
        for following, source in zip(reversed(range(len(sources))), sources, strict=True):
            if not source.is_exhausted:
                now = asyncio.get_running_loop().time()
                left = max(0.0, self.timing.asked_by - now)
                reserved = left - _RESERVED_SECONDS * following
                if await self._query(
                    [source], now + max(reserved, left / 2 if following else left)
                ):
                    return True
            if source not in self.failed and self.ranked.results:
                return False  # this source is exhausted
        return False

    async def _query_deeply(self) -> bool:
        """Query all providers; the first time, also variants of the query, and the next page."""
        has_found = await self._query(self._open_sources(), self.timing.asked_by)
        if self.ranked.is_expanded:
            return has_found
        self.ranked.is_expanded = True
        texts = [
            f"{hit.title} {hit.summary}"
            for found in self.ranked.pending
            for hit in found.hits[:_FEEDBACK_HITS]
        ]
        expanded = [
            ProviderCursor(source.provider, variant, _EXPANSION_WEIGHT)
            for variant in expand_query(self.request.query, texts)
            for source in self.ranked.sources
            if source not in self.failed
        ]
        sources = [*self._open_sources(), *expanded]
        return await self._query(sources, self.timing.expanded_by) or has_found

    async def _query(self, sources: Sequence[ProviderCursor], until: float) -> bool:
        """Query the next pages of all sources at once; return whether there are new hits."""
        most, pages_so_far = 1, sum(source.next_page for source in sources)
        if pages_so_far:
            hits_a_round = len(sources) * sum(source.rank for source in sources) / pages_so_far
            missing = self.needed - len(self.ranked.results)
            most = max(1, min(_MOST_AHEAD, math.ceil(missing / max(1, hits_a_round))))
        async with asyncio.TaskGroup() as tasks:
            queries = [
                (
                    source,
                    [
                        tasks.create_task(self._query_page(source, ahead, until))
                        for ahead in range(most if source.next_page >= _PROVEN_PAGES else 1)
                    ],
                )
                for source in sources
            ]
        # Nothing is awaited below, so that a cancelled request does not leave half a page.
        found: list[RankedHits] = []
        used: list[ProviderAnswer] = []
        for source, pages in queries:
            for page in pages:
                used.append(answer := page.result())
                if answer.hits is None:
                    self.failed.append(source)
                elif (taken := source.take(answer)) is not None:
                    found.append(taken)
                if answer.hits is None or source.is_exhausted:
                    break  # pages after a missing one would leave a gap
        self.ranked.report(used)
        self.ranked.pending += found
        return bool(found)

    async def _query_page(self, source: ProviderCursor, ahead: int, until: float) -> ProviderAnswer:
        query = ProviderQuery(
            text=source.query,
            caller=self.request.caller,
            page=source.next_page + ahead,
            count=self.ranked.page_size,
            filters=self.request.filters,
        )
        if self.request.mode is SearchMode.BALANCED and not self._is_healthy(source):
            until = min(until, asyncio.get_running_loop().time() + _DOUBTFUL_SECONDS)
        return await self.provider_caller.ask(source.provider, query, until)


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
    if was_lost:
        warnings.append(
            "Earlier pages of this search are not held any more, so it was repeated: results may "
            "repeat."
        )
    if is_cut_short and ranked.results[request.offset :] == []:
        warnings.append("The time ran out before this page of results. Ask for it again to go on.")
    elif is_cut_short:
        warnings.append(
            "Not every provider could be asked to the end: there may be more. Ask again to go on."
        )
    if ranked.is_full and request.offset + request.num_results >= MAX_RESULTS_HELD:
        warnings.append(
            f"A search holds at most {MAX_RESULTS_HELD} results. Narrow the query to find others."
        )
    return tuple(warnings)


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
            spent = self._metrics.search_seconds.labels(request.mode, outcome)
            spent.observe(time.monotonic() - started)

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

    def __init__(
        self, search: SearchService, scraper: Scraper, proxy_pools: Collection[str] = ()
    ) -> None:
        self._search = search
        self._proxy_pools = proxy_pools
        self._scraper = scraper
        self._slots = FairQueue(_AT_ONCE)

    async def run(
        self, request: SearchRequest, render: RenderOptions, *, seconds: float = SCRAPE_SECONDS
    ) -> ScrapedSearch:
        """Return the results with their pages, or with the errors of those that failed.

        Raises:
            InvalidRequest, Overloaded, SearchFailed: the search failed.
        """
        check_proxy_pool(render.proxy_pool, self._proxy_pools)
        request = replace(request, num_results=min(request.num_results, MAX_PAGES))
        answer = await self._search.search(request)
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as tasks:
            scraping = [
                tasks.create_task(self._scrape(result, request.caller, render, until))
                for result in answer.results
            ]
        return ScrapedSearch(answer=answer, pages=tuple(task.result() for task in scraping))

    async def _scrape(
        self, result: SearchResult, caller: str, render: RenderOptions, until: float
    ) -> ScrapedResult:
        try:
            who = Requester(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(result.url, caller, left, render))
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=result.url)
            return ScrapedResult(result=result, error=late)
        except CinderError as error:
            return ScrapedResult(result=result, error=error)
        return ScrapedResult(result=result, outcome=outcome)
