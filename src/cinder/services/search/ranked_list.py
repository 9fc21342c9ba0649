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


@dataclass(slots=True, eq=False)
class ProviderCursor:
    """One provider, asked one query, page after page."""

    provider: Provider
    query: str
    weight: float = 1.0
    next_page: int = 0
    rank: int = 0
    """How many hits it has given."""
    known: set[str] = field(default_factory=set)
    """The ids of what it has given."""
    is_exhausted: bool = False

    def take(self, asked: ProviderAnswer) -> RankedHits | None:
        """Go on to the next page; None where there was nothing new on this one."""
        if asked.hits is None:
            return None
        ids = ids_of(asked)
        is_new = not ids <= self.known
        # A provider that knows no pages gives the first one again and again.
        self.is_exhausted = not is_new or self.next_page + 1 >= _MAX_PAGES
        taken = RankedHits(
            provider=self.provider.name,
            hits=asked.hits,
            first_rank=self.rank,
            query=self.query,
            weight=self.weight,
        )
        self.next_page += 1
        self.rank += len(asked.hits)
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
    """Of the results, and of what was read and left out."""
    pending: list[RankedHits] = field(default_factory=list)
    """What was found and has not become results yet."""
    reports: dict[str, ProviderReport] = field(default_factory=dict)
    found: dict[str, set[str]] = field(default_factory=dict)
    """The ids of what each provider has given, whatever it was asked."""
    undated: set[str] = field(default_factory=set)
    """The ids of what was left out since nothing tells its age."""
    unread: set[str] = field(default_factory=set)
    """The ids of what was left out by title and summary alone, since its text was not read."""
    has_promised: bool = False
    """Whether anyone was told that there are more results than were given."""
    is_expanded: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def has_answered(self) -> bool:
        """Whether any provider has given an answer."""
        return any(source.next_page for source in self.sources)

    @property
    def is_whole(self) -> bool:
        """Whether no provider failed that was asked."""
        return all(report.error is None for report in self.reports.values())

    @property
    def is_full(self) -> bool:
        """Whether no more is held, whatever there is."""
        return len(self.results) >= MAX_RESULTS_HELD

    @property
    def local(self) -> ProviderCursor | None:
        """Its source in cinder's own memory."""
        return next((each for each in self.sources if each.provider.name == LOCAL), None)

    def report(self, asked: Sequence[ProviderAnswer]) -> None:
        """Note how asking went; what a provider has given is added up."""
        for name in dict.fromkeys(each.provider for each in asked):
            own = [each for each in asked if each.provider == name]
            found = self.found.setdefault(name, set())
            found.update(*(ids_of(each) for each in own))
            self.reports[name] = ProviderReport(
                name=name,
                milliseconds=max(each.milliseconds for each in own),
                results=len(found),
                # In other words it may have failed: what was asked for it has answered.
                error=None if any(each.hits is not None for each in own) else own[0].error,
            )

    def append(self, candidates: Sequence[ResultCandidate]) -> None:
        """Put candidates after all results; none becomes more relevant than what comes before."""
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


def ids_of(asked: ProviderAnswer) -> set[str]:
    """Return the ids of the pages that a provider gave."""
    addresses = (parse_result_url(hit.url) for hit in asked.hits or ())
    return {address.id for address in addresses if address is not None}


HELD_SECONDS = 3_600.0


class RankedListCache:
    """Holds the lists of searches, so that their next pages neither repeat nor skip a result."""

    def __init__(
        self,
        *,
        max_lists: int = 500,
        max_results: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._max_lists = max_lists
        self._max_results = max_results
        self._lists: OrderedDict[Hashable, RankedList] = OrderedDict()

    def find(self, key: Hashable) -> RankedList | None:
        """Return the list of a search; None where there is none, or its hour is over."""
        held = self._lists.get(key)
        if held is None:
            return None
        if self.clock() - held.began_at >= HELD_SECONDS:
            del self._lists[key]
            return None
        self._lists.move_to_end(key)
        return held

    def hold(self, key: Hashable, ranked: RankedList) -> None:
        """Hold a list, in the place of the one that was there."""
        self._lists[key] = ranked
        self._lists.move_to_end(key)

    def drop(self, key: Hashable, ranked: RankedList) -> None:
        """Hold a list no longer."""
        if self._lists.get(key) is ranked:
            del self._lists[key]

    def tidy(self) -> None:
        """Let go of what has not been used for longest, until the rest is within the limits."""
        held = sum(len(ranked.results) for ranked in self._lists.values())
        while self._lists and (len(self._lists) > self._max_lists or held > self._max_results):
            _, oldest = self._lists.popitem(last=False)
            held -= len(oldest.results)
