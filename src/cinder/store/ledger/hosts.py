"""Hosts as rows: their robots.txt and how fast they may be asked, for all workers together."""

from cinder.model.job import HostState
from cinder.store.codec import from_milliseconds
from cinder.store.dialect import compress, decompress
from cinder.store.procedure import Procedure, Statement

_FIND = """
SELECT delay_ms, robots_status, robots_at, robots_failures, robots FROM webhook.hosts
 WHERE host = $1
"""

_NOTE_ROBOTS = """
INSERT INTO webhook.hosts (host, robots_status, robots_at, robots_failures, robots)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (host) DO UPDATE SET robots_status = excluded.robots_status,
    robots_at = excluded.robots_at, robots = excluded.robots,
    robots_failures = CASE WHEN excluded.robots_failures = 0 THEN 0
                           ELSE hosts.robots_failures + 1 END
"""

_SLOW_DOWN = """
UPDATE webhook.hosts SET delay_ms = $2,
       next_at = CASE WHEN next_at < $3 THEN $3 ELSE next_at END
 WHERE host = $1
"""


def find_host(host: str) -> Procedure[HostState]:
    """Return what is known of a host."""
    rows = yield Statement(_FIND, (host,))
    if not rows:
        return HostState(host=host)
    row = rows[0]
    return HostState(
        host=host,
        delay_ms=row["delay_ms"],
        robots=None if row["robots"] is None else decompress(row["robots"]),
        robots_status=row["robots_status"],
        robots_at=None if row["robots_at"] is None else from_milliseconds(row["robots_at"]),
        robots_failures=row["robots_failures"],
    )


def note_robots(host: str, status: int, body: bytes, now: int, *, failed: bool) -> Procedure[None]:
    """Keep a host's robots.txt, or that it could not be had once more."""
    yield Statement(_NOTE_ROBOTS, (host, status, now, int(failed), compress(body)))


def slow_down(host: str, delay_ms: int, rest_until: int) -> Procedure[None]:
    """Set the time between two requests to a host, the next of which comes no sooner."""
    yield Statement(_SLOW_DOWN, (host, delay_ms, rest_until))
