"""The index itself: every operation, timed, over whichever database runs it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from cinder.model.document import Document
from cinder.store.base import QueryObserver
from cinder.store.database import Database
from cinder.store.dialect import SQLITE
from cinder.store.index import rebuilding
from cinder.store.index.finding import Finder
from cinder.store.index.fts5 import Fts5
from cinder.store.index.full_text import FullText
from cinder.store.index.ordering import Meaning
from cinder.store.index.queries import MAX_QUERY_CHARS
from cinder.store.index.term_counts import TermCounts
from cinder.store.index.texts import PageText, read_page
from cinder.store.index.tsvector import Tsvector
from cinder.store.index_base import Embedder, IndexedPage, IndexQuery
from cinder.store.procedure import Procedure, Statement
from cinder.store.timed import TimedDatabase

# Searches cost the database the most, and those who save pages need its connections as well.
_SEARCHES_AT_ONCE = 4

_COUNT = "SELECT count(*) AS n FROM webhook.indexed_pages"


class StoredPageIndex:
    """Finds the pages of a database. See `cinder.store.index_base.PageIndex`."""

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
        self._finder = Finder(
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
        await self._enter_all(lambda after: rebuilding.read_entries(after, self._dialect))
        await self._enter_all(rebuilding.read_set_aside)
        return await self.count()

    def read_page(self, document: Document) -> PageText | None:
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

    async def _enter_all(self, read: Callable[[int], Procedure[list[rebuilding.Kept]]]) -> None:
        after = 0
        while kept := await self._read_batch(read, after):
            readings = await asyncio.to_thread(self._read_pages, kept)
            await self._enter(readings)
            after = kept[-1].id

    async def _read_batch(
        self, read: Callable[[int], Procedure[list[rebuilding.Kept]]], after: int
    ) -> list[rebuilding.Kept]:
        return await self._database.read("rebuild_index", lambda: read(after))

    async def _enter(self, readings: Sequence[rebuilding.Reading]) -> None:
        await self._database.write(
            "rebuild_index", lambda: rebuilding.enter_anew(readings, self.full_text)
        )

    def _read_pages(self, kept: Sequence[rebuilding.Kept]) -> list[rebuilding.Reading]:
        return [rebuilding.Reading(one.place, self._read_kept(one.document)) for one in kept]

    def _read_kept(self, document: Document | None) -> PageText | None:
        return None if document is None else self.read_page(document)


def _count() -> Procedure[int]:
    rows = yield Statement(_COUNT)
    return int(rows[0]["n"])
