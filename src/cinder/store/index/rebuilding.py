"""Rebuilding: making the index anew from what is kept, some pages at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from cinder.model.document import Document
from cinder.store.aside import find_aside
from cinder.store.codec import decode_entry
from cinder.store.dialect import Dialect
from cinder.store.index.entering import Place, enter_page, leave
from cinder.store.index.full_text import FullText
from cinder.store.index.texts import PageText
from cinder.store.procedure import Procedure, Row, Statement

BATCH = 20
"""The pages of one transaction: savers never wait for more."""

_ENTRIES = """
SELECT e.id, e.version_id, e.url, e.source, e.strategy_used, e.content_type, e.scraped_at,
       e.screenshot_format, e.document, e.raw_content, e.cleaned_content, e.extracted_content,
       e.screenshot, v.saved_at, v.url_hash, v.owner, v.expires_at
  FROM webhook.scrape_cache e JOIN webhook.saved_versions v ON v.id = e.version_id
 WHERE e.id > $1 ORDER BY e.id LIMIT $2
"""

# Pages found by a version that something not good enough has replaced in its entry.
_SET_ASIDE = """
SELECT p.id, p.version_id, v.saved_at, v.url_hash, v.owner, v.expires_at
  FROM webhook.indexed_pages p JOIN webhook.saved_versions v ON v.id = p.version_id
 WHERE p.id > $1 AND NOT EXISTS (
       SELECT 1 FROM webhook.scrape_cache e WHERE e.version_id = p.version_id)
 ORDER BY p.id LIMIT $2
"""

# What was deleted since it was read must not come back.
_HOLD_VERSIONS = """
SELECT id FROM webhook.saved_versions WHERE id = ANY($1) ORDER BY id FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A document that is kept, and its place in the index."""

    id: int
    """By which the next ones are found."""
    place: Place
    document: Document | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the index takes of a kept document; None where that is nothing."""

    place: Place
    page: PageText | None


def read_entries(after: int, dialect: Dialect) -> Procedure[list[Kept]]:
    """Return the next newest documents of their keys."""
    rows = yield Statement(_ENTRIES, (after, BATCH))
    return [Kept(row["id"], _place(row), decode_entry(row, dialect)) for row in rows]


def read_set_aside(after: int) -> Procedure[list[Kept]]:
    """Return the next documents in the index that are their keys' newest no more."""
    rows = yield Statement(_SET_ASIDE, (after, BATCH))
    kept = []
    for row in rows:
        document = yield from find_aside(row["version_id"], with_raw=True)
        kept.append(Kept(row["id"], _place(row), document))
    return kept


def enter_anew(readings: Sequence[Reading], full_text: FullText) -> Procedure[None]:
    """Enter pages that are still kept, and take out those that are no longer good enough."""
    ids = [reading.place.version_id for reading in readings]
    held = {row["id"] for row in (yield Statement(_HOLD_VERSIONS, (ids,)))}
    for reading in readings:
        if reading.place.version_id not in held:
            continue
        if reading.page is None:
            yield from leave(reading.place.version_id)
        else:
            yield from enter_page(reading.page, reading.place, full_text, anew=True)


def _place(row: Row) -> Place:
    return Place(
        version_id=row["version_id"],
        saved_at=row["saved_at"],
        url_hash=row["url_hash"],
        owner=row["owner"],
        expires_at=row["expires_at"],
    )
