"""Leases: who may fetch which URL, until when, and never more of a host than it bears."""

from collections import Counter
from collections.abc import Collection, Sequence

from cinder.model.job import Claim, Fate, Lease, LeaseLimits, PageResult
from cinder.store.ledger.jobs import find_job
from cinder.store.ledger.outbox import Telling
from cinder.store.ledger.pages import count_pages, lock_job, queue_more
from cinder.store.procedure import Procedure, Row, Statement

# How soon to look again at the earliest, and where another worker's page has to end first.
_LOOK_AGAIN_MS = 100
_OTHERS_FIRST_MS = 500

# No lease lasts longer than its time and this, and no rest of a host longer than this: what ends
# later was written before the clock was set back, and would hold everything up for as long.
FURTHEST_MS = 15 * 60 * 1000

_BEGIN = """
UPDATE webhook.jobs SET status = 'running', started_at = $2 WHERE id = $1 AND status = 'queued'
RETURNING id
"""

_ATTEND = """
UPDATE webhook.jobs SET status = 'running', started_at = COALESCE(started_at, $2), next_at = $3
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING max_pages, fetched
"""

_RUN_OUT = """
UPDATE webhook.frontier SET state = 'queued', lease_until = NULL, tries = tries + 1
 WHERE job_id = $1 AND state = 'leased' AND (lease_until <= $2 OR lease_until > $3)
RETURNING id, host, tries
"""

_GIVE_UP = """
UPDATE webhook.frontier SET state = 'done', fate = 'failed', finished_at = $2, reason = $3
 WHERE id = ANY($1)
RETURNING url
"""

_COUNT_LEASED = """
SELECT count(*) AS leased, min(lease_until) AS first_until, max(lease_until) AS last_until
  FROM webhook.frontier WHERE job_id = $1 AND state = 'leased'
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

_CLAIM = """
UPDATE webhook.frontier SET state = 'leased', fence = fence + 1, lease_until = $4
 WHERE id IN (
       SELECT id FROM webhook.frontier WHERE job_id = $1 AND host = $2 AND state = 'queued'
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, url, host, depth, fence, tries
"""

_BOOK = "UPDATE webhook.hosts SET next_at = $2 WHERE host = $1"
_BOOK_FOR_JOB = "UPDATE webhook.job_hosts SET next_at = $3 WHERE job_id = $1 AND host = $2"

# A claim is named by its URL and its fence together.
_RENEW = """
UPDATE webhook.frontier SET lease_until = $3
 WHERE id = ANY($1) AND id || ':' || fence = ANY($2) AND state = 'leased'
"""

_RELEASE = """
UPDATE webhook.frontier SET state = 'queued', lease_until = NULL, tries = tries + $3
 WHERE id = $1 AND fence = $2 AND state = 'leased'
RETURNING host
"""


def lease(job_id: str, limits: LeaseLimits, now: int, telling: Telling) -> Procedure[Lease]:
    """Claim URLs of a job that may be fetched now."""
    until = now + round(limits.seconds * 1000)
    if telling.is_wanted:
        yield from _tell_start(job_id, now, telling)
    # Others see that the job is looked after for as long as its leases last.
    rows = yield Statement(_ATTEND, (job_id, now, until))
    if not rows:
        return Lease(is_over=True)
    leased = yield from _count_leased(job_id, limits, now, telling)
    room = min(limits.count, rows[0]["max_pages"] - rows[0]["fetched"] - leased)
    if room <= 0:
        return Lease(is_over=leased == 0, wait_ms=_OTHERS_FIRST_MS)
    # Hosts that have all they bear are as many as there are leases, and come first.
    hosts = yield Statement(_DUE_HOSTS, (job_id, now, room + leased, now + FURTHEST_MS))
    claims = yield from _claim(job_id, hosts, room, limits, now)
    if claims:
        return Lease(claims=claims)
    return (yield from _wait(job_id, leased, now))


def renew(claims: Collection[Claim], until: int) -> Procedure[None]:
    """Make leases last until a moment; those that were lost stay lost."""
    for job_id in sorted({claim.job_id for claim in claims}):
        yield from lock_job(job_id)
    ids = [claim.page_id for claim in claims]
    names = [f"{claim.page_id}:{claim.fence}" for claim in claims]
    yield Statement(_RENEW, (ids, names, until))


def release(claims: Collection[Claim], *, is_try: bool) -> Procedure[None]:
    """Give claims back."""
    queued: Counter[tuple[str, str]] = Counter()
    for job_id in sorted({claim.job_id for claim in claims}):
        yield from lock_job(job_id)
    for claim in claims:
        rows = yield Statement(_RELEASE, (claim.page_id, claim.fence, int(is_try)))
        queued.update((claim.job_id, row["host"]) for row in rows)
    for (job_id, host), count in sorted(queued.items()):
        yield from queue_more(job_id, Counter({host: count}))


def _tell_start(job_id: str, now: int, telling: Telling) -> Procedure[None]:
    """Begin a job that nobody has begun, and tell of it."""
    begun = yield Statement(_BEGIN, (job_id, now))
    if begun:
        yield from telling.started((yield from find_job(job_id, telling.dialect)), now)


def _count_leased(job_id: str, limits: LeaseLimits, now: int, telling: Telling) -> Procedure[int]:
    """Return how many URLs are claimed, having taken back what dead workers had claimed."""
    row = (yield Statement(_COUNT_LEASED, (job_id,)))[0]
    if not row["leased"]:
        return 0
    if row["first_until"] <= now or row["last_until"] > _furthest(limits, now):
        yield from _take_back(job_id, limits, now, telling)
        row = (yield Statement(_COUNT_LEASED, (job_id,)))[0]
    return int(row["leased"])


def _take_back(job_id: str, limits: LeaseLimits, now: int, telling: Telling) -> Procedure[None]:
    """Queue again what dead workers had claimed; give up what has been claimed too often."""
    rows = yield Statement(_RUN_OUT, (job_id, now, _furthest(limits, now)))
    lost = [row["id"] for row in rows if row["tries"] >= limits.max_tries]
    queued = Counter(row["host"] for row in rows if row["tries"] < limits.max_tries)
    yield from queue_more(job_id, queued)
    if lost:
        reason = f"the worker ended, or hung, each of the {limits.max_tries} times it was fetched"
        result = PageResult(fate=Fate.FAILED, reason=reason)
        for row in (yield Statement(_GIVE_UP, (lost, now, reason))):
            yield from telling.page(row["url"], result, now)
        yield from count_pages(job_id, failed=len(lost))


def _furthest(limits: LeaseLimits, now: int) -> int:
    return now + FURTHEST_MS + round(limits.seconds * 1000)


def _claim(
    job_id: str, hosts: Sequence[Row], room: int, limits: LeaseLimits, now: int
) -> Procedure[tuple[Claim, ...]]:
    claims: list[Claim] = []
    for host in hosts:
        claims += yield from _claim_of_host(job_id, host, room - len(claims), limits, now)
        if len(claims) >= room:
            break
    return tuple(claims)


def _claim_of_host(
    job_id: str, host: Row, room: int, limits: LeaseLimits, now: int
) -> Procedure[list[Claim]]:
    """Claim URLs of a host whose row is locked: nobody else counts or books at the same time."""
    name, delay, own_delay = host["host"], host["delay_ms"], limits.least_delay_ms
    busy = (yield Statement(_COUNT_ON_HOST, (name, now)))[0]["leased"]
    # A host that wants time between requests gets one at a time, and so does a job that does.
    count = min(room, (1 if delay else limits.host_concurrency) - busy, 1 if own_delay else room)
    if count <= 0:
        return []
    until = now + round(limits.seconds * 1000)
    claimed = yield Statement(_CLAIM, (job_id, name, count, until))
    if not claimed:
        return []
    yield from queue_more(job_id, Counter({name: -len(claimed)}))
    if delay or host["next_at"] > now:
        yield Statement(_BOOK, (name, now + delay))
    if own_delay:
        # Its own wish, and not the host's: other jobs need not wait for it.
        yield Statement(_BOOK_FOR_JOB, (job_id, name, now + own_delay))
    # A database may return rows in any order.
    ordered = sorted(claimed, key=lambda row: row["id"])
    return [_read_claim(job_id, row, host["delay_ms"]) for row in ordered]


def _wait(job_id: str, leased: int, now: int) -> Procedure[Lease]:
    """Tell when there may be something to claim."""
    next_at = (yield Statement(_NEXT_DUE, (job_id,)))[0]["next_at"]
    if next_at is None or next_at <= now:
        return Lease(is_over=next_at is None and leased == 0, wait_ms=_OTHERS_FIRST_MS)
    return Lease(wait_ms=max(next_at - now, _LOOK_AGAIN_MS))


def _read_claim(job_id: str, row: Row, delay_ms: int) -> Claim:
    return Claim(
        page_id=row["id"],
        job_id=job_id,
        url=row["url"],
        host=row["host"],
        depth=row["depth"],
        fence=row["fence"],
        tries=row["tries"],
        delay_ms=delay_ms,
    )
