"""Finds documents by cache key or URL, and versions and their bodies by URI."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from cinder.store.database import (
    MAX_ID,
    Query,
    Repository,
    SqlRow,
    Statement,
    clamp_limit,
    fingerprint,
    from_milliseconds,
    reads,
    scrub,
    to_milliseconds,
)
from cinder.store.document_rows import (
    content_key_pattern,
    decode_archived_body,
    decode_body,
    decode_entry,
    find_archived_version,
    hash_url,
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

# The columns of the entry are NULL where a newer version has replaced this one.
_FIND_DOCUMENTS = """
SELECT v.place_hash, v.saved_at, v.id, v.cache_key, e.id AS entry_id, e.url, e.source,
       e.strategy_used, e.content_type, e.scraped_at, e.screenshot_format, e.document,
       e.raw_content, e.cleaned_content, e.extracted_content, e.screenshot
  FROM webhook.saved_versions v LEFT JOIN webhook.scrape_cache e ON e.version_id = v.id
 WHERE v.place_hash = ANY($1) AND v.saved_at = ANY($2)
   AND v.expires_at > $3 AND (v.owner IS NULL OR v.owner = $4)
"""

# The raw body is most of the data, and often not needed.
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

# Only the requested body is read; where there is no raw text, the raw body is the file. The
# document has the MIME types that are cut in their columns.
_FIND_VERSION = """
SELECT v.id, v.url, v.title, e.id AS entry_id, e.content_type, e.screenshot_format,
       CASE WHEN LENGTH(e.content_type) >= 100 OR LENGTH(e.screenshot_format) >= 20
            THEN e.document
       END AS document,
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

_LIST_SAVED = """
SELECT id, place, saved_at, url, title, kind, mime, size
  FROM webhook.saved_versions
 WHERE id < $1 AND expires_at > $2 AND (owner IS NULL OR owner = $3) AND kind IS NOT NULL
 ORDER BY id DESC LIMIT $4
"""

_LIST_VERSIONS = """
SELECT place, saved_at FROM webhook.saved_versions
 WHERE place_hash = $1 AND expires_at > $2 AND (owner IS NULL OR owner = $3) AND kind IS NOT NULL
 ORDER BY saved_at DESC LIMIT $4
"""

_LIST_PLAIN_VERSIONS = _LIST_VERSIONS.replace(
    " ORDER BY", f"   AND cache_key NOT LIKE '{OWN_KEY_PREFIX}%'\n ORDER BY"
)

# Only the newest versions are searched, because no index has the paths themselves.
_LIST_PLACES = """
SELECT place FROM webhook.saved_versions
 WHERE id > (SELECT COALESCE(MAX(id), 0) - 10000 FROM webhook.saved_versions)
   AND expires_at > $1 AND (owner IS NULL OR owner = $2) AND kind IS NOT NULL
   AND SUBSTR(place, 1, $3) = $4
 GROUP BY place ORDER BY MAX(id) DESC LIMIT $5
"""

_LIST_ENTRIES = """
SELECT v.url, e.cache_key, e.scraped_at, e.expires_at, e.access_count, e.last_accessed_at,
       e.content_length_raw, e.content_length_cleaned, v.place, v.saved_at, v.kind
  FROM webhook.scrape_cache e JOIN webhook.saved_versions v ON v.id = e.version_id
 WHERE e.url_hash = $1 AND e.expires_at > $2
 ORDER BY e.scraped_at DESC, e.id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySummary:
    """A cache entry as an operator sees it."""

    url: str
    cache_key: str
    scraped_at: datetime
    expires_at: datetime | None
    access_count: int
    last_accessed_at: datetime | None
    raw_length: int | None
    cleaned_length: int | None
    uri: str
    """The URI of its newest version."""


class EntryHead(NamedTuple):
    """The columns of an entry that change whenever its document changes.

    The id of a version is never given twice, and the content of a version never changes.
    """

    version_id: int
    scraped_at: datetime | str
    """When the page was fetched or last revalidated, as the database has it."""


class DocumentReads(Repository):
    """The operations that read documents and versions."""

    @reads("find_comparable")
    def find_comparable(
        self, url: str, content_key: str, caller: str
    ) -> Query[SavedDocument | None]:
        """Return the newest document of a URL under this content key that the caller may see."""
        now = self._dialect.pack_timestamp(self._clock())
        args = (hash_url(url), now, caller, content_key_pattern(content_key))
        rows = yield Statement(_FIND_COMPARABLE, args)
        entry = (yield from self._find_entry(rows[0]["cache_key"])) if rows else None
        return entry and entry[1]

    @reads("find_versions")
    def find_versions(
        self, versions: Sequence[Version], caller: str, *, with_raw: bool = True
    ) -> Query[list[SavedDocument | None]]:
        """Return the document of each version; None where there is none this caller may see.

        Without the raw body, which is a text or a file, far less is read.
        """
        names = [
            (fingerprint(version.place), to_milliseconds(version.saved_at)) for version in versions
        ]
        places, times = [place for place, _ in names], [saved_at for _, saved_at in names]
        args = (places, times, self._dialect.pack_timestamp(self._clock()), caller)
        rows = yield Statement(_FIND_DOCUMENTS if with_raw else _FIND_WITHOUT_RAW, args)
        # One page may have a version at a time that was asked of another page.
        by_name = {(row["place_hash"], row["saved_at"]): row for row in rows}
        found: list[SavedDocument | None] = []
        for version, name in zip(versions, names, strict=True):
            row, document = by_name.get(name), None
            if row is not None and row["entry_id"] is not None:
                document = decode_entry(row, self._dialect)
            elif row is not None:
                document = yield from find_archived_version(row["id"], with_raw=with_raw)
            if row is None or document is None:
                found.append(None)
            else:
                found.append(SavedDocument(document, version, row["cache_key"]))
        return found

    @reads("read")
    def read(self, version: Version, kind: SavedKind, caller: str) -> Query[SavedBody | None]:
        """Return one body of a saved version, or None where there is none this caller may see."""
        now = self._dialect.pack_timestamp(self._clock())
        name = (fingerprint(version.place), to_milliseconds(version.saved_at))
        rows = yield Statement(_FIND_VERSION, (*name, kind, now, caller))
        if not rows:
            return None
        row = rows[0]
        if row["entry_id"] is not None:
            body = decode_body(row, kind, self._dialect)
        else:
            archived = yield Statement(_FIND_BODY, (row["id"], kind))
            body = decode_archived_body(archived[0], kind) if archived else None
        if body is None:
            return None
        return SavedBody(
            uri=version.uri(body.kind),
            url=row["url"],
            title=row["title"],
            mime=body.mime,
            saved_at=version.saved_at,
            text=body.content if isinstance(body.content, str) else None,
            data=body.content if isinstance(body.content, bytes) else None,
        )

    @reads("list_saved")
    def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> Query[list[SavedListing]]:
        """Return saved versions the caller may see, newest first, from below an id.

        At most 1,000 at once, whatever the limit.
        """
        below = MAX_ID if before_id is None else max(0, min(before_id, MAX_ID))
        now = self._dialect.pack_timestamp(self._clock())
        rows = yield Statement(_LIST_SAVED, (below, now, caller, clamp_limit(limit)))
        return [
            SavedListing(
                id=row["id"],
                uri=_version(row).uri(SavedKind(row["kind"])),
                url=row["url"],
                title=row["title"],
                mime=row["mime"],
                size=row["size"],
                saved_at=from_milliseconds(row["saved_at"]),
            )
            for row in rows
        ]

    @reads("list_versions")
    def list_versions(
        self, place: str, caller: str, *, limit: int, plain_only: bool = False
    ) -> Query[list[Version]]:
        """Return the versions of one page that the caller may see, newest first.

        Plain versions are those that no caller's headers, selectors, actions or prompt changed.
        """
        now = self._dialect.pack_timestamp(self._clock())
        args = (fingerprint(place), now, caller, clamp_limit(limit))
        rows = yield Statement(_LIST_PLAIN_VERSIONS if plain_only else _LIST_VERSIONS, args)
        return [_version(row) for row in rows]

    @reads("list_places")
    def list_places(self, beginning: str, caller: str, *, limit: int) -> Query[list[str]]:
        """Return the paths of recently saved pages that begin with a text, the newest first."""
        now, prefix = self._dialect.pack_timestamp(self._clock()), scrub(beginning)
        args = (now, caller, len(prefix), prefix, clamp_limit(limit))
        rows = yield Statement(_LIST_PLACES, args)
        return [row["place"] for row in rows]

    @reads("list_entries")
    def _list_entries(self, url: str) -> Query[list[EntrySummary]]:
        dialect = self._dialect
        args = (hash_url(url), dialect.pack_timestamp(self._clock()))
        rows = yield Statement(_LIST_ENTRIES, args)
        return [
            EntrySummary(
                url=row["url"],
                cache_key=row["cache_key"],
                scraped_at=dialect.unpack_timestamp(row["scraped_at"]),
                expires_at=dialect.unpack_timestamp(row["expires_at"]),
                access_count=row["access_count"],
                last_accessed_at=row["last_accessed_at"]
                and dialect.unpack_timestamp(row["last_accessed_at"]),
                raw_length=row["content_length_raw"],
                cleaned_length=row["content_length_cleaned"],
                uri=_version(row).uri(SavedKind(row["kind"] or SavedKind.RAW)),
            )
            for row in rows
        ]

    def _find_head(self, cache_key: str) -> Query[EntryHead | None]:
        now = self._dialect.pack_timestamp(self._clock())
        rows = yield Statement(_FIND_HEAD, (cache_key, now))
        return EntryHead(rows[0]["version_id"], rows[0]["scraped_at"]) if rows else None

    def _find_entry(self, cache_key: str) -> Query[tuple[EntryHead, SavedDocument] | None]:
        """Return the newest document under a key, unless it has expired."""
        now = self._dialect.pack_timestamp(self._clock())
        rows = yield Statement(_FIND_ENTRY, (cache_key, now))
        if not rows:
            return None
        row = rows[0]
        saved = SavedDocument(decode_entry(row, self._dialect), _version(row), cache_key)
        return EntryHead(row["version_id"], row["scraped_at"]), saved


def measure_entry(cache_key: str) -> Query[int]:
    """Return how many bytes finding an entry reads, as the database stores them."""
    rows = yield Statement(_MEASURE_ENTRY, (cache_key,))
    return rows[0]["size"] if rows else 0


def _version(row: SqlRow) -> Version:
    return Version(row["place"], from_milliseconds(row["saved_at"]))
