"""Entering: how a page that is saved takes its place in the index, in the same transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cinder.store.codec import to_milliseconds
from cinder.store.dialect import fingerprint
from cinder.store.index.full_text import FullText
from cinder.store.index.texts import PageText
from cinder.store.joining import JointLookup, JointRows, Stage
from cinder.store.procedure import Procedure, SqlValue, Statement

_LOCK_PAGE = JointLookup(
    stage=Stage.LOCK_PAGE,
    sql="""
SELECT p.page_hash, p.id, p.content, p.title, v.saved_at
  FROM webhook.indexed_pages p JOIN webhook.saved_versions v ON v.id = p.version_id
 WHERE p.page_hash = ANY($1) ORDER BY p.page_hash FOR UPDATE OF p
""",
    key="page_hash",
)

# A page may have been saved before it was good enough for the index.
_ADD_PAGE = JointRows(
    stage=Stage.ADD_PAGE,
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
class Place:
    """Which version a page of the index is, and whose."""

    version_id: int
    saved_at: int
    url_hash: str
    owner: str | None
    expires_at: datetime | str
    """As the database writes it."""

    @property
    def page_hash(self) -> str:
        """What all versions of the URL share that are for the same eyes."""
        return self.url_hash if self.owner is None else fingerprint(f"{self.url_hash} {self.owner}")


class PageEntry(NamedTuple):
    """A page to be entered when its version is saved, and where its words go."""

    page: PageText
    full_text: FullText


def enter_page(
    page: PageText, place: Place, full_text: FullText, *, anew: bool = False
) -> Procedure[None]:
    """Make a version the one by which its page is found, unless a newer one is.

    Words that are the same as before are left alone, if they need not be entered anew.
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
    if anew or (row["content"], row["title"]) != (page.content, page.title):
        yield from full_text.replace(row["id"], page)


def prolong_page(version_id: int, expires_at: datetime | str) -> Procedure[None]:
    """Let the page that is found by a version be found for longer, if one is."""
    yield Statement(_PROLONG_PAGE, (version_id, expires_at))


def leave(version_id: int) -> Procedure[None]:
    """Take out the page that is found by a version, if one is."""
    yield Statement(_DROP_PAGE, (version_id,))


def _columns(page: PageText) -> tuple[SqlValue, ...]:
    published = None if page.published_at is None else to_milliseconds(page.published_at)
    return (page.site, published, page.content, page.vector, page.title)
