"""Leases on the URLs of a job, limited by the throttle of each host."""

from collections import Counter
from collections.abc import Collection

from cinder.compression import compress, decompress
from cinder.models.job import HostState, LeaseBatch, LeaseLimits, PageLease, PageResult, PageStatus
from cinder.store.database import (
    Query,
    Repository,
    SqlRow,
    Statement,
    from_milliseconds,
    reads,
    writes,
)
from cinder.store.ledger.frontier import (
    STATUS_COLUMNS,
    Tally,
    count_up,
    lock_job,
    next_error_position,
    next_status_position,
    queue_more,
)
from cinder.store.ledger.job_rows import find_job
from cinder.store.ledger.outbox import EventEmitter, EventRecorder

# How soon to try again at the earliest, and while another worker's page has to end first.
_MIN_WAIT_MS = 100
_OTHERS_FIRST_MS = 500
# One suspect whose host may be requested now is chosen among so many.
_SUSPECTS_AT_ONCE = 20

# No lease lasts longer than its time and this, and no pause of a host longer than this. A later
# time was written before the clock was set back, and would block the job until then.
FURTHEST_MS = 15 * 60 * 1000

_BEGIN = """
UPDATE webhook.jobs SET status = 'running', started_at = $2 WHERE id = $1 AND status = 'queued'
RETURNING id
"""

_MARK_ATTENDED = f"""
UPDATE webhook.jobs SET status = 'running', started_at = COALESCE(started_at, $2), next_at = $3
 WHERE id = $1 AND status IN ('queued', 'running')
RETURNING max_pages, fetched, found - ({" + ".join(STATUS_COLUMNS.values())}) AS open
"""  # noqa: S608 - constant columns

# The pages that a process had leased when it died become suspects, though most of them are
# innocent. A suspect is leased alone, so that from the second crash on the page is known to be the
# cause.
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
"""  # noqa: S608 - constant columns

# Here and above, the time makes SQLite use the index of leased URLs: by the job alone it would use
# another, and read all URLs.
_COUNT_LEASED = """
SELECT count(*) AS leased, min(lease_until) AS first_until, max(lease_until) AS last_until,
       count(CASE WHEN crashes > 0 THEN 1 END) AS suspects,
       count(CASE WHEN rank = 0 AND crashes = 0 THEN 1 END) AS starts
  FROM webhook.frontier WHERE job_id = $1 AND state = 'leased' AND lease_until > 0
"""

# Those with the fewest crashes come first, so that a page that ends every process delays no other.
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
SELECT h.host, h.delay_ms, h.next_at, j.rank
  FROM webhook.job_hosts j JOIN webhook.hosts h ON h.host = j.host
 WHERE j.job_id = $1 AND j.queued > 0 AND (h.next_at <= $2 OR h.next_at > $4)
   AND (j.next_at <= $2 OR j.next_at > $4)
 ORDER BY j.rank, h.next_at, h.host LIMIT $3 FOR UPDATE OF h SKIP LOCKED
"""

_COUNT_BY_RANK = """
SELECT rank, sum(queued) AS queued FROM webhook.job_hosts
 WHERE job_id = $1 AND queued > 0 GROUP BY rank
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
        ORDER BY rank, id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, url, host, depth, rank, fence, tries
"""

_BOOK_HOST = "UPDATE webhook.hosts SET next_at = $2 WHERE host = $1"
_BOOK_HOST_FOR_JOB = "UPDATE webhook.job_hosts SET next_at = $3 WHERE job_id = $1 AND host = $2"

# A lease is identified by its URL and its fence together.
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


class LeaseOperations(Repository):
    """The operations on leases and on the throttles of hosts."""

    @writes("lease")
    def lease(
        self, job_id: str, limits: LeaseLimits, *, emitter: EventEmitter | None = None
    ) -> Query[LeaseBatch]:
        """Lease URLs that may be fetched now, within the throttles of their hosts.

        The emitter reports that the job has begun, and URLs that are given up.
        """
        return _Leasing(job_id, limits, self._now(), EventRecorder(emitter, self._dialect)).run()

    @writes("renew")
    def renew(self, claims: Collection[PageLease], seconds: float) -> Query[None]:
        """Make leases last for so long from now; those that were lost stay lost."""
        until = self._now() + round(seconds * 1000)
        for job_id in sorted({claim.job_id for claim in claims}):
            yield from lock_job(job_id)
        ids = [claim.page_id for claim in claims]
        names = [f"{claim.page_id}:{claim.fence}" for claim in claims]
        yield Statement(_RENEW, (ids, names, until))

    @writes("release")
    def release(self, claims: Collection[PageLease], *, is_try: bool = False) -> Query[None]:
        """Give leases back; a try is counted where the URL was requested."""
        queued: Counter[tuple[str, str]] = Counter()
        for job_id in sorted({claim.job_id for claim in claims}):
            yield from lock_job(job_id)
        for claim in claims:
            rows = yield Statement(_RELEASE, (claim.page_id, claim.fence, int(is_try)))
            # The counts of hosts do not include suspects.
            queued.update((claim.job_id, row["host"]) for row in rows if row["state"] == "queued")
        for (job_id, host), count in sorted(queued.items()):
            yield from queue_more(job_id, Counter({host: count}))

    @reads("find_host")
    def find_host(self, host: str) -> Query[HostState]:
        """Return the state of a host."""
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

    @writes("note_robots")
    def note_robots(self, host: str, status: int, body: bytes, *, failed: bool) -> Query[None]:
        """Store a host's robots.txt, or that it could not be fetched once more."""
        yield Statement(_NOTE_ROBOTS, (host, status, self._now(), int(failed), compress(body)))

    @writes("slow_down")
    def slow_down(self, host: str, *, delay_ms: int, pause_ms: int = 0) -> Query[None]:
        """Set the time between two requests to a host, and pause it for some time."""
        yield Statement(_SLOW_DOWN, (host, delay_ms, self._now() + pause_ms))


def _by_rank(row: SqlRow) -> tuple[int, int]:
    return row["rank"], row["id"]


class _Leasing:
    """Leases URLs of one job."""

    def __init__(self, job_id: str, limits: LeaseLimits, now: int, events: EventRecorder) -> None:
        self._job_id = job_id
        self._limits = limits
        self._now = now
        self._until = now + round(limits.seconds * 1000)
        self._events = events

    def run(self) -> Query[LeaseBatch]:
        """Lease as many URLs as the limits allow, or return when to try again."""
        job_id, limits, now = self._job_id, self._limits, self._now
        if self._events.emitter is not None and (yield Statement(_BEGIN, (job_id, now))):
            job = yield from find_job(job_id, self._events.dialect)
            yield from self._events.started(job, now)
        # Other workers see that the job is attended for as long as its leases last.
        rows = yield Statement(_MARK_ATTENDED, (job_id, now, self._until))
        if not rows:
            return LeaseBatch(is_over=True)
        leased, suspects, starts = yield from self._count_leased()
        allowed = rows[0]["max_pages"] - rows[0]["fetched"]
        room = min(limits.count, allowed - leased)
        if room <= 0:
            return LeaseBatch(is_over=leased == 0, wait_ms=_OTHERS_FIRST_MS)
        if not limits.is_alone:
            spare = None if rows[0]["open"] <= allowed else allowed - leased
            claims = yield from self._lease_due(room, leased, spare, starts)
            if claims:
                return LeaseBatch(claims=tuple(claims))
        next_at = (yield Statement(_NEXT_DUE, (job_id,)))[0]["next_at"]
        if next_at is None and leased == suspects:
            return (yield from self._lease_suspect(leased))
        if next_at is None or next_at <= now:
            return LeaseBatch(wait_ms=0 if limits.is_alone else _OTHERS_FIRST_MS)
        return LeaseBatch(wait_ms=max(next_at - now, _MIN_WAIT_MS))

    def _count_leased(self) -> Query[tuple[int, int, int]]:
        """Return how many URLs are leased, how many of those are suspects, and how many starts.

        The leases of dead workers end before.
        """
        row = (yield Statement(_COUNT_LEASED, (self._job_id,)))[0]
        if not row["leased"]:
            return 0, 0, 0
        if row["first_until"] <= self._now or row["last_until"] > self._until + FURTHEST_MS:
            yield from self._expire_leases()
            row = (yield Statement(_COUNT_LEASED, (self._job_id,)))[0]
        return row["leased"], row["suspects"], row["starts"]

    def _expire_leases(self) -> Query[None]:
        """Make the leased pages of dead workers suspects; give up those that crashed when alone."""
        job_id, now, tries = self._job_id, self._now, self._limits.crash_tries
        rows = yield Statement(_RUN_OUT, (job_id, now, self._until + FURTHEST_MS))
        lost = [row["id"] for row in rows if row["crashes"] > tries]
        if not lost:
            return
        times = "time" if tries == 1 else f"{tries} times"
        reason = (
            f"the process died, or hung, the {times} it fetched this page alone "
            "(setting jobs.crash-tries)"
        )
        result = PageResult(fate=PageStatus.FAILED, reason=reason)
        for page_id in lost:
            row = (yield Statement(_GIVE_UP, (page_id, job_id, now, reason)))[0]
            yield from self._events.page(row["url"], result, now)
        yield from count_up(job_id, Tally(fates=Counter({PageStatus.FAILED: len(lost)})))

    def _lease_due(
        self, room: int, leased: int, spare: int | None, starts: int
    ) -> Query[list[PageLease]]:
        """Lease URLs of hosts that may be requested now, those of the best rank first.

        While the start of a crawl is fetched, the pages of sitemaps wait for the links on it.

        Where only `spare` more pages may be fetched, fewer than are queued, no host gets the pages
        that those of a better rank need, even while they are busy or paused.
        """
        # Among them may be hosts that are busy; there are at most as many as leases.
        args = (self._job_id, self._now, room + leased, self._now + FURTHEST_MS)
        claims: list[PageLease] = []
        hosts = yield Statement(_DUE_HOSTS, args)
        waiting: Counter[int] = Counter()
        if hosts and spare is not None:
            rows = yield Statement(_COUNT_BY_RANK, (self._job_id,))
            waiting.update({row["rank"]: int(row["queued"]) for row in rows})
        for host in hosts:
            free = (
                room
                if spare is None
                else spare - sum(count for rank, count in waiting.items() if rank < host["rank"])
            )
            free = min(free, room) - len(claims)
            if free <= 0 or (starts and host["rank"]):
                break
            leases = yield from self._lease_of_host(host, free)
            waiting[host["rank"]] -= len(leases)
            claims += leases
        return claims

    def _lease_of_host(self, host: SqlRow, room: int) -> Query[list[PageLease]]:
        """Lease URLs of a host whose row is locked: no other worker counts or books meanwhile."""
        count = min(room, (yield from self._count_free(host)))
        if count <= 0:
            return []
        name = host["host"]
        rows = yield Statement(_LEASE_PAGES, (self._job_id, name, count, self._until))
        if not rows:
            return []
        yield from queue_more(self._job_id, Counter({name: -len(rows)}))
        yield from self._book(host)
        # A database may return rows in any order.
        return [self._decode(row, host) for row in sorted(rows, key=_by_rank)]

    def _count_free(self, host: SqlRow) -> Query[int]:
        """Return how many more URLs of a host may be requested now."""
        busy = (yield Statement(_COUNT_ON_HOST, (host["host"], self._now)))[0]["leased"]
        # A host or a job with a delay between requests has one at a time.
        free = int((1 if host["delay_ms"] else self._limits.host_concurrency) - busy)
        return min(free, 1) if self._limits.least_delay_ms else free

    def _book(self, host: SqlRow) -> Query[None]:
        """Set when a host that is requested now may be requested next."""
        name, delay = host["host"], host["delay_ms"]
        if delay or host["next_at"] > self._now:
            yield Statement(_BOOK_HOST, (name, self._now + delay))
        if self._limits.least_delay_ms:
            # The delay of this job alone: other jobs need not wait for it.
            next_at = self._now + self._limits.least_delay_ms
            yield Statement(_BOOK_HOST_FOR_JOB, (self._job_id, name, next_at))

    def _lease_suspect(self, leased: int) -> Query[LeaseBatch]:
        """Lease one of the suspects, if there are any, to a process that works on nothing else."""
        suspects = yield Statement(_SUSPECTS, (self._job_id, _SUSPECTS_AT_ONCE))
        if not suspects:
            return LeaseBatch(is_over=leased == 0, wait_ms=_OTHERS_FIRST_MS)
        if not self._limits.is_alone:
            return LeaseBatch(has_suspects=True)
        latest = self._now + FURTHEST_MS
        waits = []
        for row in suspects:
            times = (at for at in (row["next_at"], row["job_next_at"]) if at <= latest)
            waits.append(max(times, default=self._now) - self._now)
            if waits[-1] > 0 or not (yield Statement(_LOCK_HOST, (row["host"],))):
                continue
            if (yield from self._count_free(row)) > 0:
                claimed = yield Statement(_CLAIM_SUSPECT, (row["id"], self._until))
                yield from self._book(row)
                return LeaseBatch(claims=(self._decode(claimed[0], row),))
        wait = min(waits)
        return LeaseBatch(wait_ms=max(wait, _MIN_WAIT_MS) if wait > 0 else _OTHERS_FIRST_MS)

    def _decode(self, row: SqlRow, host: SqlRow) -> PageLease:
        return PageLease(
            page_id=row["id"],
            job_id=self._job_id,
            url=row["url"],
            host=row["host"],
            depth=row["depth"],
            fence=row["fence"],
            tries=row["tries"],
            delay_ms=host["delay_ms"],
        )
