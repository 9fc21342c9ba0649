"""Adds saved pages to the index in the transaction that saves them, and rebuilds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cinder.models.document import Document
from cinder.store.database import (
    Query,
    SqlDialect,
    SqlRow,
    SqlValue,
    Statement,
    fingerprint,
    to_milliseconds,
)
from cinder.store.document_rows import decode_entry, find_archived_version
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.index.full_text import FullText, IndexedText

_LOCK_PAGE = BulkLookup(
    stage=WriteStage.LOCK_PAGE,
    sql="""
SELECT p.page_hash, p.id, p.content, p.title, v.saved_at
  FROM webhook.indexed_pages p JOIN webhook.saved_versions v ON v.id = p.version_id
 WHERE p.page_hash = ANY($1) ORDER BY p.page_hash FOR UPDATE OF p
""",
    key="page_hash",
)

# Versions that were not good enough for the index count for the first time it was seen.
_ADD_PAGE = BulkInsert(
    stage=WriteStage.ADD_PAGE,
    sql="""
INSERT INTO webhook.indexed_pages (
    version_id, page_hash, owner, expires_at, site, published_at, content, vector, title,
    first_seen_at)
VALUES {rows}
RETURNING id, page_hash
""",
    row="""
($1, $2, $3, $4, $5, $6, $7, $8, $9, (
    SELECT min(saved_at) FROM webhook.saved_versions
     WHERE url_hash = $10 AND COALESCE(owner, '') = COALESCE(CAST($3 AS TEXT), '')))
""",
    width=10,
    key=(("page_hash", 1),),
)

_REPLACE_PAGE = """
UPDATE webhook.indexed_pages SET version_id = $2, expires_at = $3, site = $4, published_at = $5,
       content = $6, vector = $7, title = $8
 WHERE id = $1
"""

_PROLONG_PAGE = "UPDATE webhook.indexed_pages SET expires_at = $2 WHERE version_id = $1"

_DROP_PAGE = "DELETE FROM webhook.indexed_pages WHERE version_id = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedVersion:
    """The version of a page in the index, and its owner."""

    version_id: int
    saved_at: int
    url_hash: str
    owner: str | None
    expires_at: datetime | str
    """As the database stores it."""

    @property
    def page_hash(self) -> str:
        """The hash of the URL and the owner, which all their versions share."""
        return self.url_hash if self.owner is None else fingerprint(f"{self.url_hash} {self.owner}")


class PageEntry(NamedTuple):
    """A page to be indexed when its version is saved, and the full-text search for it."""

    page: IndexedText
    full_text: FullText


def index_page(
    page: IndexedText, place: IndexedVersion, full_text: FullText, *, rewrite: bool = False
) -> Query[None]:
    """Make a version the one that searches find, unless the index has a newer one.

    Words are written only if they have changed, or if `rewrite` is set.
    """
    known = yield _LOCK_PAGE.find(place.page_hash)
    if not known:
        args = (place.version_id, place.page_hash, place.owner, place.expires_at)
        added = yield _ADD_PAGE.write(*args, *_columns(page), place.url_hash)
        yield from full_text.add(added[0]["id"], page)
        return
    row = known[0]
    if row["saved_at"] > place.saved_at:
        return
    yield Statement(_REPLACE_PAGE, (row["id"], place.version_id, place.expires_at, *_columns(page)))
    if rewrite or (row["content"], row["title"]) != (page.content, page.title):
        yield from full_text.replace(row["id"], page)


def extend_page(version_id: int, expires_at: datetime | str) -> Query[None]:
    """Set the expiry of the page that has a version, if one has."""
    yield Statement(_PROLONG_PAGE, (version_id, expires_at))


def _columns(page: IndexedText) -> tuple[SqlValue, ...]:
    published = None if page.published_at is None else to_milliseconds(page.published_at)
    return (page.site, published, page.content, page.vector, page.title)


BATCH = 20
"""How many pages one transaction indexes, so that saves wait only briefly."""

_ENTRIES = """
SELECT e.id, e.version_id, e.url, e.source, e.strategy_used, e.content_type, e.scraped_at,
       e.screenshot_format, e.document, e.raw_content, e.cleaned_content, e.extracted_content,
       e.screenshot, v.saved_at, v.url_hash, v.owner, v.expires_at
  FROM webhook.scrape_cache e JOIN webhook.saved_versions v ON v.id = e.version_id
 WHERE e.id > $1 ORDER BY e.id LIMIT $2
"""

# Pages whose version was replaced in its entry by one that is not good enough for the index.
_ARCHIVED = """
SELECT p.id, p.version_id, v.saved_at, v.url_hash, v.owner, v.expires_at
  FROM webhook.indexed_pages p JOIN webhook.saved_versions v ON v.id = p.version_id
 WHERE p.id > $1 AND NOT EXISTS (
       SELECT 1 FROM webhook.scrape_cache e WHERE e.version_id = p.version_id)
 ORDER BY p.id LIMIT $2
"""

# A version that was deleted since it was read must not return to the index.
_HOLD_VERSIONS = """
SELECT id FROM webhook.saved_versions WHERE id = ANY($1) ORDER BY id FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A stored document, and its version in the index."""

    id: int
    """The id after which the next ones are read."""
    place: IndexedVersion
    document: Document | None


def read_entries(after: int, dialect: SqlDialect) -> Query[list[StoredVersion]]:
    """Return the documents of the next cache entries."""
    rows = yield Statement(_ENTRIES, (after, BATCH))
    return [StoredVersion(row["id"], _place(row), decode_entry(row, dialect)) for row in rows]


def read_archived(after: int) -> Query[list[StoredVersion]]:
    """Return the next documents in the index that are archived."""
    rows = yield Statement(_ARCHIVED, (after, BATCH))
    kept = []
    for row in rows:
        document = yield from find_archived_version(row["version_id"], with_raw=True)
        kept.append(StoredVersion(row["id"], _place(row), document))
    return kept


def reindex_pages(
    pages: Sequence[tuple[StoredVersion, IndexedText | None]], full_text: FullText
) -> Query[None]:
    """Index the versions that are still stored; remove those that are not good enough any more."""
    ids = [version.place.version_id for version, _ in pages]
    held = {row["id"] for row in (yield Statement(_HOLD_VERSIONS, (ids,)))}
    for version, page in pages:
        if version.place.version_id not in held:
            continue
        if page is None:
            yield Statement(_DROP_PAGE, (version.place.version_id,))
        else:
            yield from index_page(page, version.place, full_text, rewrite=True)


def _place(row: SqlRow) -> IndexedVersion:
    return IndexedVersion(
        version_id=row["version_id"],
        saved_at=row["saved_at"],
        url_hash=row["url_hash"],
        owner=row["owner"],
        expires_at=row["expires_at"],
    )
