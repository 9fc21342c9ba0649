"""Searches the index for the pages that match a query best."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cinder.models.document import Document
from cinder.models.saved import Version
from cinder.models.search import SearchFilters
from cinder.store.base import Embedder, IndexedPage, IndexQuery, QueryObserver, TimedDatabase
from cinder.store.database import SQLITE, Database, Query, SqlDialect, SqlRow, Statement, scrub
from cinder.store.document_rows import from_milliseconds, to_milliseconds
from cinder.store.index import indexing
from cinder.store.index.fts5 import Fts5
from cinder.store.index.full_text import (
    FullText,
    IndexedText,
    Parameters,
    RankingPlan,
    read_page,
    site_of,
)
from cinder.store.index.ranking import MAX_COMPARED, Meaning, Ranked, TermCounts, order_by_meaning
from cinder.store.index.terms import MAX_QUERY_CHARS, Phrase, close_up, find_snippet, parse_query
from cinder.store.index.tsvector import Tsvector

MAX_RANKED = 1_000
"""How many pages an answer has in all, duplicates among them, however far one pages on."""

_VERIFIED_AT_ONCE = 50
_NOWHERE = "."
_GROUP = 50
# A page of today counts a tenth more than one of long ago; half of that is gone in half a year.
_RECENCY = (
    "(1 + 0.1 / (1 + ABS({now} - COALESCE(p.published_at, p.first_seen_at)) / 15552000000.0))"
)
_MAX_RECENCY = 1.1
# Most answers are short: of the pages that match, only the best by their words are looked up.
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
# What those that are not looked up have at most.
_LEAST = "(SELECT CASE WHEN count(*) < {best} THEN 0 ELSE min(found.score) END FROM found)"

_DESCRIBE = """
SELECT p.id, p.title, p.published_at, p.first_seen_at, v.url, v.place, v.saved_at, page_words.text
  FROM webhook.indexed_pages p
  JOIN webhook.saved_versions v ON v.id = p.version_id
  JOIN webhook.page_words ON {page_id} = p.id
 WHERE p.id = ANY($1)
"""

_READ_TEXTS = "SELECT {page_id} AS id, text FROM webhook.page_words WHERE {page_id} = ANY($1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSearcher:
    """Finds pages in one database."""

    dialect: SqlDialect
    full_text: FullText
    counts: TermCounts

    def find(
        self, query: IndexQuery, meaning: Meaning | None, now: datetime
    ) -> Query[list[IndexedPage]]:
        """Return the pages that match best, from the query's offset on."""
        wanted = parse_query(query.text, query.filters.required_text)
        if not parse_query(query.text).scored or query.limit <= 0:
            return []
        plan = yield from self.counts.plan(wanted, now)
        end = query.offset + query.limit
        # Filters and meanings may leave little of a narrow choice.
        is_narrow = meaning is None and query.filters == SearchFilters() and not query.domains
        rank = self._rank_narrowly if is_narrow else self._rank
        rows = yield from rank(plan, query, end, now)
        # However many were ranked, the same are compared: else the parts of an answer would differ.
        compared = len(_without_duplicates(rows[:MAX_COMPARED])) if meaning else 0
        ranked = order_by_meaning(_without_duplicates(rows), meaning, compared)
        if query.filters.required_text:
            ranked = yield from self._with_texts(ranked, query.filters.required_text, end)
        return (yield from self._describe(ranked[query.offset : end], wanted.scored))

    def _rank_narrowly(
        self, plan: RankingPlan, query: IndexQuery, end: int, now: datetime
    ) -> Query[Sequence[SqlRow]]:
        """Return the best pages of a narrow choice, and where they are too few, others after."""
        if end <= _SHORT:
            rows = yield self._ranking(plan, query, 2 * _SHORT, now, best=_BEST_BY_WORDS)
            # One that was not looked up may be so recent that it belongs before the others.
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
        """Return the best pages, as many as are needed: each more of them costs."""
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
        """Return what ranks pages: those chosen, or the best so many of them by their words."""
        parameters = Parameters()
        is_narrow = is_narrow or best is not None
        prelude, found = self.full_text.rank(plan, parameters, is_narrow=is_narrow)
        moment = to_milliseconds(now)
        conditions = [
            f"p.expires_at > {parameters.add(self.dialect.pack_moment(now))}",
            f"(p.owner IS NULL OR p.owner = {parameters.add(scrub(query.caller))})",
            *_filters(query.filters, moment, parameters),
        ]
        if query.domains:
            conditions.append(_within(query.domains, parameters))
        sql = _RANK.format(
            prelude=prelude,
            found=_BEST.format(found=found, best=best) if best else found,
            recency=_RECENCY.format(now=f"CAST({parameters.add(moment)} AS BIGINT)"),
            least=_LEAST.format(best=best) if best else "0",
            conditions=" AND ".join(conditions),
            limit=parameters.add(limit),
        )
        return Statement(sql, tuple(parameters.values))

    def _with_texts(
        self, ranked: list[Ranked], phrases: Sequence[str], enough: int
    ) -> Query[list[Ranked]]:
        """Return the first so many pages whose text has all the phrases as they are written."""
        wanted = [_flat(phrase) for phrase in phrases]
        sql = _READ_TEXTS.format(page_id=self.full_text.page_id)
        kept: list[Ranked] = []
        for start in range(0, len(ranked), _VERIFIED_AT_ONCE):
            some = ranked[start : start + _VERIFIED_AT_ONCE]
            rows = yield Statement(sql, ([page.id for page in some],))
            texts = {row["id"]: _flat(close_up(row["text"])) for row in rows}
            kept += [p for p in some if all(phrase in texts.get(p.id, "") for phrase in wanted)]
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
        # One may have been deleted since it was ranked.
        there = [(page, by_id[page.id]) for page in ranked if page.id in by_id]
        return [_page(row, page.score, phrases) for page, row in there]


def _filters(filters: SearchFilters, now: int, parameters: Parameters) -> list[str]:
    conditions = []
    if filters.include_domains:
        conditions.append(_within(filters.include_domains, parameters))
    if filters.exclude_domains:
        conditions.append(f"NOT {_within(filters.exclude_domains, parameters)}")
    if filters.max_age_days is not None:
        oldest = max(0, now - round(min(filters.max_age_days, 1e6) * 86_400_000))
        moment = f"CAST({parameters.add(oldest)} AS BIGINT)"
        conditions.append(f"COALESCE(p.published_at, p.first_seen_at) >= {moment}")
    return conditions


def _within(domains: Sequence[str], parameters: Parameters) -> str:
    """Return the condition that a page's site is one of some domains or beneath it."""
    names = [f"CAST({parameters.add(_site(domain))} AS TEXT)" for domain in domains]
    return _any([f"substr(p.site, 1, length({name})) = {name}" for name in names])


def _any(conditions: Sequence[str]) -> str:
    """Return what holds if one of some conditions does; SQLite nests no 1,000 of them."""
    groups = [conditions[i : i + _GROUP] for i in range(0, len(conditions), _GROUP)]
    either = [f"({' OR '.join(group)})" for group in groups]
    return either[0] if len(either) == 1 else _any(either)


def _site(domain: str) -> str:
    # What is no host is beneath a name that none has.
    return site_of(f"https://{domain.strip()}") or _NOWHERE


def _without_duplicates(rows: Sequence[SqlRow]) -> list[Ranked]:
    """Return the pages in order, of those with the same words only the first.

    None has a higher score than one before it.
    """
    first: dict[int, Ranked] = {}
    lowest = math.inf
    for row in rows:
        lowest = min(lowest, float(row["score"]))
        first.setdefault(row["content"], Ranked(row["id"], lowest, row["vector"]))
    return list(first.values())


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _page(row: SqlRow, score: float, phrases: Sequence[Phrase]) -> IndexedPage:
    published = row["published_at"]
    return IndexedPage(
        url=row["url"],
        title=row["title"],
        passage=find_snippet(close_up(row["text"]), phrases),
        score=score,
        version=Version(row["place"], from_milliseconds(row["saved_at"])),
        published_at=None if published is None else from_milliseconds(published),
        first_seen_at=from_milliseconds(row["first_seen_at"]),
    )


# Searches cost the database the most, and those who save pages need its connections as well.
_SEARCHES_AT_ONCE = 4

_COUNT = "SELECT count(*) AS n FROM webhook.indexed_pages"


class StoredPageIndex:
    """Finds the pages of a database. See `cinder.store.base.PageIndex`."""

    def __init__(
        self,
        database: Database,
        *,
        observe: QueryObserver,
        clock: Callable[[], datetime],
        embedder: Embedder | None,
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._dialect = database.dialect
        self._clock = clock
        self._embedder = embedder
        self._places = asyncio.Semaphore(_SEARCHES_AT_ONCE)
        self.full_text: FullText = Fts5() if database.dialect is SQLITE else Tsvector()
        self._finder = IndexSearcher(
            dialect=database.dialect,
            full_text=self.full_text,
            counts=TermCounts(self.full_text),
        )

    @property
    def has_embeddings(self) -> bool:
        """Whether pages are ranked by their meaning as well as by their words."""
        return self._embedder is not None

    async def search(self, query: IndexQuery) -> list[IndexedPage]:
        """Return the pages that match best, the best first; each URL once."""
        now, bounded = self._clock(), replace(query, offset=max(0, query.offset))
        meaning = await self._read_meaning(query.text)
        async with self._places:
            return await self._database.read(
                "search_index", lambda: self._finder.find(bounded, meaning, now)
            )

    async def count(self) -> int:
        """Return how many pages the index holds."""
        return await self._database.read("count_index", _count)

    async def rebuild(self) -> int:
        """Make the index anew from what is kept; return how many pages are in it.

        Pages can be saved and looked for meanwhile; each is found all the time.
        """
        await self._enter_all(lambda after: indexing.read_entries(after, self._dialect))
        await self._enter_all(indexing.read_archived)
        return await self.count()

    def read_page(self, document: Document) -> IndexedText | None:
        """Return what the index takes of a document; not for the event loop."""
        page = read_page(document)
        if page is None or self._embedder is None:
            return page
        return replace(page, vector=self._embedder.embed(page.title, page.text))

    async def _read_meaning(self, text: str) -> Meaning | None:
        if self._embedder is None:
            return None
        vector = await asyncio.to_thread(self._embedder.embed, "", text[:MAX_QUERY_CHARS])
        return Meaning(vector, self._embedder)

    async def _enter_all(self, read: Callable[[int], Query[list[indexing.StoredVersion]]]) -> None:
        after = 0
        while kept := await self._read_batch(read, after):
            readings = await asyncio.to_thread(self._read_pages, kept)
            await self._enter(readings)
            after = kept[-1].id

    async def _read_batch(
        self, read: Callable[[int], Query[list[indexing.StoredVersion]]], after: int
    ) -> list[indexing.StoredVersion]:
        return await self._database.read("rebuild_index", lambda: read(after))

    async def _enter(self, readings: Sequence[indexing.Reading]) -> None:
        await self._database.write(
            "rebuild_index", lambda: indexing.reindex_pages(readings, self.full_text)
        )

    def _read_pages(self, kept: Sequence[indexing.StoredVersion]) -> list[indexing.Reading]:
        return [indexing.Reading(one.place, self._read_kept(one.document)) for one in kept]

    def _read_kept(self, document: Document | None) -> IndexedText | None:
        return None if document is None else self.read_page(document)


def _count() -> Query[int]:
    rows = yield Statement(_COUNT)
    return int(rows[0]["n"])
