"""The store: cached documents and their versions, with the other parts in the same database."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Self

import structlog

from cinder.background import BackgroundTasks
from cinder.errors import CacheFailed, DatabaseDamaged, StorageFull
from cinder.lru_cache import LruCache, bytes_in_memory
from cinder.models.document import Document
from cinder.models.saved import SavedDocument, Version
from cinder.store.counts import StoredCounts
from cinder.store.database import (
    Database,
    Query,
    QueryObserver,
    Statement,
    from_milliseconds,
    to_milliseconds,
)
from cinder.store.disk_full import DiskFullGuard
from cinder.store.document_reads import DocumentReads, EntryHead, EntrySummary, measure_entry
from cinder.store.document_rows import EntryKey, encode_entry, encode_version
from cinder.store.document_writes import DocumentRows, DocumentWrites, save_document
from cinder.store.index.indexing import PageEntry
from cinder.store.index.page_index import PageIndex
from cinder.store.index.ranking import Embedder
from cinder.store.ledger import Ledger, Outbox, PageCommit
from cinder.store.migration import require_current
from cinder.store.recipe_book import RecipeBook
from cinder.store.tokens import TokenStore

# Entries whose accesses are counted between two writes; those of further entries are lost.
MAX_PENDING = 10_000

FLUSH_SECONDS = 1.0
_IN_PLACE_CHARS = 256 * 1024

# The newest rows of what requests read and write; of a page its text, because all of it may be
# megabytes.
_SAMPLES = (
    "SELECT id, document, cleaned_content FROM webhook.scrape_cache ORDER BY id DESC LIMIT 1",
    "SELECT * FROM webhook.saved_versions ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.indexed_pages ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.frontier ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.tokens LIMIT 10",
)

log = structlog.get_logger()


class AccessCounts:
    """How often each entry was read since the counts were last written, and when last."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[int, datetime]] = {}

    def add(self, cache_key: str, at: datetime, count: int = 1) -> None:
        """Count reads of an entry."""
        before, last = self._pending.get(cache_key, (0, at))
        if before or len(self._pending) < MAX_PENDING:
            self._pending[cache_key] = (before + count, max(last, at))

    def take(self) -> Mapping[str, tuple[int, datetime]]:
        """Return the counts and reset them."""
        taken, self._pending = self._pending, {}
        return taken

    def give_back(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add counts that could not be written."""
        for cache_key, (count, last) in counts.items():
            self.add(cache_key, last, count)


class Store(DocumentReads, DocumentWrites):
    """Keeps scraped documents: the newest under its cache key, every version under its URI.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    def __init__(
        self,
        database: Database,
        *,
        observe: QueryObserver,
        clock: Callable[[], datetime],
        embedder: Embedder | None = None,
        memory_bytes: int = 0,
    ) -> None:
        """Keep recently read documents in memory as well, up to `memory_bytes`."""
        guard = self._guard = DiskFullGuard(database)
        super().__init__(guard, observe=observe, clock=clock)
        self.ledger = Ledger(guard, observe=observe, clock=clock)
        self.outbox = Outbox(guard, observe=observe, clock=clock)
        self.index = PageIndex(guard, observe=observe, clock=clock, embedder=embedder)
        self.recipes = RecipeBook(guard, observe=observe, clock=clock)
        self.tokens = TokenStore(guard, observe=observe, clock=clock)
        self.counts = StoredCounts(guard, observe=observe, clock=clock)
        self._access = AccessCounts()
        self._recent: LruCache[EntryHead, SavedDocument] = LruCache(memory_bytes)
        self._closing = asyncio.Event()
        self._tasks = BackgroundTasks()

    async def __aenter__(self) -> Self:
        await self._guard.open()
        await self._tasks.__aenter__()
        self._tasks.start(self._flush_until_closed())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        try:
            await self._tasks.__aexit__()
        finally:
            await self._guard.close()

    async def find(self, cache_key: str) -> SavedDocument | None:
        """Return the newest document under this key, unless it has expired; count the access.

        Another process may have replaced, revalidated or deleted it, so each call reads a few short
        columns of the entry, and the document only if it is not in memory.
        """
        with self._timed("find"):
            head = await self._database.read(lambda: self._find_head(cache_key), is_small=True)
            found = None if head is None else self._recent.get(head)
            if head is not None and found is None:
                entry = await self._database.read(
                    lambda: self._find_entry(cache_key), measure=lambda: measure_entry(cache_key)
                )
                if entry is not None:
                    head, found = entry
                    # What readers derive from a text is about as large as the text.
                    size = bytes_in_memory(found.document)
                    size += len(found.document.content.markdown or "")
                    self._recent.put(head, found, size)
        if found is not None:
            self._access.add(cache_key, self._clock())
        return found

    async def save(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
    ) -> SavedDocument:
        """Store a document as the newest under its key; the one before stays readable by URI.

        NULs and lone surrogates, which PostgreSQL cannot store, become U+FFFD. The page commit is
        written in the same transaction.
        """
        saved = await self._save(document, key, page_commit, unless_good_at=None)
        if saved is None:
            raise LookupError(key.cache_key)
        return saved

    async def save_unless_good(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
    ) -> SavedDocument | None:
        """Save a document, but not over one whose verdict is `ok`; None if there is one."""
        return await self._save(document, key, page_commit, unless_good_at=self._clock())

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return every cache entry of a URL, newest first."""
        await self._flush()
        return await self._list_entries(url)

    async def delete_expired(self, now: datetime) -> int:
        """Delete what has expired by then; return how many versions were deleted."""
        deleted = 0
        while count := await self._delete_expired_chunk(now):
            deleted += count
        return deleted

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be stored: the disk was full, and no space was found since."""
        return self._guard.is_full

    async def check(self) -> None:
        """Return if the database answers, is undamaged and current, and can be written.

        Damage that was found once is reported until a restart, because nothing here repairs it.
        """
        if self._guard.is_full:
            raise StorageFull
        if self._guard.damage is not None:
            raise DatabaseDamaged(self._guard.damage.message)
        with self._timed("check"):
            await self._guard.write_mark()
            await self._guard.read(_read_samples)
            await self._guard.inspect()

    async def _save(
        self,
        document: Document,
        key: EntryKey,
        page_commit: PageCommit | None,
        *,
        unless_good_at: datetime | None,
    ) -> SavedDocument | None:
        def write() -> Query[SavedDocument | None]:
            saved_at = yield from save_document(
                rows, requested_at, self._dialect, unless_good_at=unless_good_at
            )
            saved = None
            if saved_at is not None:
                version = Version(rows.version.place, from_milliseconds(saved_at))
                saved = SavedDocument(document, version, key.cache_key)
            if page_commit is not None:
                yield from page_commit.write(saved)
            return saved

        with self._timed("save"):
            requested_at = to_milliseconds(document.scraped_at)
            rows = await self._encode(document, key)
            together = None if page_commit is None else page_commit.job_id
            return await self._database.write(write, together=together)

    async def _encode(self, document: Document, key: EntryKey) -> DocumentRows:
        """Return a document's rows; a large one is encoded in a thread, to not block the loop.

        A small one is compressed faster than a thread is woken, and without GIL contention: a crawl
        takes a tenth less CPU time.
        """
        content = document.content
        texts = (content.text, content.markdown, content.html, document.extracted)
        is_small = sum(len(text) for text in texts if text) <= _IN_PLACE_CHARS
        if is_small and not self.index.has_embeddings:
            return self._encode_now(document, key)
        return await asyncio.to_thread(self._encode_now, document, key)

    def _encode_now(self, document: Document, key: EntryKey) -> DocumentRows:
        page = self.index.read_page(document)
        try:
            return DocumentRows(
                encode_entry(document, key, self._dialect),
                encode_version(document, key, self._dialect),
                None if page is None else PageEntry(page, self.index.full_text),
            )
        except RecursionError as exc:
            raise CacheFailed(
                "The page's structured data is nested too deeply to be stored", url=document.url
            ) from exc

    async def _flush_until_closed(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._closing.wait()
            if self._guard.is_full:
                await self._guard.probe()
            await self._flush()

    async def _flush(self) -> None:
        counts = self._access.take()
        if not counts:
            return
        try:
            await self._count_accesses(counts)
        except Exception as exc:  # noqa: BLE001 - a worker's outermost loop, which tries again
            self._access.give_back(counts)
            log.warning("access counts could not be written yet", error=str(exc))


def _read_samples() -> Query[None]:
    rows = yield Statement("SELECT version_num FROM webhook.alembic_version")
    require_current(rows[0]["version_num"] if rows else None)
    for sql in _SAMPLES:
        yield Statement(sql)
