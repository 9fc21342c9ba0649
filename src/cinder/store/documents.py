"""The document store: cached documents and their saved versions, in one database."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Self, TypeAlias, TypeVar

import structlog

from cinder.background import BackgroundTasks
from cinder.errors import CacheFailed, DatabaseDamaged, StorageFull
from cinder.lru_cache import LruCache, bytes_in_memory
from cinder.models.document import Document
from cinder.models.saved import SavedBody, SavedDocument, SavedKind, SavedListing, Version
from cinder.store import document_reads, document_writes
from cinder.store.base import Embedder, EntryKey, EntrySummary, QueryObserver
from cinder.store.counts import StoredCounts
from cinder.store.database import Database, Query, scrub
from cinder.store.disk_full import DiskFullGuard, write_mark
from cinder.store.document_rows import (
    EntryRow,
    VersionRow,
    encode_entry,
    encode_version,
    from_milliseconds,
    to_milliseconds,
)
from cinder.store.index.indexing import PageEntry
from cinder.store.index.page_index import StoredPageIndex
from cinder.store.ledger.job_ledger import JobLedger, JobOutbox
from cinder.store.ledger_base import PageCommit
from cinder.store.migration import require_current
from cinder.store.recipe_book import StoredRecipeBook
from cinder.store.tokens import StoredTokens

# Entries counted between two writings; while the database cannot be written, more are not.
MAX_PENDING = 10_000


class AccessCounts:
    """How often each entry was read since the counts were last taken, and when last."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[int, datetime]] = {}

    def add(self, cache_key: str, at: datetime, count: int = 1) -> None:
        """Count that an entry was read."""
        before, last = self._pending.get(cache_key, (0, at))
        if before or len(self._pending) < MAX_PENDING:
            self._pending[cache_key] = (before + count, max(last, at))

    def take(self) -> Mapping[str, tuple[int, datetime]]:
        """Return the counts and begin anew."""
        taken, self._pending = self._pending, {}
        return taken

    def give_back(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add counts that were taken but could not be written."""
        for cache_key, (count, last) in counts.items():
            self.add(cache_key, last, count)


T = TypeVar("T")

FLUSH_SECONDS = 1.0
MAX_ID = 2**63 - 1
MAX_LISTED = 1000
_IN_PLACE_CHARS = 256 * 1024

# The entry, the version, and what the local index takes of the page, if it takes it.
_Rows: TypeAlias = tuple[EntryRow, VersionRow, PageEntry | None]

log = structlog.get_logger()


class DocumentStore:
    """Keeps documents in a database. See `cinder.store.base.Store`."""

    def __init__(
        self,
        database: Database,
        *,
        observe: QueryObserver,
        clock: Callable[[], datetime],
        embedder: Embedder | None = None,
        memory_bytes: int = 0,
    ) -> None:
        """Keep the documents that were read lately in memory as well, up to `memory_bytes`."""
        database = self._database = DiskFullGuard(database)
        self._dialect = database.dialect
        self._observe = observe
        self._clock = clock
        self._ledger = JobLedger(database, observe=observe, clock=clock)
        self._outbox = JobOutbox(database, observe=observe, clock=clock)
        self._index = StoredPageIndex(database, observe=observe, clock=clock, embedder=embedder)
        self._recipes = StoredRecipeBook(database, observe=observe, clock=clock)
        self._tokens = StoredTokens(database, observe=observe, clock=clock)
        self._counts = StoredCounts(database, observe=observe, clock=clock)
        self._access = AccessCounts()
        self._recent: LruCache[document_reads.EntryHead, SavedDocument] = LruCache(memory_bytes)
        self._closing = asyncio.Event()
        self._tasks = BackgroundTasks()

    async def __aenter__(self) -> Self:
        await self._database.open()
        await self._tasks.__aenter__()
        self._tasks.start(self._flush_until_closed())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        try:
            await self._tasks.__aexit__()
        finally:
            await self._database.close()

    async def find(self, cache_key: str) -> SavedDocument | None:
        """Return the newest document under this key, unless it has expired; count the access."""
        now = self._clock()
        found = await self._timed("find", self._find(cache_key, now))
        if found is not None:
            self._access.add(cache_key, now)
        return found

    async def find_comparable(
        self, url: str, content_key: str, caller: str
    ) -> SavedDocument | None:
        """Return the newest document of a URL under this content key that the caller may see."""
        now = self._clock()
        return await self._timed(
            "find_comparable",
            self._database.read(
                lambda: document_reads.find_comparable(url, content_key, caller, now, self._dialect)
            ),
        )

    async def find_versions(
        self, versions: Sequence[Version], caller: str, *, with_raw: bool = True
    ) -> list[SavedDocument | None]:
        """Return the document of each version; None where there is none this caller may see.

        Without what the server sent, be it text or a file, far less is read.
        """
        now = self._clock()
        return await self._timed(
            "find_versions",
            self._database.read(
                lambda: document_reads.find_versions(
                    versions, caller, now, self._dialect, with_raw=with_raw
                )
            ),
        )

    @property
    def ledger(self) -> JobLedger:
        """The jobs in the same database."""
        return self._ledger

    @property
    def outbox(self) -> JobOutbox:
        """What webhooks are to be told of those jobs."""
        return self._outbox

    @property
    def recipes(self) -> StoredRecipeBook:
        """What was learned of sites, in the same database."""
        return self._recipes

    @property
    def index(self) -> StoredPageIndex:
        """The pages in the same database, to be found by their words."""
        return self._index

    @property
    def tokens(self) -> StoredTokens:
        """The tokens of callers."""
        return self._tokens

    @property
    def counts(self) -> StoredCounts:
        """Counts that all who share the database share."""
        return self._counts

    async def save(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
    ) -> SavedDocument:
        """Keep a document as the newest under its key; what was newest stays readable by URI.

        NULs and lone surrogates, which PostgreSQL cannot hold, are kept as U+FFFD. The settlement
        is written in the same transaction.
        """
        return await self._timed("save", self._save(document, key, page_commit))

    async def save_unless_good(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
    ) -> SavedDocument | None:
        """Save a document, but not over one whose verdict is `ok`; None if there is one."""
        return await self._timed("save", self._save_unless_good(document, key, page_commit))

    async def mark_revalidated(
        self, saved: SavedDocument, at: datetime, expires_at: datetime
    ) -> None:
        """Note that the origin confirmed a document to be current, if it still is the newest."""
        await self._timed(
            "mark_revalidated",
            self._database.write(
                lambda: document_writes.mark_revalidated(saved, at, expires_at, self._dialect)
            ),
        )

    async def read(self, version: Version, kind: SavedKind, caller: str) -> SavedBody | None:
        """Return one body of a saved version, or None where there is none this caller may see."""
        now = self._clock()
        return await self._timed(
            "read",
            self._database.read(
                lambda: document_reads.read_body(version, kind, caller, now, self._dialect)
            ),
        )

    async def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> list[SavedListing]:
        """Return saved versions the caller may see, newest first, from below an id.

        At most 1,000 at once, whatever the limit.
        """
        below = MAX_ID if before_id is None else max(0, min(before_id, MAX_ID))
        count = max(0, min(limit, MAX_LISTED))
        now = self._clock()
        return await self._timed(
            "list_saved",
            self._database.read(
                lambda: document_reads.list_versions(caller, below, count, now, self._dialect)
            ),
        )

    async def list_versions(
        self, place: str, caller: str, *, limit: int, plain_only: bool = False
    ) -> list[Version]:
        """Return the versions of one page that the caller may see, newest first.

        Plain are those that no headers, selectors, actions or prompt of a caller's shaped.
        """
        count, now = max(0, min(limit, MAX_LISTED)), self._clock()
        return await self._timed(
            "list_versions",
            self._database.read(
                lambda: document_reads.list_versions_of(
                    place, caller, count, now, self._dialect, plain_only=plain_only
                )
            ),
        )

    async def list_places(self, beginning: str, caller: str, *, limit: int) -> list[str]:
        """Return the pages lately saved whose places begin so, the newest first."""
        count, now = max(0, min(limit, MAX_LISTED)), self._clock()
        return await self._timed(
            "list_places",
            self._database.read(
                lambda: document_reads.list_places(
                    scrub(beginning), caller, count, now, self._dialect
                )
            ),
        )

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return every cache entry of a URL, newest first."""
        await self._flush()
        now = self._clock()
        return await self._timed(
            "list_entries",
            self._database.read(lambda: document_reads.list_entries(url, now, self._dialect)),
        )

    async def invalidate_url(self, url: str) -> int:
        """Delete every cache entry of a URL with all its versions; return how many entries."""
        return await self._timed(
            "invalidate_url", self._database.write(lambda: document_writes.delete_url(url))
        )

    async def delete_expired(self, now: datetime) -> int:
        """Delete what has expired by then; return how many versions went."""
        deleted = 0
        while count := await self._timed(
            "delete_expired",
            self._database.write(lambda: document_writes.delete_expired_chunk(now, self._dialect)),
        ):
            deleted += count
        return deleted

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be kept: the disk was full, and no room was found since."""
        return self._database.is_full

    async def check(self) -> None:
        """Return if the database answers, is whole and current, has room and takes what is written.

        What was once found to be damaged stays so until a restart: nothing here mends it.
        """
        if self._database.is_full:
            raise StorageFull
        if self._database.damage is not None:
            raise DatabaseDamaged(self._database.damage.message)
        version = await self._timed(
            "check", self._database.read(document_reads.read_schema_version)
        )
        require_current(version)
        mark = os.urandom(8)
        await self._timed("check", self._database.write(lambda: write_mark(mark)))
        await self._timed("check", self._database.read(document_reads.read_samples))
        await self._timed("check", self._database.inspect())

    async def _find(self, cache_key: str, now: datetime) -> SavedDocument | None:
        """Ask which document is the newest, and read it only if it was not read lately.

        Another process may have replaced, confirmed or deleted it: so the database is asked each
        time, but for a few short columns.
        """
        head = await self._database.read(
            lambda: document_reads.find_head(cache_key, now, self._dialect), is_small=True
        )
        if head is None:
            return None
        known = self._recent.get(head)
        if known is not None:
            return known
        entry = await self._database.read(
            lambda: document_reads.find_entry(cache_key, now, self._dialect),
            measure=lambda: document_reads.measure_entry(cache_key),
        )
        if entry is None:
            return None
        document = entry.saved.document
        # What readers derive of a text is about as large as the text.
        size = bytes_in_memory(document) + len(document.content.markdown or "")
        self._recent.put(entry.head, entry.saved, size)
        return entry.saved

    async def _save(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None
    ) -> SavedDocument:
        entry, version, page = await self._encode(document, key)
        wanted = to_milliseconds(document.scraped_at)

        def write() -> Query[SavedDocument]:
            saved_at = yield from document_writes.save_document(
                entry, version, page, wanted, self._dialect
            )
            saved = _named(document, version, saved_at, key)
            if page_commit is not None:
                yield from page_commit.write(saved)
            return saved

        return await self._database.write(write, together=_job_of(page_commit))

    async def _save_unless_good(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None
    ) -> SavedDocument | None:
        entry, version, page = await self._encode(document, key)
        wanted, now = to_milliseconds(document.scraped_at), self._clock()

        def write() -> Query[SavedDocument | None]:
            saved_at = yield from document_writes.save_unless_good(
                entry, version, page, wanted, now, self._dialect
            )
            saved = None if saved_at is None else _named(document, version, saved_at, key)
            if page_commit is not None:
                yield from page_commit.write(saved)
            return saved

        return await self._database.write(write, together=_job_of(page_commit))

    async def _encode(self, document: Document, key: EntryKey) -> _Rows:
        """Return a document's rows; a large one's in a thread, as it would hold up the loop.

        A small one is compressed sooner than a thread is woken, and that wakes the fight over the
        interpreter as well: a crawl takes a tenth less CPU time without.
        """
        is_small = _text_length(document) <= _IN_PLACE_CHARS
        if is_small and not self._index.has_embeddings:
            return self._encode_in_place(document, key)
        return await asyncio.to_thread(self._encode_in_place, document, key)

    def _encode_in_place(self, document: Document, key: EntryKey) -> _Rows:
        page = self._index.read_page(document)
        try:
            return (
                encode_entry(document, key, self._dialect),
                encode_version(document, key, self._dialect),
                None if page is None else PageEntry(page, self._index.full_text),
            )
        except RecursionError as exc:
            raise CacheFailed(
                "The page's structured data is nested too deeply to be kept", url=document.url
            ) from exc

    async def _timed(self, operation: str, work: Awaitable[T]) -> T:
        start = time.perf_counter()
        try:
            return await work
        finally:
            self._observe(operation, time.perf_counter() - start)

    async def _flush_until_closed(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._closing.wait()
            if self._database.is_full:
                await self._database.probe()
            await self._flush()

    async def _flush(self) -> None:
        counts = self._access.take()
        if not counts:
            return
        try:
            await self._timed(
                "count_accesses",
                self._database.write(lambda: document_writes.count_accesses(counts, self._dialect)),
            )
        except Exception as exc:  # noqa: BLE001 - a worker's outermost loop: it tries again later
            self._access.give_back(counts)
            log.warning("access counts are not written yet", error=str(exc))


def _job_of(page_commit: PageCommit | None) -> str | None:
    return None if page_commit is None else page_commit.job_id


def _text_length(document: Document) -> int:
    content = document.content
    texts = (content.text, content.markdown, content.html, document.extracted)
    return sum(len(text) for text in texts if text)


def _named(document: Document, version: VersionRow, saved_at: int, key: EntryKey) -> SavedDocument:
    return SavedDocument(
        document, Version(version.place, from_milliseconds(saved_at)), key.cache_key
    )
