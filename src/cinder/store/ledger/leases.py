"""Leases on URLs of a job, limited by what each host's throttle allows."""

from collections import Counter
from collections.abc import Collection, Sequence

from cinder.models.job import HostState, LeaseBatch, LeaseLimits, PageLease, PageResult, PageStatus
from cinder.store.database import Query, SqlRow, Statement, compress, decompress
from cinder.store.document_rows import from_milliseconds
from cinder.store.ledger.frontier import (
    Tally,
    count_up,
    lock_job,
    next_error_position,
    next_status_position,
    queue_more,
)
from cinder.store.ledger.job_rows import find_job
from cinder.store.ledger.outbox import EventRecorder

# How soon to look again at the earliest, and where another worker's page has to end first.
_LOOK_AGAIN_MS = 100
_OTHERS_FIRST_MS = 500
# Among how many suspects one is looked for whose host may be asked now.
_SUSPECTS_AT_ONCE = 20

# No lease lasts longer than its time and this, and no rest of a host longer than this: what ends
# later was written before the clock was set back, and would hold everything up for as long.
FURTHEST_MS = 15 * 60 * 1000

_BEGIN = """
UPDATE webhook.jobs SET status = 'running', started_at = $2 WHERE id = $1 AND status = 'queued'
RETURNING id
"""

_MARK_ATTENDED = """
UPDATE webhook.jobs SET status = 'running', started_at = COALESCE(started_at, $2), next_at = $3
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING max_pages, fetched
"""

# Whatever a process had claimed when it died is suspected of that, once, though most of it was
# only there. A suspect is claimed alone, so that from the second time on it was this page.
_RUN_OUT = """
UPDATE webhook.frontier SET state = 'suspect', lease_until = NULL, crashes = crashes + 1
 WHERE job_id = $1 AND state = 'leased' AND lease_until > 0
   AND (lease_until <= $2 OR lease_until > $3)
RETURNING id, crashes
"""

_GIVE_UP = f"""
UPDATE webhook.frontier SET state = 'done', fate = 'failed', finished_at = $3, reason = $4,
       fate_position = {next_status_position("$2", "'failed'")},
       error_position = {next_error_position("$2")}
 WHERE id = $1
RETURNING url
"""  # noqa: S608 - columns of ours

# Here and above, the time leads SQLite to the index of the leased ones: by the job alone it would
# take another, and read all its URLs.
_COUNT_LEASED = """
SELECT count(*) AS leased, min(lease_until) AS first_until, max(lease_until) AS last_until,
       count(CASE WHEN crashes > 0 THEN 1 END) AS suspects
  FROM webhook.frontier WHERE job_id = $1 AND state = 'leased' AND lease_until > 0
"""

# Those that crashed least come first: a page that ends every process keeps no other waiting.
_SUSPECTS = """
SELECT f.id, f.host, h.next_at, h.delay_ms, j.next_at AS job_next_at
  FROM webhook.frontier f JOIN webhook.hosts h ON h.host = f.host
  JOIN webhook.job_hosts j ON j.job_id = f.job_id AND j.host = f.host
 WHERE f.job_id = $1 AND f.state = 'suspect' ORDER BY f.crashes, f.id LIMIT $2
"""

_LOCK_HOST = "SELECT host FROM webhook.hosts WHERE host = $1 FOR UPDATE SKIP LOCKED"

_CLAIM_SUSPECT = """
UPDATE webhook.frontier SET state = 'leased', fence = fence + 1, lease_until = $2 WHERE id = $1
RETURNING id, url, host, depth, fence, tries
"""

_DUE_HOSTS = """
SELECT h.host, h.delay_ms, h.next_at
  FROM webhook.job_hosts j JOIN webhook.hosts h ON h.host = j.host
 WHERE j.job_id = $1 AND j.queued > 0 AND (h.next_at <= $2 OR h.next_at > $4)
   AND (j.next_at <= $2 OR j.next_at > $4)
 ORDER BY h.next_at, h.host LIMIT $3 FOR UPDATE OF h SKIP LOCKED
"""

_NEXT_DUE = """
SELECT min(CASE WHEN h.next_at > j.next_at THEN h.next_at ELSE j.next_at END) AS next_at
  FROM webhook.job_hosts j JOIN webhook.hosts h ON h.host = j.host
 WHERE j.job_id = $1 AND j.queued > 0
"""

_COUNT_ON_HOST = """
SELECT count(*) AS leased FROM webhook.frontier
 WHERE host = $1 AND state = 'leased' AND lease_until > $2
"""

_LEASE_PAGES = """
UPDATE webhook.frontier SET state = 'leased', fence = fence + 1, lease_until = $4
 WHERE id IN (
       SELECT id FROM webhook.frontier WHERE job_id = $1 AND host = $2 AND state = 'queued'
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, url, host, depth, fence, tries
"""

_BOOK_HOST = "UPDATE webhook.hosts SET next_at = $2 WHERE host = $1"
_BOOK_HOST_FOR_JOB = "UPDATE webhook.job_hosts SET next_at = $3 WHERE job_id = $1 AND host = $2"

# A claim is named by its URL and its fence together.
_RENEW = """
UPDATE webhook.frontier SET lease_until = $3
 WHERE id = ANY($1) AND id || ':' || fence = ANY($2) AND state = 'leased'
"""

_RELEASE = """
UPDATE webhook.frontier SET lease_until = NULL, tries = tries + $3,
       state = CASE WHEN crashes > 0 THEN 'suspect' ELSE 'queued' END
 WHERE id = $1 AND fence = $2 AND state = 'leased'
RETURNING host, state
"""


def lease(job_id: str, limits: LeaseLimits, now: int, telling: EventRecorder) -> Query[LeaseBatch]:
    """Claim URLs of a job that may be fetched now."""
    until = now + round(limits.seconds * 1000)
    if telling.is_wanted:
        yield from _record_start(job_id, now, telling)
    # Others see that the job is looked after for as long as its leases last.
    rows = yield Statement(_MARK_ATTENDED, (job_id, now, until))
    if not rows:
        return LeaseBatch(is_over=True)
    leased, suspects = yield from _count_leased(job_id, limits, now, telling)
    room = min(limits.count, rows[0]["max_pages"] - rows[0]["fetched"] - leased)
    if room <= 0:
        return LeaseBatch(is_over=leased == 0, wait_ms=_OTHERS_FIRST_MS)
    if not limits.is_alone:
        # Hosts that have all they bear are as many as there are leases, and come first.
        hosts = yield Statement(_DUE_HOSTS, (job_id, now, room + leased, now + FURTHEST_MS))
        claims = yield from _claim(job_id, hosts, room, limits, now)
        if claims:
            return LeaseBatch(claims=claims)
    next_at = (yield Statement(_NEXT_DUE, (job_id,)))[0]["next_at"]
    if next_at is None and leased == suspects:
        return (yield from _lease_suspect(job_id, leased, limits, now))
    if next_at is None or next_at <= now:
        return LeaseBatch(wait_ms=0 if limits.is_alone else _OTHERS_FIRST_MS)
    return LeaseBatch(wait_ms=max(next_at - now, _LOOK_AGAIN_MS))


def renew(claims: Collection[PageLease], until: int) -> Query[None]:
    """Make leases last until a moment; those that were lost stay lost."""
    for job_id in sorted({claim.job_id for claim in claims}):
        yield from lock_job(job_id)
    ids = [claim.page_id for claim in claims]
    names = [f"{claim.page_id}:{claim.fence}" for claim in claims]
    yield Statement(_RENEW, (ids, names, until))


def release(claims: Collection[PageLease], *, is_try: bool) -> Query[None]:
    """Give claims back."""
    queued: Counter[tuple[str, str]] = Counter()
    for job_id in sorted({claim.job_id for claim in claims}):
        yield from lock_job(job_id)
    for claim in claims:
        rows = yield Statement(_RELEASE, (claim.page_id, claim.fence, int(is_try)))
        # No host's number counts suspects: they are not among what is claimed for it.
        queued.update((claim.job_id, row["host"]) for row in rows if row["state"] == "queued")
    for (job_id, host), count in sorted(queued.items()):
        yield from queue_more(job_id, Counter({host: count}))


def _record_start(job_id: str, now: int, telling: EventRecorder) -> Query[None]:
    """Begin a job that nobody has begun, and tell of it."""
    begun = yield Statement(_BEGIN, (job_id, now))
    if begun:
        yield from telling.started((yield from find_job(job_id, telling.dialect)), now)


def _count_leased(
    job_id: str, limits: LeaseLimits, now: int, telling: EventRecorder
) -> Query[tuple[int, int]]:
    """Return how many URLs are claimed, and how many of those are suspects.

    What dead workers had claimed is taken back before.
    """
    row = (yield Statement(_COUNT_LEASED, (job_id,)))[0]
    if not row["leased"]:
        return 0, 0
    if row["first_until"] <= now or row["last_until"] > _furthest(limits, now):
        yield from _take_back(job_id, limits, now, telling)
        row = (yield Statement(_COUNT_LEASED, (job_id,)))[0]
    return row["leased"], row["suspects"]


def _take_back(job_id: str, limits: LeaseLimits, now: int, telling: EventRecorder) -> Query[None]:
    """Make suspects of what dead workers had claimed; give up what ended them when alone."""
    rows = yield Statement(_RUN_OUT, (job_id, now, _furthest(limits, now)))
    lost = [row["id"] for row in rows if row["crashes"] > limits.crash_tries]
    if lost:
        times = "time" if limits.crash_tries == 1 else f"{limits.crash_tries} times"
        reason = (
            f"the process died, or hung, the {times} it was fetched with no other page beside it "
            "(setting jobs.crash-tries)"
        )
        result = PageResult(fate=PageStatus.FAILED, reason=reason)
        for page_id in lost:
            row = (yield Statement(_GIVE_UP, (page_id, job_id, now, reason)))[0]
            yield from telling.page(row["url"], result, now)
        yield from count_up(job_id, Tally(fates=Counter({PageStatus.FAILED: len(lost)})))


def _furthest(limits: LeaseLimits, now: int) -> int:
    return now + FURTHEST_MS + round(limits.seconds * 1000)


def _claim(
    job_id: str, hosts: Sequence[SqlRow], room: int, limits: LeaseLimits, now: int
) -> Query[tuple[PageLease, ...]]:
    claims: list[PageLease] = []
    for host in hosts:
        claims += yield from _claim_of_host(job_id, host, room - len(claims), limits, now)
        if len(claims) >= room:
            break
    return tuple(claims)


def _claim_of_host(
    job_id: str, host: SqlRow, room: int, limits: LeaseLimits, now: int
) -> Query[list[PageLease]]:
    """Claim URLs of a host whose row is locked: nobody else counts or books at the same time."""
    count = min(room, (yield from _count_free(host, limits, now)))
    if count <= 0:
        return []
    name = host["host"]
    until = now + round(limits.seconds * 1000)
    claimed = yield Statement(_LEASE_PAGES, (job_id, name, count, until))
    if not claimed:
        return []
    yield from queue_more(job_id, Counter({name: -len(claimed)}))
    yield from _book(job_id, host, limits, now)
    # A database may return rows in any order.
    ordered = sorted(claimed, key=lambda row: row["id"])
    return [_read_claim(job_id, row, host["delay_ms"]) for row in ordered]


def _count_free(host: SqlRow, limits: LeaseLimits, now: int) -> Query[int]:
    """Return how many more URLs of a host may be asked for now."""
    busy = (yield Statement(_COUNT_ON_HOST, (host["host"], now)))[0]["leased"]
    # A host that wants time between requests gets one at a time, and so does a job that does.
    free = int((1 if host["delay_ms"] else limits.host_concurrency) - busy)
    return min(free, 1) if limits.least_delay_ms else free


def _book(job_id: str, host: SqlRow, limits: LeaseLimits, now: int) -> Query[None]:
    """Note when a host that was just asked may be asked next."""
    name, delay, own_delay = host["host"], host["delay_ms"], limits.least_delay_ms
    if delay or host["next_at"] > now:
        yield Statement(_BOOK_HOST, (name, now + delay))
    if own_delay:
        # Its own wish, and not the host's: other jobs need not wait for it.
        yield Statement(_BOOK_HOST_FOR_JOB, (job_id, name, now + own_delay))


def _lease_suspect(job_id: str, leased: int, limits: LeaseLimits, now: int) -> Query[LeaseBatch]:
    """Claim one of the suspects, if there are any, for a process that is alone with it."""
    suspects = yield Statement(_SUSPECTS, (job_id, _SUSPECTS_AT_ONCE))
    if not suspects:
        return LeaseBatch(is_over=leased == 0, wait_ms=_OTHERS_FIRST_MS)
    if not limits.is_alone:
        return LeaseBatch(has_suspects=True)
    next_at = [_next_at(row, now) for row in suspects]
    until = now + round(limits.seconds * 1000)
    for row in (row for row, at in zip(suspects, next_at, strict=True) if at <= now):
        if not (yield Statement(_LOCK_HOST, (row["host"],))):
            continue
        if (yield from _count_free(row, limits, now)) <= 0:
            continue
        claimed = yield Statement(_CLAIM_SUSPECT, (row["id"], until))
        yield from _book(job_id, row, limits, now)
        return LeaseBatch(claims=(_read_claim(job_id, claimed[0], row["delay_ms"]),))
    wait = min(next_at) - now
    return LeaseBatch(wait_ms=max(wait, _LOOK_AGAIN_MS) if wait > 0 else _OTHERS_FIRST_MS)


def _next_at(suspect: SqlRow, now: int) -> int:
    """Return when a suspect may be asked for, as its host and its job want it."""
    times = (suspect["next_at"], suspect["job_next_at"])
    return max((at for at in times if at <= now + FURTHEST_MS), default=now)


def _read_claim(job_id: str, row: SqlRow, delay_ms: int) -> PageLease:
    return PageLease(
        page_id=row["id"],
        job_id=job_id,
        url=row["url"],
        host=row["host"],
        depth=row["depth"],
        fence=row["fence"],
        tries=row["tries"],
        delay_ms=delay_ms,
    )


_FIND_HOST = """
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


def find_host(host: str) -> Query[HostState]:
    """Return what is known of a host."""
    rows = yield Statement(_FIND_HOST, (host,))
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


def note_robots(host: str, status: int, body: bytes, now: int, *, failed: bool) -> Query[None]:
    """Keep a host's robots.txt, or that it could not be had once more."""
    yield Statement(_NOTE_ROBOTS, (host, status, now, int(failed), compress(body)))


def slow_down(host: str, delay_ms: int, rest_until: int) -> Query[None]:
    """Set the time between two requests to a host, the next of which comes no sooner."""
    yield Statement(_SLOW_DOWN, (host, delay_ms, rest_until))
