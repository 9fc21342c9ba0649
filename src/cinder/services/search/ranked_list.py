"""Ranked lists of results, whose order never changes, and the cache that keeps them for an hour."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from cinder.models.search import LOCAL, ProviderReport, SearchResult
from cinder.search.base import Provider
from cinder.services.search.fusion import RankedHits, ResultCandidate, parse_result_url
from cinder.services.search.providers import ProviderAnswer

MAX_RESULTS_HELD = 1_000
_MAX_PAGES = 60
_MAX_LISTS = 500


@dataclass(slots=True, eq=False)
class ProviderCursor:
    """One provider's result pages for one query, read one after the other."""

    provider: Provider
    query: str
    weight: float = 1.0
    next_page: int = 0
    rank: int = 0
    """How many hits it has returned."""
    known: set[str] = field(default_factory=set)
    """The ids of the pages that it has returned."""
    is_exhausted: bool = False

    def take(self, answer: ProviderAnswer) -> RankedHits | None:
        """Advance to the next page; return the hits of this one, None if none is new."""
        if answer.hits is None:
            return None
        ids = ids_of(answer)
        is_new = not ids <= self.known
        # A provider without paging returns the first page again.
        self.is_exhausted = not is_new or self.next_page + 1 >= _MAX_PAGES
        taken = RankedHits(
            provider=self.provider.name,
            hits=answer.hits,
            first_rank=self.rank,
            query=self.query,
            weight=self.weight,
        )
        self.next_page += 1
        self.rank += len(answer.hits)
        self.known |= ids
        return taken if is_new else None


@dataclass(slots=True, kw_only=True)
class RankedList:
    """The results of one search, and how to get more of them."""

    sources: list[ProviderCursor]
    page_size: int
    began_at: float
    results: list[SearchResult] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    """Of the results, and of pages that were read and left out."""
    pending: list[RankedHits] = field(default_factory=list)
    """Hits that have not become results yet."""
    reports: dict[str, ProviderReport] = field(default_factory=dict)
    found: dict[str, set[str]] = field(default_factory=dict)
    """The ids of the pages that each provider has returned, for any query."""
    undated: set[str] = field(default_factory=set)
    """The ids of pages that were left out because their age is unknown."""
    unread: set[str] = field(default_factory=set)
    """The ids of pages that were left out by title and summary, because they were not read."""
    has_promised: bool = False
    """Whether a response announced further results."""
    is_expanded: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def has_answered(self) -> bool:
        """Whether any provider has answered."""
        return any(source.next_page for source in self.sources)

    @property
    def is_whole(self) -> bool:
        """Whether no provider failed."""
        return all(report.error is None for report in self.reports.values())

    @property
    def is_full(self) -> bool:
        """Whether the list has as many results as it may hold."""
        return len(self.results) >= MAX_RESULTS_HELD

    @property
    def local(self) -> ProviderCursor | None:
        """The cursor of the local provider."""
        return next((source for source in self.sources if source.provider.name == LOCAL), None)

    def report(self, answers: Sequence[ProviderAnswer]) -> None:
        """Record the answers of providers; the results of each are added up."""
        for name in dict.fromkeys(answer.provider for answer in answers):
            own = [answer for answer in answers if answer.provider == name]
            found = self.found.setdefault(name, set())
            found.update(*map(ids_of, own))
            self.reports[name] = ProviderReport(
                name=name,
                milliseconds=max(answer.milliseconds for answer in own),
                results=len(found),
                # A provider that answered one of several queries has not failed.
                error=None if any(answer.hits is not None for answer in own) else own[0].error,
            )

    def append(self, candidates: Sequence[ResultCandidate]) -> None:
        """Append candidates as results; none is more relevant than the results before it."""
        ceiling = self.results[-1].relevance if self.results else 1.0
        for candidate in candidates[: MAX_RESULTS_HELD - len(self.results)]:
            ceiling = min(ceiling, round(max(0.0, candidate.relevance), 4))
            self.ids.add(candidate.address.id)
            self.results.append(
                SearchResult(
                    id=candidate.address.id,
                    title=candidate.title,
                    url=candidate.address.url,
                    domain=candidate.address.domain,
                    summary=candidate.summary,
                    relevance=ceiling,
                    published_at=candidate.published_at,
                    providers=candidate.providers,
                )
            )


def ids_of(answer: ProviderAnswer) -> set[str]:
    """Return the ids of the pages in a provider's answer."""
    addresses = (parse_result_url(hit.url) for hit in answer.hits or ())
    return {address.id for address in addresses if address is not None}


HELD_SECONDS = 3_600.0


class RankedListCache:
    """Caches the lists of searches, so that their next pages neither repeat nor skip results."""

    def __init__(
        self,
        *,
        max_results: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._max_results = max_results
        self._lists: OrderedDict[Hashable, RankedList] = OrderedDict()

    def find(self, key: Hashable) -> RankedList | None:
        """Return the list of a search; None if there is none, or it has expired."""
        held = self._lists.get(key)
        if held is None:
            return None
        if self.clock() - held.began_at >= HELD_SECONDS:
            del self._lists[key]
            return None
        self._lists.move_to_end(key)
        return held

    def hold(self, key: Hashable, ranked: RankedList) -> None:
        """Cache a list, replacing the one with the same key."""
        self._lists[key] = ranked
        self._lists.move_to_end(key)

    def drop(self, key: Hashable, ranked: RankedList) -> None:
        """Remove a list from the cache."""
        if self._lists.get(key) is ranked:
            del self._lists[key]

    def tidy(self) -> None:
        """Evict the least recently used lists until the cache is within its limits."""
        held = sum(len(ranked.results) for ranked in self._lists.values())
        while self._lists and (len(self._lists) > _MAX_LISTS or held > self._max_results):
            _, oldest = self._lists.popitem(last=False)
            held -= len(oldest.results)
