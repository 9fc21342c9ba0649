"""A web in memory: providers that list pages, an index, and a scraper that reads them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cinder.errors import CinderError, ScrapeFailed
from cinder.metrics import Metrics
from cinder.models.document import (
    Document,
    Extraction,
    FetchSource,
    PageMetadata,
    Verdict,
    VerdictKind,
)
from cinder.models.request import OWNER, ScrapeRequest
from cinder.models.saved import Version
from cinder.models.search import SearchHit, SearchMode, SearchRequest
from cinder.search.base import Provider, ProviderFailed, ProviderQuery
from cinder.services.scraping.outcome import ScrapeOutcome, Scraper
from cinder.services.search.providers import LocalProvider, ProviderCaller, ProviderHealth
from cinder.services.search.ranked_list import RankedListCache
from cinder.services.search.result_ranking import ResultRanker, ResultReader
from cinder.services.search.service import ModeTimes, SearchLimits, SearchService
from cinder.store.index.page_index import IndexedPage, IndexQuery, PageIndex
from cinder.text.terms import find_query_terms, find_terms

NOW = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


def hit(number: int, site: str = "a.example", **facts: object) -> SearchHit:
    """Return a hit that is about coals."""
    made = SearchHit(
        url=f"https://{site}/{number}", title=f"Coals {number}", summary=f"Of coals, part {number}."
    )
    return made if not facts else SearchHit(**{**_fields(made), **facts})  # type: ignore[arg-type]


def _fields(made: SearchHit) -> dict[str, object]:
    names = ("url", "title", "summary", "published_at", "first_seen_at", "score")
    return {name: getattr(made, name) for name in names}


def hits(count: int, site: str = "a.example") -> list[SearchHit]:
    return [hit(number, site) for number in range(1, count + 1)]


@dataclass(slots=True)
class ListProvider:
    """Has one list, which it gives page by page whatever is asked."""

    name: str
    found: Sequence[SearchHit] = ()
    page_size: int = 10
    error: ProviderFailed | Exception | None = None
    gate: asyncio.Event | None = None
    """What an answer waits for."""
    knows_pages: bool = True
    asked: list[ProviderQuery] = field(default_factory=list)
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        self.asked.append(query)
        self.was_asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        if not self.knows_pages:
            return self.found
        start = query.page * self.page_size
        return list(self.found)[start : start + self.page_size]


@dataclass(slots=True)
class MemoryIndex(PageIndex):
    """Finds pages by the words they share with the query."""

    pages: list[IndexedPage] = field(default_factory=list)

    def add(self, url: str, title: str, text: str, first_seen_at: datetime = NOW) -> None:
        page = IndexedPage(
            url=url,
            title=title,
            passage=text,
            score=0.0,
            version=Version(url.partition("://")[2], first_seen_at),
            published_at=None,
            first_seen_at=first_seen_at,
        )
        self.pages.append(page)

    async def search(self, query: IndexQuery) -> list[IndexedPage]:
        wanted = find_query_terms(query.text)

        def shared(page: IndexedPage) -> int:
            return len(wanted.intersection(find_terms(f"{page.title} {page.passage}")))

        found = [page for page in self.pages if shared(page)]
        found.sort(key=shared, reverse=True)
        return found[query.offset : query.offset + query.limit]

    async def count(self) -> int:
        return len(self.pages)

    async def rebuild(self) -> int:
        return len(self.pages)


@dataclass(slots=True)
class MemoryScraper:
    """Reads pages from a table; what is in none of its rows is an error."""

    pages: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    final_urls: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, VerdictKind] = field(default_factory=dict)
    gates: Mapping[str, asyncio.Event] = field(default_factory=dict)
    requests: list[ScrapeRequest] = field(default_factory=list)

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        self.requests.append(request)
        if request.url in self.gates:
            await self.gates[request.url].wait()
        if request.url not in self.pages:
            raise ScrapeFailed(f"Failed to scrape {request.url}: nobody answers", url=request.url)
        document = Document(
            url=request.url,
            final_url=self.final_urls.get(request.url, request.url),
            status_code=200,
            source=FetchSource.NATIVE,
            strategy="native",
            content_type="text/html",
            scraped_at=NOW,
            load_time_ms=1,
            content=Extraction(
                markdown=self.pages[request.url],
                metadata=PageMetadata(published=self.published.get(request.url)),
            ),
            verdict=Verdict(self.verdicts.get(request.url, VerdictKind.OK), ""),
        )
        return ScrapeOutcome(document=document)


@dataclass(slots=True)
class MemoryTexts:
    """The texts that are kept."""

    texts: Mapping[str, str] = field(default_factory=dict)
    error: CinderError | None = None

    async def find(self, url: str, caller: str) -> str | None:
        if self.error is not None:
            raise self.error
        return self.texts.get(url) if caller == OWNER else None


@dataclass(slots=True)
class Hand:
    """A clock that a test moves."""

    seconds: float = 1_000.0

    def __call__(self) -> float:
        return self.seconds


QUICK = dict.fromkeys(SearchMode, ModeTimes(1.0, 1.2, 1.5))


@dataclass(slots=True, kw_only=True)
class World:
    """A search service and everything it stands on."""

    providers: Sequence[Provider] = ()
    index: MemoryIndex = field(default_factory=MemoryIndex)
    scraper: MemoryScraper = field(default_factory=MemoryScraper)
    reads: Scraper | None = None
    """What reads pages instead of the one in memory."""
    texts: MemoryTexts = field(default_factory=MemoryTexts)
    clock: Hand = field(default_factory=Hand)
    metrics: Metrics = field(default_factory=Metrics)
    now: Callable[[], datetime] = lambda: NOW
    times: Mapping[SearchMode, ModeTimes] = field(default_factory=lambda: QUICK)
    max_results: int = 20_000

    def open(self) -> SearchService:
        """Return the service; the local provider comes last unless it is named."""
        named = [provider.name for provider in self.providers]
        local = [] if "local" in named else [LocalProvider(self.index, AllRights())]
        return SearchService(
            providers=[*self.providers, *local],
            provider_caller=ProviderCaller(ProviderHealth(self.clock), self.metrics),
            ranker=ResultRanker(
                ResultReader(self.reads or self.scraper), self.texts.find, self.now
            ),
            cache=RankedListCache(clock=self.clock, max_results=self.max_results),
            metrics=self.metrics,
            limits=SearchLimits(times=self.times),
        )


class AllRights:
    """Lets every caller read every page."""

    async def domains_of(self, caller: str) -> tuple[str, ...]:
        return ()

    async def may_read(self, version: Version, caller: str) -> bool:
        return True


def asking(query: str = "coals", **facts: object) -> SearchRequest:
    return SearchRequest(query=query, caller=OWNER, **facts)  # type: ignore[arg-type]
