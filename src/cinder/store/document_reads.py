"""Queries that find cache entries by key or URL, and versions and their bodies by URI."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cinder.models.saved import (
    OWN_KEY_PREFIX,
    SavedBody,
    SavedDocument,
    SavedKind,
    SavedListing,
    Version,
)
from cinder.store.base import EntrySummary
from cinder.store.database import Query, SqlDialect, SqlRow, Statement, decompress, fingerprint
from cinder.store.document_rows import (
    VersionBody,
    content_key_pattern,
    decode_entry,
    find_archived_version,
    from_milliseconds,
    hash_url,
    text_mime,
    to_milliseconds,
)

_FIND_HEAD = """
SELECT version_id, scraped_at FROM webhook.scrape_cache WHERE cache_key = $1 AND expires_at > $2
"""

_FIND_ENTRY = """
SELECT e.version_id, e.url, e.source, e.strategy_used, e.content_type, e.scraped_at,
       e.screenshot_format, e.document, e.raw_content, e.cleaned_content, e.extracted_content,
       e.screenshot, v.place, v.saved_at
  FROM webhook.scrape_cache e JOIN webhook.saved_versions v ON v.id = e.version_id
 WHERE e.cache_key = $1 AND e.expires_at > $2
"""

# The entry's columns are empty where another version has taken its place.
_FIND_DOCUMENTS = """
SELECT v.place_hash, v.saved_at, v.id, v.cache_key, e.id AS entry_id, e.url, e.source,
       e.strategy_used, e.content_type, e.scraped_at, e.screenshot_format, e.document,
       e.raw_content, e.cleaned_content, e.extracted_content, e.screenshot
  FROM webhook.saved_versions v LEFT JOIN webhook.scrape_cache e ON e.version_id = v.id
 WHERE v.place_hash = ANY($1) AND v.saved_at = ANY($2)
   AND v.expires_at > $3 AND (v.owner IS NULL OR v.owner = $4)
"""

# What the server sent is most of what is read, and often not wanted.
_FIND_WITHOUT_RAW = _FIND_DOCUMENTS.replace("e.raw_content", "NULL AS raw_content").replace(
    "e.screenshot\n", "NULL AS screenshot\n"
)

_FIND_COMPARABLE = """
SELECT cache_key FROM webhook.scrape_cache
 WHERE url_hash = $1 AND expires_at > $2 AND (owner IS NULL OR owner = $3)
   AND CAST(scrape_options AS TEXT) LIKE $4
 ORDER BY scraped_at DESC, id DESC LIMIT 1
"""

_MEASURE_ENTRY = """
SELECT COALESCE(LENGTH(raw_content), 0) + COALESCE(LENGTH(cleaned_content), 0)
     + COALESCE(LENGTH(extracted_content), 0) + COALESCE(LENGTH(screenshot), 0)
     + LENGTH(document) AS size
  FROM webhook.scrape_cache WHERE cache_key = $1
"""

# Only the body asked for is read; where there is no raw text, the raw body is the file.
_FIND_VERSION = """
SELECT v.id, v.url, v.title, e.id AS entry_id, e.content_type, e.screenshot_format,
       CASE CAST($3 AS TEXT)
            WHEN 'raw' THEN e.raw_content
            WHEN 'cleaned' THEN e.cleaned_content
            WHEN 'extracted' THEN e.extracted_content
       END AS text,
       CASE WHEN $3 = 'screenshot' OR ($3 = 'raw' AND e.raw_content IS NULL)
            THEN e.screenshot
       END AS data
  FROM webhook.saved_versions v LEFT JOIN webhook.scrape_cache e ON e.version_id = v.id
 WHERE v.place_hash = $1 AND v.saved_at = $2
   AND v.expires_at > $4 AND (v.owner IS NULL OR v.owner = $5)
"""

_FIND_BODY = """
SELECT vb.kind, vb.mime, b.data
  FROM webhook.version_bodies vb JOIN webhook.bodies b ON b.hash = vb.hash
 WHERE vb.version_id = $1
   AND (vb.kind = $2 OR (CAST($2 AS TEXT) = 'raw' AND vb.kind = 'screenshot'))
 ORDER BY vb.kind LIMIT 1
"""

_LIST_VERSIONS = """
SELECT id, place, saved_at, url, title, kind, mime, size
  FROM webhook.saved_versions
 WHERE id < $1 AND expires_at > $2 AND (owner IS NULL OR owner = $3) AND kind IS NOT NULL
 ORDER BY id DESC LIMIT $4
"""

_LIST_VERSIONS_OF = """
SELECT place, saved_at FROM webhook.saved_versions
 WHERE place_hash = $1 AND expires_at > $2 AND (owner IS NULL OR owner = $3) AND kind IS NOT NULL
 ORDER BY saved_at DESC LIMIT $4
"""

_LIST_PLAIN_VERSIONS_OF = _LIST_VERSIONS_OF.replace(
    " ORDER BY", f"   AND cache_key NOT LIKE '{OWN_KEY_PREFIX}%'\n ORDER BY"
)

# Of all that is saved, the newest are looked through: no index has the places themselves.
_LIST_PLACES = """
SELECT place FROM webhook.saved_versions
 WHERE id > (SELECT COALESCE(MAX(id), 0) - 10000 FROM webhook.saved_versions)
   AND expires_at > $1 AND (owner IS NULL OR owner = $2) AND kind IS NOT NULL
   AND SUBSTR(place, 1, $3) = $4
 GROUP BY place ORDER BY MAX(id) DESC LIMIT $5
"""

_LIST_ENTRIES = """
SELECT e.url, e.cache_key, e.scraped_at, e.expires_at, e.access_count, e.last_accessed_at,
       e.content_length_raw, e.content_length_cleaned, v.place, v.saved_at, v.kind
  FROM webhook.scrape_cache e JOIN webhook.saved_versions v ON v.id = e.version_id
 WHERE e.url_hash = $1 AND e.expires_at > $2
 ORDER BY e.scraped_at DESC, e.id DESC
"""

# The newest of what requests read and write; of a page its text, since all of it may be megabytes.
_SAMPLES = (
    "SELECT id, document, cleaned_content FROM webhook.scrape_cache ORDER BY id DESC LIMIT 1",
    "SELECT * FROM webhook.saved_versions ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.indexed_pages ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.frontier ORDER BY id DESC LIMIT 10",
    "SELECT * FROM webhook.tokens LIMIT 10",
)

_SCHEMA_VERSION = "SELECT version_num FROM webhook.alembic_version"


class EntryHead(NamedTuple):
    """What tells whether an entry is still the one that was read: all that ever changes in it.

    A version's id is never given twice, and what a version holds never changes.
    """

    version_id: int
    scraped_at: datetime | str
    """When the page was fetched or last confirmed, as the database writes it."""


class Entry(NamedTuple):
    """An entry's document and what it is known by."""

    head: EntryHead
    saved: SavedDocument


def find_head(cache_key: str, now: datetime, dialect: SqlDialect) -> Query[EntryHead | None]:
    """Return which document is the newest under a key, unless it has expired."""
    rows = yield Statement(_FIND_HEAD, (cache_key, dialect.pack_moment(now)))
    return EntryHead(rows[0]["version_id"], rows[0]["scraped_at"]) if rows else None


def find_entry(cache_key: str, now: datetime, dialect: SqlDialect) -> Query[Entry | None]:
    """Return the newest document under a key, unless it has expired."""
    rows = yield Statement(_FIND_ENTRY, (cache_key, dialect.pack_moment(now)))
    if not rows:
        return None
    row = rows[0]
    version = Version(row["place"], from_milliseconds(row["saved_at"]))
    saved = SavedDocument(decode_entry(row, dialect), version, cache_key)
    return Entry(EntryHead(row["version_id"], row["scraped_at"]), saved)


def find_comparable(
    url: str, content_key: str, caller: str, now: datetime, dialect: SqlDialect
) -> Query[SavedDocument | None]:
    """Return the newest document of a URL under a content key that the caller may see."""
    pattern = content_key_pattern(content_key)
    args = (hash_url(url), dialect.pack_moment(now), caller, pattern)
    rows = yield Statement(_FIND_COMPARABLE, args)
    entry = (yield from find_entry(rows[0]["cache_key"], now, dialect)) if rows else None
    return entry and entry.saved


def find_versions(
    versions: Sequence[Version], caller: str, now: datetime, dialect: SqlDialect, *, with_raw: bool
) -> Query[list[SavedDocument | None]]:
    """Return the document of each version that has not expired and that the caller may see."""
    names = [(fingerprint(each.place), to_milliseconds(each.saved_at)) for each in versions]
    places, moments = [place for place, _ in names], [moment for _, moment in names]
    args = (places, moments, dialect.pack_moment(now), caller)
    rows = yield Statement(_FIND_DOCUMENTS if with_raw else _FIND_WITHOUT_RAW, args)
    # A page may have been saved at a moment that is another's.
    by_name = {(row["place_hash"], row["saved_at"]): row for row in rows}
    found: list[SavedDocument | None] = []
    for version, name in zip(versions, names, strict=True):
        row = by_name.get(name)
        found += [(yield from _saved_document(row, version, dialect, with_raw=with_raw))]
    return found


def _saved_document(
    row: SqlRow | None, version: Version, dialect: SqlDialect, *, with_raw: bool
) -> Query[SavedDocument | None]:
    if row is None:
        return None
    if row["entry_id"] is None:
        document = yield from find_archived_version(row["id"], with_raw=with_raw)
    else:
        document = decode_entry(row, dialect)
    return None if document is None else SavedDocument(document, version, row["cache_key"])


def measure_entry(cache_key: str) -> Query[int]:
    """Return how many bytes finding an entry reads, as the database holds them."""
    rows = yield Statement(_MEASURE_ENTRY, (cache_key,))
    return rows[0]["size"] if rows else 0


def read_body(
    version: Version, kind: SavedKind, caller: str, now: datetime, dialect: SqlDialect
) -> Query[SavedBody | None]:
    """Return one body of a version that has not expired and that the caller may see."""
    saved_at = to_milliseconds(version.saved_at)
    args = (fingerprint(version.place), saved_at, kind, dialect.pack_moment(now), caller)
    rows = yield Statement(_FIND_VERSION, args)
    if not rows:
        return None
    row = rows[0]
    if row["entry_id"] is None:
        body = _body_set_aside((yield Statement(_FIND_BODY, (row["id"], kind))), kind)
    else:
        body = _body_in_entry(row, kind, dialect)
    return body and _saved_body(row, version, body)


def list_versions(
    caller: str, before_id: int, limit: int, now: datetime, dialect: SqlDialect
) -> Query[list[SavedListing]]:
    """Return the versions below an id that the caller may see, newest first."""
    args = (before_id, dialect.pack_moment(now), caller, limit)
    rows = yield Statement(_LIST_VERSIONS, args)
    return [_listing(row) for row in rows]


def list_versions_of(
    place: str, caller: str, limit: int, now: datetime, dialect: SqlDialect, *, plain_only: bool
) -> Query[list[Version]]:
    """Return the versions of one page that the caller may see, newest first."""
    args = (fingerprint(place), dialect.pack_moment(now), caller, limit)
    rows = yield Statement(_LIST_PLAIN_VERSIONS_OF if plain_only else _LIST_VERSIONS_OF, args)
    return [Version(row["place"], from_milliseconds(row["saved_at"])) for row in rows]


def list_places(
    beginning: str, caller: str, limit: int, now: datetime, dialect: SqlDialect
) -> Query[list[str]]:
    """Return the pages lately saved whose places begin so, and that the caller may see."""
    args = (dialect.pack_moment(now), caller, len(beginning), beginning, limit)
    rows = yield Statement(_LIST_PLACES, args)
    return [row["place"] for row in rows]


def list_entries(url: str, now: datetime, dialect: SqlDialect) -> Query[list[EntrySummary]]:
    """Return a URL's entries, newest first."""
    rows = yield Statement(_LIST_ENTRIES, (hash_url(url), dialect.pack_moment(now)))
    return [_summary(row, dialect) for row in rows]


def read_schema_version() -> Query[str | None]:
    """Return which migration the database is at."""
    rows = yield Statement(_SCHEMA_VERSION)
    return rows[0]["version_num"] if rows else None


def read_samples() -> Query[None]:
    """Read some of each kind of what is kept, so that what cannot be read shows."""
    for sql in _SAMPLES:
        yield Statement(sql)


def _body_in_entry(row: SqlRow, kind: SavedKind, dialect: SqlDialect) -> VersionBody | None:
    if row["text"] is not None:
        return VersionBody(
            kind, text_mime(kind, row["content_type"]), dialect.unpack_text(row["text"])
        )
    if row["data"] is not None:
        return VersionBody(kind, row["screenshot_format"], row["data"])
    return None


def _body_set_aside(rows: Sequence[SqlRow], kind: SavedKind) -> VersionBody | None:
    if not rows:
        return None
    data = decompress(rows[0]["data"])
    is_text = rows[0]["kind"] != SavedKind.SCREENSHOT
    return VersionBody(kind, rows[0]["mime"], data.decode() if is_text else data)


def _saved_body(row: SqlRow, version: Version, body: VersionBody) -> SavedBody:
    content = body.content
    return SavedBody(
        uri=version.uri(body.kind),
        url=row["url"],
        title=row["title"],
        mime=body.mime,
        saved_at=version.saved_at,
        text=content if isinstance(content, str) else None,
        data=content if isinstance(content, bytes) else None,
    )


def _listing(row: SqlRow) -> SavedListing:
    saved_at = from_milliseconds(row["saved_at"])
    return SavedListing(
        id=row["id"],
        uri=Version(row["place"], saved_at).uri(SavedKind(row["kind"])),
        url=row["url"],
        title=row["title"],
        mime=row["mime"],
        size=row["size"],
        saved_at=saved_at,
    )


def _summary(row: SqlRow, dialect: SqlDialect) -> EntrySummary:
    last = row["last_accessed_at"]
    version = Version(row["place"], from_milliseconds(row["saved_at"]))
    return EntrySummary(
        url=row["url"],
        cache_key=row["cache_key"],
        scraped_at=dialect.unpack_moment(row["scraped_at"]),
        expires_at=dialect.unpack_moment(row["expires_at"]),
        access_count=row["access_count"],
        last_accessed_at=None if last is None else dialect.unpack_moment(last),
        raw_length=row["content_length_raw"],
        cleaned_length=row["content_length_cleaned"],
        uri=version.uri(SavedKind(row["kind"] or SavedKind.RAW)),
    )
