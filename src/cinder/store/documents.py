"""The store of documents: the newest of each key, and every saved version."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, Self

import structlog

from cinder.background import BackgroundTasks
from cinder.errors import CacheFailed, DatabaseDamaged, StorageFull
from cinder.lru_cache import LruCache, bytes_in_memory
from cinder.models.document import Document, StoredForm, VerdictKind
from cinder.models.saved import SavedDocument, Version
from cinder.store.counts import StoredCounts
from cinder.store.database import (
    Database,
    Query,
    QueryObserver,
    Repository,
    SqlDialect,
    SqlRow,
    Statement,
    WriteConflict,
    fingerprint,
    from_milliseconds,
    to_milliseconds,
    writes,
)
from cinder.store.disk_full import DiskFullGuard
from cinder.store.document_reads import DocumentReads, EntryHead, EntrySummary, measure_entry
from cinder.store.document_rows import (
    ENTRY_COLUMNS,
    EntryKey,
    EntryRow,
    VersionRow,
    archive_version,
    decode_verdict,
    encode_entry,
    encode_version,
    hash_url,
)
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.index.indexing import IndexedVersion, PageEntry, extend_page, index_page
from cinder.store.index.page_index import PageIndex
from cinder.store.index.ranking import Embedder
from cinder.store.ledger import Ledger
from cinder.store.ledger.outbox import Outbox
from cinder.store.ledger.page_commits import PageCommit
from cinder.store.migration import require_current
from cinder.store.recipe_book import RecipeBook
from cinder.store.tokens import TokenStore

# Versions deleted in one transaction, so that saves wait only briefly.
CHUNK = 200

_LOCK_ENTRY = BulkLookup(
    stage=WriteStage.LOCK_ENTRY,
    sql=f"""
SELECT cache_key, expires_at, {ENTRY_COLUMNS} FROM webhook.scrape_cache
 WHERE cache_key = ANY($1) ORDER BY cache_key FOR UPDATE
""",  # noqa: S608 - constant columns
    key="cache_key",
)

_ADD_VERSION = BulkInsert(
    stage=WriteStage.ADD_VERSION,
    sql="""
INSERT INTO webhook.saved_versions (
    place_hash, place, url, url_hash, cache_key, owner, title, kind, mime, size, expires_at,
    saved_at)
VALUES {rows}
ON CONFLICT (place_hash, saved_at) DO NOTHING
RETURNING id, place_hash, saved_at
""",
    row="($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    width=12,
    key=(("place_hash", 0), ("saved_at", 11)),
)

_TAKEN_TIMES = """
SELECT saved_at FROM webhook.saved_versions
 WHERE place_hash = $1 AND saved_at >= $2 ORDER BY saved_at LIMIT 1000
"""

_ADD_ENTRY = BulkInsert(
    stage=WriteStage.ADD_ENTRY,
    sql="""
INSERT INTO webhook.scrape_cache (
    url, url_hash, cache_key, owner, source, strategy_used, content_type, extract_query,
    scrape_options, content_length_raw, content_length_cleaned, content_length_extracted,
    scraped_at, expires_at, screenshot_format, document, raw_content, cleaned_content,
    extracted_content, screenshot, version_id)
VALUES {rows}
ON CONFLICT (cache_key) DO NOTHING
RETURNING version_id
""",
    row="""
($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
""",
    width=21,
    key=(("version_id", 20),),
)

_REPLACE_ENTRY = """
UPDATE webhook.scrape_cache SET
    url = $1, url_hash = $2, owner = $4, source = $5, strategy_used = $6, content_type = $7,
    extract_query = $8, scrape_options = $9, content_length_raw = $10,
    content_length_cleaned = $11, content_length_extracted = $12, scraped_at = $13,
    expires_at = $14, screenshot_format = $15, document = $16, raw_content = $17,
    cleaned_content = $18, extracted_content = $19, screenshot = $20, version_id = $21
WHERE cache_key = $3
RETURNING version_id
"""

_REVALIDATE_ENTRY = """
UPDATE webhook.scrape_cache SET scraped_at = $2, expires_at = $3
 WHERE cache_key = $1 AND version_id = (
       SELECT id FROM webhook.saved_versions WHERE place_hash = $4 AND saved_at = $5)
RETURNING version_id
"""

_PROLONG_VERSION = "UPDATE webhook.saved_versions SET expires_at = $2 WHERE id = $1"

_COUNT_ACCESSES = """
UPDATE webhook.scrape_cache SET access_count = access_count + $2, last_accessed_at = $3
 WHERE cache_key = $1
"""

_EXPIRED_VERSIONS = """
SELECT id FROM webhook.saved_versions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2
"""

# A version may have been revalidated since it was listed, so the time is compared again.
_DROP_EXPIRED_ENTRIES = """
DELETE FROM webhook.scrape_cache WHERE version_id = ANY($1) AND expires_at <= $2
"""

_DROP_EXPIRED_VERSIONS = """
DELETE FROM webhook.saved_versions WHERE id = ANY($1) AND expires_at <= $2 RETURNING id
"""

_DROP_ENTRIES_OF_URL = "DELETE FROM webhook.scrape_cache WHERE url_hash = $1 RETURNING id"

_VERSIONS_OF_URL = "SELECT id FROM webhook.saved_versions WHERE url_hash = $1 LIMIT $2"

_DROP_VERSIONS = "DELETE FROM webhook.saved_versions WHERE id = ANY($1)"

_BODIES_OF_VERSIONS = """
SELECT DISTINCT hash FROM webhook.version_bodies WHERE version_id = ANY($1) ORDER BY hash
"""

_DROP_UNUSED_BODIES = """
DELETE FROM webhook.bodies
 WHERE hash = ANY($1)
   AND NOT EXISTS (SELECT 1 FROM webhook.version_bodies vb WHERE vb.hash = bodies.hash)
"""


class DocumentRows(NamedTuple):
    """What is written of a document: its entry, its version, and its page in the index."""

    entry: EntryRow
    version: VersionRow
    page: PageEntry | None
    """None where the index takes nothing of the document."""


def save_document(
    document: DocumentRows, saved_at: int, dialect: SqlDialect, *, unless_good_at: datetime | None
) -> Query[int | None]:
    """Make a document the newest of its entry, and index its page.

    Return the time, in ms, that identifies its version; None, with nothing written, where the entry
    has a good document that has not expired at `unless_good_at`.
    """
    replaced = yield _LOCK_ENTRY.find(document.entry.cache_key)
    if unless_good_at is not None and any(
        dialect.unpack_timestamp(row["expires_at"]) > unless_good_at
        and decode_verdict(row, dialect).kind is VerdictKind.OK
        for row in replaced
    ):
        return None
    version_id, saved_at = yield from _add_version(document.version, saved_at)
    for row in replaced:
        yield from archive_version(row, dialect)
    # Two statements: one that does either would wait for the lock of an earlier writer, which may
    # be waiting for this version's path.
    if replaced:
        written = yield Statement(_REPLACE_ENTRY, (*document.entry, version_id))
    else:
        written = yield _ADD_ENTRY.write(*document.entry, version_id)
    if not written:
        raise WriteConflict
    if document.page is not None:
        place = IndexedVersion(
            version_id=version_id,
            saved_at=saved_at,
            url_hash=document.version.url_hash,
            owner=document.version.owner,
            expires_at=document.version.expires_at,
        )
        yield from index_page(document.page.page, place, document.page.full_text)
    return saved_at


class DocumentWrites(Repository):
    """The operations that revalidate and delete documents."""

    @writes("mark_revalidated")
    def mark_revalidated(
        self, saved: SavedDocument, at: datetime, expires_at: datetime
    ) -> Query[None]:
        """Record that the origin confirmed a document, if it still is the newest."""
        pack = self._dialect.pack_timestamp
        version, expiry = saved.version, pack(expires_at)
        name = (fingerprint(version.place), to_milliseconds(version.saved_at))
        rows = yield Statement(_REVALIDATE_ENTRY, (saved.cache_key, pack(at), expiry, *name))
        for row in rows:
            yield Statement(_PROLONG_VERSION, (row["version_id"], expiry))
            yield from extend_page(row["version_id"], expiry)

    @writes("count_accesses")
    def _count_accesses(self, counts: Mapping[str, tuple[int, datetime]]) -> Query[None]:
        # In order, so that two of these at once cannot deadlock.
        for cache_key, (count, last) in sorted(counts.items()):
            args = (cache_key, count, self._dialect.pack_timestamp(last))
            yield Statement(_COUNT_ACCESSES, args)

    @writes("delete_expired")
    def _delete_expired_chunk(self, now: datetime) -> Query[int]:
        timestamp = self._dialect.pack_timestamp(now)
        versions = _ids((yield Statement(_EXPIRED_VERSIONS, (timestamp, CHUNK))))
        if not versions:
            return 0
        # Entries first, as saves lock them: in the other order the two could deadlock.
        yield Statement(_DROP_EXPIRED_ENTRIES, (versions, timestamp))
        bodies = yield Statement(_BODIES_OF_VERSIONS, (versions,))
        deleted = yield Statement(_DROP_EXPIRED_VERSIONS, (versions, timestamp))
        yield Statement(_DROP_UNUSED_BODIES, ([row["hash"] for row in bodies],))
        return len(deleted)

    @writes("invalidate_url")
    def invalidate_url(self, url: str) -> Query[int]:
        """Delete every cache entry of a URL with all its versions; return how many entries."""
        url_hash = hash_url(url)
        entries = yield Statement(_DROP_ENTRIES_OF_URL, (url_hash,))
        while versions := _ids((yield Statement(_VERSIONS_OF_URL, (url_hash, CHUNK)))):
            bodies = yield Statement(_BODIES_OF_VERSIONS, (versions,))
            yield Statement(_DROP_VERSIONS, (versions,))
            yield Statement(_DROP_UNUSED_BODIES, ([row["hash"] for row in bodies],))
        return len(entries)


def _add_version(version: VersionRow, saved_at: int) -> Query[tuple[int, int]]:
    """Add a version at the first free millisecond; return its id and that time."""
    while True:
        added = yield _ADD_VERSION.write(*version, saved_at)
        if added:
            return added[0]["id"], saved_at
        rows = yield Statement(_TAKEN_TIMES, (version.place_hash, saved_at))
        taken = {row["saved_at"] for row in rows}
        while saved_at in taken:
            saved_at += 1


def _ids(rows: Sequence[SqlRow]) -> list[int]:
    return [row["id"] for row in rows]


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
    def stored_form(self) -> StoredForm:
        """How it writes long texts."""
        return self._dialect.stored_form

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
