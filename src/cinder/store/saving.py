"""Saving: how a document becomes the newest of its entry, and how an entry is kept current."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from cinder.model.document import VerdictKind
from cinder.model.saved import SavedDocument
from cinder.store.aside import ENTRY_COLUMNS, set_aside
from cinder.store.codec import (
    EntryRow,
    VersionRow,
    decode_verdict,
    to_milliseconds,
)
from cinder.store.dialect import Dialect, fingerprint
from cinder.store.index.entering import PageEntry, Place, enter_page, prolong_page
from cinder.store.joining import JointLookup, JointRows, Stage
from cinder.store.procedure import Overtaken, Procedure, Row, Statement

_LOCK_ENTRY = JointLookup(
    stage=Stage.LOCK_ENTRY,
    sql=f"""
SELECT cache_key, expires_at, {ENTRY_COLUMNS} FROM webhook.scrape_cache
 WHERE cache_key = ANY($1) ORDER BY cache_key FOR UPDATE
""",  # noqa: S608 - columns of ours
    key="cache_key",
)

_ADD_VERSION = JointRows(
    stage=Stage.ADD_VERSION,
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

_ADD_ENTRY = JointRows(
    stage=Stage.ADD_ENTRY,
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
    entry: EntryRow, version: VersionRow, page: PageEntry | None, saved_at: int, dialect: Dialect
) -> Procedure[int]:
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
    dialect: Dialect,
) -> Procedure[int | None]:
    """Do the same, unless the entry holds a good document that has not expired: return None."""
    replaced = yield _LOCK_ENTRY.find(entry.cache_key)
    if any(_is_good(row, now, dialect) for row in replaced):
        return None
    return (yield from _replace(_Save(entry, version, page, saved_at), replaced, dialect))


def _is_good(entry: Row, now: datetime, dialect: Dialect) -> bool:
    is_current = dialect.unpack_moment(entry["expires_at"]) > now
    return is_current and decode_verdict(entry, dialect).kind is VerdictKind.OK


def _replace(save: _Save, replaced: Sequence[Row], dialect: Dialect) -> Procedure[int]:
    version_id, saved_at = yield from _add_version(save.version, save.saved_at)
    for row in replaced:
        yield from set_aside(row, dialect)
    # Two statements: one that does either would wait for the lock of a writer who came first,
    # and that writer may be waiting for this version's place.
    if replaced:
        written = yield Statement(_REPLACE_ENTRY, (*save.entry, version_id))
    else:
        written = yield _ADD_ENTRY.write(*save.entry, version_id)
    if not written:
        raise Overtaken
    if save.page is not None:
        place = Place(
            version_id=version_id,
            saved_at=saved_at,
            url_hash=save.version.url_hash,
            owner=save.version.owner,
            expires_at=save.version.expires_at,
        )
        yield from enter_page(save.page.page, place, save.page.full_text)
    return saved_at


def mark_revalidated(
    saved: SavedDocument, at: datetime, expires_at: datetime, dialect: Dialect
) -> Procedure[None]:
    """Note when a document, if it is still the newest, was confirmed, and keep it for longer."""
    expiry = dialect.pack_moment(expires_at)
    place_hash, saved_at = fingerprint(saved.version.place), to_milliseconds(saved.version.saved_at)
    args = (saved.cache_key, dialect.pack_moment(at), expiry, place_hash, saved_at)
    rows = yield Statement(_REVALIDATE_ENTRY, args)
    for row in rows:
        yield Statement(_PROLONG_VERSION, (row["version_id"], expiry))
        yield from prolong_page(row["version_id"], expiry)


def count_accesses(counts: Mapping[str, tuple[int, datetime]], dialect: Dialect) -> Procedure[None]:
    """Add how often entries were read, and note when last."""
    # In order, so that two of these at once cannot wait for each other.
    for cache_key, (count, last) in sorted(counts.items()):
        yield Statement(_COUNT_ACCESSES, (cache_key, count, dialect.pack_moment(last)))


def _add_version(version: VersionRow, saved_at: int) -> Procedure[tuple[int, int]]:
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
