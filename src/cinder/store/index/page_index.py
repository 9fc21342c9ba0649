"""The local index: searches saved pages, and rebuilds itself from them."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from cinder.models.document import Document
from cinder.models.saved import Version
from cinder.models.search import SearchFilters
from cinder.store.database import (
    SQLITE,
    Database,
    Query,
    QueryObserver,
    Repository,
    SqlDialect,
    SqlRow,
    Statement,
    from_milliseconds,
    reads,
    scrub,
    to_milliseconds,
)
from cinder.store.index.fts5 import Fts5
from cinder.store.index.full_text import (
    FullText,
    IndexedText,
    Parameters,
    RankingPlan,
    read_page,
    site_of,
)
from cinder.store.index.indexing import (
    StoredVersion,
    read_archived,
    read_entries,
    reindex_pages,
)
from cinder.store.index.ranking import (
    MAX_COMPARED,
    Embedder,
    Meaning,
    Ranked,
    TermCounts,
    order_by_meaning,
)
from cinder.store.index.terms import MAX_QUERY_CHARS, Phrase, close_up, find_snippet, parse_query
from cinder.store.index.tsvector import Tsvector

MAX_RANKED = 1_000
"""How many pages a search finds in all, duplicates included, however far a caller pages."""

_VERIFIED_AT_ONCE = 50
_NOWHERE = "."
_GROUP = 50
# A new page scores a tenth more than an old one; half of the bonus is gone after half a year.
_RECENCY = (
    "(1 + 0.1 / (1 + ABS({now} - COALESCE(p.published_at, p.first_seen_at)) / 15552000000.0))"
)
_MAX_RECENCY = 1.1
# Most results are short: of the pages that match, only the best by their words are looked up.
_BEST_BY_WORDS = 200
_SHORT = 50

_RANK = """
WITH {prelude} found AS ({found})
SELECT p.id, p.content, p.vector, found.score * {recency} AS score, {least} AS least
  FROM found CROSS JOIN webhook.indexed_pages p
 WHERE p.id = found.id AND {conditions}
 ORDER BY 4 DESC, p.id LIMIT {limit}
"""

_BEST = "{found} ORDER BY score DESC LIMIT {best}"
# The highest score of the pages that are not looked up.
_LEAST = "(SELECT CASE WHEN count(*) < {best} THEN 0 ELSE min(found.score) END FROM found)"

_DESCRIBE = """
SELECT p.id, p.title, p.published_at, p.first_seen_at, v.url, v.place, v.saved_at, page_words.text
  FROM webhook.indexed_pages p
  JOIN webhook.saved_versions v ON v.id = p.version_id
  JOIN webhook.page_words ON {page_id} = p.id
 WHERE p.id = ANY($1)
"""

_LIST_SITE = """
SELECT v.url, p.title, p.published_at
  FROM webhook.indexed_pages p JOIN webhook.saved_versions v ON v.id = p.version_id
 WHERE p.expires_at > $1 AND (p.owner IS NULL OR p.owner = $2)
   AND substr(p.site, 1, length(CAST($3 AS TEXT))) = CAST($3 AS TEXT)
 ORDER BY p.id DESC LIMIT $4
"""

_READ_TEXTS = "SELECT {page_id} AS id, text FROM webhook.page_words WHERE {page_id} = ANY($1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """A search: words, `"phrases"` and `-words` to exclude, as a person types them."""

    text: str
    caller: str
    """Private pages are found only by their owner."""
    offset: int = 0
    limit: int = 20
    filters: SearchFilters = field(default_factory=SearchFilters)
    domains: tuple[str, ...] = ()
    """The only domains whose pages the caller may see; none for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedPage:
    """A page that was found, by its newest version."""

    url: str
    title: str
    passage: str
    """The part of its text that matches best, as plain text."""
    score: float
    """Higher is better; comparable within one result."""
    version: Version
    published_at: datetime | None
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A saved page of a site."""

    url: str
    title: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSearcher:
    """Searches one database."""

    dialect: SqlDialect
    full_text: FullText
    counts: TermCounts

    def find(
        self, query: IndexQuery, meaning: Meaning | None, now: datetime
    ) -> Query[list[IndexedPage]]:
        """Return the pages that match best, from the query's offset on."""
        parsed = parse_query(query.text, query.filters.required_text)
        if not parse_query(query.text).scored or query.limit <= 0:
            return []
        plan = yield from self.counts.plan(parsed, now)
        end = query.offset + query.limit
        # Filters and meaning may leave little of a narrow choice.
        is_narrow = meaning is None and query.filters == SearchFilters() and not query.domains
        rank = self._rank_narrowly if is_narrow else self._rank
        rows = yield from rank(plan, query, end, now)
        # The same pages are compared however many were ranked, so that the parts of a result agree.
        compared = len(_without_duplicates(rows[:MAX_COMPARED])) if meaning else 0
        ranked = order_by_meaning(_without_duplicates(rows), meaning, compared)
        if query.filters.required_text:
            ranked = yield from self._with_texts(ranked, query.filters.required_text, end)
        return (yield from self._describe(ranked[query.offset : end], parsed.scored))

    def _rank_narrowly(
        self, plan: RankingPlan, query: IndexQuery, end: int, now: datetime
    ) -> Query[Sequence[SqlRow]]:
        """Return the best pages of a narrow choice, followed by others if these are too few."""
        if end <= _SHORT:
            rows = yield self._ranking(plan, query, 2 * _SHORT, now, best=_BEST_BY_WORDS)
            # A page that was not looked up may be so recent that it ranks before the others.
            rows = [row for row in rows if row["score"] > row["least"] * _MAX_RECENCY]
            if len(_without_duplicates(rows)) >= end:
                return rows
        rows = yield from self._rank(plan, query, end, now, is_narrow=True)
        if plan.choice is None or len(_without_duplicates(rows)) >= end:
            return rows
        return [*rows, *(yield from self._rank(plan, query, end, now))]

    def _rank(
        self,
        plan: RankingPlan,
        query: IndexQuery,
        end: int,
        now: datetime,
        *,
        is_narrow: bool = False,
    ) -> Query[Sequence[SqlRow]]:
        """Return the best pages, only as many as are needed."""
        few = MAX_COMPARED if end <= MAX_COMPARED and not query.filters.required_text else None
        for limit in (few, MAX_RANKED) if few else (MAX_RANKED,):
            rows = yield self._ranking(plan, query, limit, now, is_narrow=is_narrow)
            if len(rows) < limit or len(_without_duplicates(rows)) >= end:
                break
        return rows

    def _ranking(
        self,
        plan: RankingPlan,
        query: IndexQuery,
        limit: int,
        now: datetime,
        *,
        best: int | None = None,
        is_narrow: bool = False,
    ) -> Statement:
        """Return the statement that ranks the chosen pages, or the `best` of them by words."""
        parameters = Parameters()
        is_narrow = is_narrow or best is not None
        prelude, found = self.full_text.rank(plan, parameters, is_narrow=is_narrow)
        now_ms = to_milliseconds(now)
        filters, domains = query.filters, query.domains
        conditions = [
            f"p.expires_at > {parameters.add(self.dialect.pack_timestamp(now))}",
            f"(p.owner IS NULL OR p.owner = {parameters.add(scrub(query.caller))})",
            *(_within(some, parameters) for some in (filters.include_domains, domains) if some),
        ]
        if filters.exclude_domains:
            conditions.append(f"NOT {_within(filters.exclude_domains, parameters)}")
        if filters.max_age_days is not None:
            oldest = max(0, now_ms - round(min(filters.max_age_days, 1e6) * 86_400_000))
            since = f"CAST({parameters.add(oldest)} AS BIGINT)"
            conditions.append(f"COALESCE(p.published_at, p.first_seen_at) >= {since}")
        sql = _RANK.format(
            prelude=prelude,
            found=_BEST.format(found=found, best=best) if best else found,
            recency=_RECENCY.format(now=f"CAST({parameters.add(now_ms)} AS BIGINT)"),
            least=_LEAST.format(best=best) if best else "0",
            conditions=" AND ".join(conditions),
            limit=parameters.add(limit),
        )
        return Statement(sql, tuple(parameters.values))

    def _with_texts(
        self, ranked: list[Ranked], phrases: Sequence[str], enough: int
    ) -> Query[list[Ranked]]:
        """Return the first `enough` pages whose text has all the phrases literally."""
        required = [_flat(phrase) for phrase in phrases]
        sql = _READ_TEXTS.format(page_id=self.full_text.page_id)
        kept: list[Ranked] = []
        for start in range(0, len(ranked), _VERIFIED_AT_ONCE):
            some = ranked[start : start + _VERIFIED_AT_ONCE]
            rows = yield Statement(sql, ([page.id for page in some],))
            texts = {row["id"]: _flat(close_up(row["text"])) for row in rows}
            kept += [p for p in some if all(phrase in texts.get(p.id, "") for phrase in required)]
            if len(kept) >= enough:
                break
        return kept

    def _describe(
        self, ranked: list[Ranked], phrases: Sequence[Phrase]
    ) -> Query[list[IndexedPage]]:
        if not ranked:
            return []
        sql = _DESCRIBE.format(page_id=self.full_text.page_id)
        rows = yield Statement(sql, ([page.id for page in ranked],))
        by_id = {row["id"]: row for row in rows}
        # A page may have been deleted since it was ranked.
        there = [(page, by_id[page.id]) for page in ranked if page.id in by_id]
        return [
            IndexedPage(
                url=row["url"],
                title=row["title"],
                passage=find_snippet(close_up(row["text"]), phrases),
                score=page.score,
                version=Version(row["place"], from_milliseconds(row["saved_at"])),
                published_at=None
                if row["published_at"] is None
                else from_milliseconds(row["published_at"]),
                first_seen_at=from_milliseconds(row["first_seen_at"]),
            )
            for page, row in there
        ]


def _within(domains: Sequence[str], parameters: Parameters) -> str:
    """Return the condition that a page's site is one of some domains or a subdomain."""
    # A domain that is invalid matches a name that no site has.
    sites = (site_of(f"https://{domain.strip()}") or _NOWHERE for domain in domains)
    names = [f"CAST({parameters.add(site)} AS TEXT)" for site in sites]
    return _any([f"substr(p.site, 1, length({name})) = {name}" for name in names])


def _any(conditions: Sequence[str]) -> str:
    """Return the disjunction of conditions; SQLite limits how deep they nest."""
    groups = [conditions[i : i + _GROUP] for i in range(0, len(conditions), _GROUP)]
    either = [f"({' OR '.join(group)})" for group in groups]
    return either[0] if len(either) == 1 else _any(either)


def _without_duplicates(rows: Sequence[SqlRow]) -> list[Ranked]:
    """Return the pages in order, only the first of those with the same words.

    Scores do not increase along the list.
    """
    first: dict[int, Ranked] = {}
    lowest = math.inf
    for row in rows:
        lowest = min(lowest, float(row["score"]))
        first.setdefault(row["content"], Ranked(row["id"], lowest, row["vector"]))
    return list(first.values())


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


# Searches are the most expensive queries, and saves need the connections as well.
_SEARCHES_AT_ONCE = 4


class PageIndex(Repository):
    """Finds saved pages by their words. Pages are indexed in the transaction that saves them."""

    def __init__(
        self,
        database: Database,
        *,
        observe: QueryObserver,
        clock: Callable[[], datetime],
        embedder: Embedder | None,
    ) -> None:
        super().__init__(database, observe=observe, clock=clock)
        self._embedder = embedder
        self._slots = asyncio.Semaphore(_SEARCHES_AT_ONCE)
        self.full_text: FullText = Fts5() if database.dialect is SQLITE else Tsvector()
        self._searcher = IndexSearcher(
            dialect=database.dialect, full_text=self.full_text, counts=TermCounts(self.full_text)
        )

    @property
    def has_embeddings(self) -> bool:
        """Whether pages are ranked by their meaning as well as by their words."""
        return self._embedder is not None

    async def search(self, query: IndexQuery) -> list[IndexedPage]:
        """Return the pages that match best, the best first; each URL once."""
        meaning = None
        if self._embedder is not None:
            text = query.text[:MAX_QUERY_CHARS]
            vector = await asyncio.to_thread(self._embedder.embed, "", text)
            meaning = Meaning(vector, self._embedder)
        query = replace(query, offset=max(0, query.offset))
        async with self._slots:
            with self._timed("search_index"):
                return await self._database.read(
                    lambda: self._searcher.find(query, meaning, self._clock())
                )

    @reads("list_site")
    def list_site(self, domain: str, caller: str, *, limit: int) -> Query[list[ListedPage]]:
        """Return the saved pages of a domain and its subdomains, the newest first."""
        now = self._dialect.pack_timestamp(self._clock())
        site = site_of(f"https://{domain}") or _NOWHERE
        rows = yield Statement(_LIST_SITE, (now, scrub(caller), site, limit))
        return [
            ListedPage(
                row["url"],
                row["title"],
                None if row["published_at"] is None else from_milliseconds(row["published_at"]),
            )
            for row in rows
        ]

    @reads("count_index")
    def count(self) -> Query[int]:
        """Return how many pages the index has."""
        rows = yield Statement("SELECT count(*) AS n FROM webhook.indexed_pages")
        return int(rows[0]["n"])

    async def rebuild(self) -> int:
        """Rebuild the index from the stored documents; return how many pages are in it.

        Pages can be saved and searched meanwhile; each is found all the time.
        """
        await self._reindex(lambda after: read_entries(after, self._dialect))
        await self._reindex(read_archived)
        return await self.count()

    def read_page(self, document: Document) -> IndexedText | None:
        """Return what the index takes of a document; not for the event loop."""
        page = read_page(document)
        if page is None or self._embedder is None:
            return page
        return replace(page, vector=self._embedder.embed(page.title, page.text))

    async def _reindex(self, read: Callable[[int], Query[list[StoredVersion]]]) -> None:
        after = 0
        while True:
            with self._timed("rebuild_index"):
                versions = await self._database.read(partial(read, after))
            if not versions:
                return
            pages = await asyncio.to_thread(self._read_pages, versions)
            with self._timed("rebuild_index"):
                await self._database.write(partial(reindex_pages, pages, self.full_text))
            after = versions[-1].id

    def _read_pages(
        self, versions: Sequence[StoredVersion]
    ) -> list[tuple[StoredVersion, IndexedText | None]]:
        return [(v, None if v.document is None else self.read_page(v.document)) for v in versions]
