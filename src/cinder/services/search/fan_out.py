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

# How long a balanced search waits for a provider that failed lately.
_DOUBTFUL_SECONDS = 1.5
# What a provider needs at least. In a fast search, each that comes later is left as much.
_RESERVED_SECONDS = 0.3
# How many pages of a provider are asked for at once where many results are wanted.
_MOST_AHEAD = 4
# After so many it is known that a provider has pages.
_PROVEN_PAGES = 2
_EXPANSION_WEIGHT = 0.5
_FEEDBACK_HITS = 5


@dataclass(frozen=True, slots=True)
class ModeTimes:
    """How many seconds after its begin a search of one mode ends its parts."""

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
    """Until when the parts of one search may take, by the loop's clock."""

    begun_by: float
    """Whoever waits for his turn for longer has too little left to be answered in."""
    asked_by: float
    expanded_by: float
    read_by: float

    @property
    def latest_start(self) -> float:
        """After which nobody is asked any more: an answer would come too late."""
        return self.asked_by - _RESERVED_SECONDS

    @classmethod
    def starting_now(cls, times: ModeTimes) -> "SearchTiming":
        """Return the times of a search that begins now."""
        now = asyncio.get_running_loop().time()
        return cls(
            begun_by=now + times.ask / 2,
            asked_by=now + times.ask,
            expanded_by=now + times.expand,
            read_by=now + times.read,
        )


@dataclass(slots=True, kw_only=True)
class ProviderFanOut:
    """Gets more for one list, on behalf of one request."""

    ranked: RankedList
    request: SearchRequest
    timing: SearchTiming
    asker: ProviderCaller
    needed: int
    """How many results the list is to have."""
    failed: list[ProviderCursor] = field(default_factory=list)
    """Those that failed during this request, which does not ask them again."""

    @property
    def is_over(self) -> bool:
        """Whether every provider has been asked to the end."""
        return all(source.is_exhausted for source in self.ranked.sources)

    @property
    def is_late(self) -> bool:
        """Whether too little time is left for anyone to answer."""
        return asyncio.get_running_loop().time() > self.timing.latest_start

    async def go_on(self) -> bool:
        """Ask for the next page of results; whether anything was found that is new."""
        match self.request.mode:
            case SearchMode.FAST:
                return await self._ask_one_after_another()
            case SearchMode.BALANCED:
                return await self._ask_all(self._open_sources(), self.timing.asked_by)
            case SearchMode.DEEP:
                return await self._ask_deeply()

    def _open_sources(self) -> list[ProviderCursor]:
        return [
            source
            for source in self.ranked.sources
            if not source.is_exhausted and source not in self.failed
        ]

    async def _ask_one_after_another(self) -> bool:
        """Ask the provider that has answered before, else the first that is healthy."""
        sources = self._in_order_of_trust()
        for index, source in enumerate(sources):
            if not source.is_exhausted:
                until = self._share_of_time(following=len(sources) - index - 1)
                if await self._ask_all([source], until):
                    return True
            if source not in self.failed and self.ranked.results:
                return False  # that was all of it
        return False

    def _in_order_of_trust(self) -> list[ProviderCursor]:
        sources = [source for source in self.ranked.sources if source not in self.failed]
        begun = [source for source in sources if source.rank]
        rest = [source for source in sources if not source.rank and not source.is_exhausted]
        rest.sort(key=lambda source: not self.asker.health.is_healthy(source.provider.name))
        return [*reversed(begun), *rest]

    def _share_of_time(self, *, following: int) -> float:
        now = asyncio.get_running_loop().time()
        left = max(0.0, self.timing.asked_by - now)
        return now + max(left - _RESERVED_SECONDS * following, left / 2 if following else left)

    async def _ask_deeply(self) -> bool:
        """Ask all; the first time, ask in other words, too, and for the page after."""
        has_found = await self._ask_all(self._open_sources(), self.timing.asked_by)
        if self.ranked.is_expanded:
            return has_found
        self.ranked.is_expanded = True
        beside = [*self._open_sources(), *self._expand()]
        return await self._ask_all(beside, self.timing.expanded_by) or has_found

    def _expand(self) -> list[ProviderCursor]:
        texts = [
            f"{hit.title} {hit.summary}"
            for found in self.ranked.pending
            for hit in found.hits[:_FEEDBACK_HITS]
        ]
        return [
            ProviderCursor(source.provider, variant, _EXPANSION_WEIGHT)
            for variant in expand_query(self.request.query, texts)
            for source in self.ranked.sources
            if source not in self.failed
        ]

    async def _ask_all(self, sources: Sequence[ProviderCursor], until: float) -> bool:
        """Ask each for its next pages, all at once; whether anything was found that is new."""
        most = self._pages_ahead(sources)
        async with asyncio.TaskGroup() as tasks:
            asking = [
                (
                    source,
                    [
                        tasks.create_task(self._ask(source, ahead, until))
                        for ahead in range(most if source.next_page >= _PROVEN_PAGES else 1)
                    ],
                )
                for source in sources
            ]
        # Nothing is awaited from here on: a request that is cancelled leaves no half of a page.
        found: list[RankedHits] = []
        used: list[ProviderAnswer] = []
        for source, pages in asking:
            for page in pages:
                used.append(asked := page.result())
                if asked.hits is None:
                    self.failed.append(source)
                elif (taken := source.take(asked)) is not None:
                    found.append(taken)
                if asked.hits is None or source.is_exhausted:
                    break  # pages after one that is missing would leave a gap
        self.ranked.report(used)
        self.ranked.pending += found
        return bool(found)

    def _pages_ahead(self, sources: Sequence[ProviderCursor]) -> int:
        """Return how many pages to ask for at once: what is missing, by how much pages have had."""
        pages = sum(source.next_page for source in sources)
        if not pages:
            return 1
        a_page_of_each = len(sources) * sum(source.rank for source in sources) / pages
        missing = self.needed - len(self.ranked.results)
        return max(1, min(_MOST_AHEAD, math.ceil(missing / max(1, a_page_of_each))))

    async def _ask(self, source: ProviderCursor, ahead: int, until: float) -> ProviderAnswer:
        query = ProviderQuery(
            text=source.query,
            caller=self.request.caller,
            page=source.next_page + ahead,
            count=self.ranked.page_size,
            filters=self.request.filters,
        )
        if self.request.mode is SearchMode.BALANCED:
            until = self._less_if_doubtful(source, until)
        return await self.asker.ask(source.provider, query, until)

    def _less_if_doubtful(self, source: ProviderCursor, until: float) -> float:
        if self.asker.health.is_healthy(source.provider.name):
            return until
        return min(until, asyncio.get_running_loop().time() + _DOUBTFUL_SECONDS)
