"""Fan-out: which providers are queried for which result pages, in each mode, and until when."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from cinder.models.search import SearchMode, SearchRequest
from cinder.search.base import ProviderQuery
from cinder.services.search.fusion import RankedHits
from cinder.services.search.providers import ProviderAnswer, ProviderCaller
from cinder.services.search.query import expand_query
from cinder.services.search.ranked_list import ProviderCursor, RankedList

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
