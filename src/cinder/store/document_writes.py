"""Queries that save, revalidate and delete documents and their versions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from cinder.models.document import VerdictKind
from cinder.models.saved import SavedDocument
from cinder.store.database import Query, SqlDialect, SqlRow, Statement, WriteConflict, fingerprint
from cinder.store.document_rows import (
    ENTRY_COLUMNS,
    EntryRow,
    VersionRow,
    archive_version,
    decode_verdict,
    hash_url,
    to_milliseconds,
)
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.index.indexing import IndexedVersion, PageEntry, extend_page, index_page

_LOCK_ENTRY = BulkLookup(
    stage=WriteStage.LOCK_ENTRY,
    sql=f"""
SELECT cache_key, expires_at, {ENTRY_COLUMNS} FROM webhook.scrape_cache
 WHERE cache_key = ANY($1) ORDER BY cache_key FOR UPDATE
""",  # noqa: S608 - columns of ours
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


class _Save(NamedTuple):
    entry: EntryRow
    version: VersionRow
    page: PageEntry | None
    saved_at: int


def save_document(
    entry: EntryRow, version: VersionRow, page: PageEntry | None, saved_at: int, dialect: SqlDialect
) -> Query[int]:
    """Make a document the newest of its entry, and its page one that can be found.

    Return the time, in ms, that names its version.
    """
    replaced = yield _LOCK_ENTRY.find(entry.cache_key)
    return (yield from _replace(_Save(entry, version, page, saved_at), replaced, dialect))


def save_unless_good(
    entry: EntryRow,
    version: VersionRow,
    page: PageEntry | None,
    saved_at: int,
    now: datetime,
    dialect: SqlDialect,
) -> Query[int | None]:
    """Do the same, unless the entry holds a good document that has not expired: return None."""
    replaced = yield _LOCK_ENTRY.find(entry.cache_key)
    if any(_is_good(row, now, dialect) for row in replaced):
        return None
    return (yield from _replace(_Save(entry, version, page, saved_at), replaced, dialect))


def _is_good(entry: SqlRow, now: datetime, dialect: SqlDialect) -> bool:
    is_current = dialect.unpack_moment(entry["expires_at"]) > now
    return is_current and decode_verdict(entry, dialect).kind is VerdictKind.OK


def _replace(save: _Save, replaced: Sequence[SqlRow], dialect: SqlDialect) -> Query[int]:
    version_id, saved_at = yield from _add_version(save.version, save.saved_at)
    for row in replaced:
        yield from archive_version(row, dialect)
    # Two statements: one that does either would wait for the lock of a writer who came first,
    # and that writer may be waiting for this version's place.
    if replaced:
        written = yield Statement(_REPLACE_ENTRY, (*save.entry, version_id))
    else:
        written = yield _ADD_ENTRY.write(*save.entry, version_id)
    if not written:
        raise WriteConflict
    if save.page is not None:
        place = IndexedVersion(
            version_id=version_id,
            saved_at=saved_at,
            url_hash=save.version.url_hash,
            owner=save.version.owner,
            expires_at=save.version.expires_at,
        )
        yield from index_page(save.page.page, place, save.page.full_text)
    return saved_at


def mark_revalidated(
    saved: SavedDocument, at: datetime, expires_at: datetime, dialect: SqlDialect
) -> Query[None]:
    """Note when a document, if it is still the newest, was confirmed, and keep it for longer."""
    expiry = dialect.pack_moment(expires_at)
    place_hash, saved_at = fingerprint(saved.version.place), to_milliseconds(saved.version.saved_at)
    args = (saved.cache_key, dialect.pack_moment(at), expiry, place_hash, saved_at)
    rows = yield Statement(_REVALIDATE_ENTRY, args)
    for row in rows:
        yield Statement(_PROLONG_VERSION, (row["version_id"], expiry))
        yield from extend_page(row["version_id"], expiry)


def count_accesses(counts: Mapping[str, tuple[int, datetime]], dialect: SqlDialect) -> Query[None]:
    """Add how often entries were read, and note when last."""
    # In order, so that two of these at once cannot wait for each other.
    for cache_key, (count, last) in sorted(counts.items()):
        yield Statement(_COUNT_ACCESSES, (cache_key, count, dialect.pack_moment(last)))


def _add_version(version: VersionRow, saved_at: int) -> Query[tuple[int, int]]:
    """Register a version at the first free millisecond; return its id and that time."""
    while True:
        added = yield _ADD_VERSION.write(*version, saved_at)
        if added:
            return added[0]["id"], saved_at
        rows = yield Statement(_TAKEN_TIMES, (version.place_hash, saved_at))
        saved_at = _first_gap(saved_at, [row["saved_at"] for row in rows])


def _first_gap(start: int, taken: list[int]) -> int:
    for expected, time in enumerate(taken, start):
        if time != expected:
            return expected
    return start + len(taken)


# Versions deleted in one transaction, so that savers are never kept waiting for long.
CHUNK = 200

_EXPIRED_VERSIONS = """
SELECT id FROM webhook.saved_versions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2
"""

# A version may have been confirmed to be current since it was listed: the time counts again.
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


def delete_expired_chunk(now: datetime, dialect: SqlDialect) -> Query[int]:
    """Delete up to `CHUNK` versions that have expired; return how many went."""
    moment = dialect.pack_moment(now)
    versions = _ids((yield Statement(_EXPIRED_VERSIONS, (moment, CHUNK))))
    if not versions:
        return 0
    # Entries first, as a save locks them: in the other order the two could wait for each other.
    yield Statement(_DROP_EXPIRED_ENTRIES, (versions, moment))
    bodies = yield from _bodies_of(versions)
    deleted = yield Statement(_DROP_EXPIRED_VERSIONS, (versions, moment))
    yield Statement(_DROP_UNUSED_BODIES, (bodies,))
    return len(deleted)


def delete_url(url: str) -> Query[int]:
    """Delete every entry and every version of a URL; return how many entries there were."""
    url_hash = hash_url(url)
    entries = yield Statement(_DROP_ENTRIES_OF_URL, (url_hash,))
    while versions := _ids((yield Statement(_VERSIONS_OF_URL, (url_hash, CHUNK)))):
        bodies = yield from _bodies_of(versions)
        yield Statement(_DROP_VERSIONS, (versions,))
        yield Statement(_DROP_UNUSED_BODIES, (bodies,))
    return len(entries)


def _bodies_of(versions: list[int]) -> Query[list[str]]:
    rows = yield Statement(_BODIES_OF_VERSIONS, (versions,))
    return [row["hash"] for row in rows]


def _ids(rows: Sequence[SqlRow]) -> list[int]:
    return [row["id"] for row in rows]
