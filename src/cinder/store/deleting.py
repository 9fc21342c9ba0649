"""Deleting: entries and versions that have expired or are no longer wanted, and their bodies."""

from collections.abc import Sequence
from datetime import datetime

from cinder.store.codec import hash_url
from cinder.store.dialect import Dialect
from cinder.store.procedure import Procedure, Row, Statement

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


def delete_expired_chunk(now: datetime, dialect: Dialect) -> Procedure[int]:
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


def delete_url(url: str) -> Procedure[int]:
    """Delete every entry and every version of a URL; return how many entries there were."""
    url_hash = hash_url(url)
    entries = yield Statement(_DROP_ENTRIES_OF_URL, (url_hash,))
    while versions := _ids((yield Statement(_VERSIONS_OF_URL, (url_hash, CHUNK)))):
        bodies = yield from _bodies_of(versions)
        yield Statement(_DROP_VERSIONS, (versions,))
        yield Statement(_DROP_UNUSED_BODIES, (bodies,))
    return len(entries)


def _bodies_of(versions: list[int]) -> Procedure[list[str]]:
    rows = yield Statement(_BODIES_OF_VERSIONS, (versions,))
    return [row["hash"] for row in rows]


def _ids(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows]
