"""Saves, revalidates and deletes documents and their versions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from cinder.models.document import VerdictKind
from cinder.models.saved import SavedDocument
from cinder.store.database import (
    Query,
    Repository,
    SqlDialect,
    SqlRow,
    Statement,
    WriteConflict,
    fingerprint,
    to_milliseconds,
    writes,
)
from cinder.store.document_rows import (
    ENTRY_COLUMNS,
    EntryRow,
    VersionRow,
    archive_version,
    decode_verdict,
    hash_url,
)
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.index.indexing import IndexedVersion, PageEntry, extend_page, index_page

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
