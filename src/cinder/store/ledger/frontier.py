"""The URLs of a job: each added once, counted by status, and listed in order.

The URLs of a job are numbered from 0 without gaps in each of its lists: all URLs, those of each
status, and those that failed. Numbers are given under the job's lock, so a list grows only at its
end. The expressions for the next number use an index, and see what their own transaction has
written.

The counts are in the job's row, which every writer of its URLs locks. They change in the same
transaction as the URLs, and cost the same to read for a job of any size.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from cinder.models.job import (
    ERROR_STATUSES,
    NOT_FOLLOWED_RANK,
    JobCounts,
    LedgerPage,
    NewPage,
    PageState,
    PageStatus,
)
from cinder.store.database import (
    Query,
    Repository,
    SqlRow,
    SqlValue,
    Statement,
    clamp_limit,
    from_milliseconds,
    reads,
    scrub,
    writes,
)
from cinder.store.group_commit import BulkIncrement, WriteStage

ERROR_LIST = ", ".join(f"'{fate}'" for fate in ERROR_STATUSES)


def _next(column: str, where: str) -> str:
    last = f"SELECT max(numbered.{column}) FROM webhook.frontier numbered WHERE {where}"  # noqa: S608 - constants
    return f"COALESCE(({last}) + 1, 0)"


def next_status_position(job: str, fate: str) -> str:
    """Return SQL for the first free number among a job's URLs of a status."""
    where = f"numbered.job_id = {job} AND numbered.fate = {fate}"
    return _next("fate_position", f"{where} AND numbered.fate_position IS NOT NULL")


def next_error_position(job: str) -> str:
    """Return SQL for the first free number among a job's URLs that failed."""
    where = f"numbered.job_id = {job} AND numbered.error_position IS NOT NULL"
    return _next("error_position", where)


STATUS_COLUMNS = {
    PageStatus.FETCHED: "fetched",
    PageStatus.FAILED: "failed",
    PageStatus.DISALLOWED: "disallowed",
    PageStatus.OUTSIDE: "outside",
    PageStatus.DUPLICATE: "duplicates",
    PageStatus.TRAP: "traps",
    PageStatus.LEFT: "left_out",
}

_NUMBERS = ("found", "bytes_fetched", "too_deep", *STATUS_COLUMNS.values())
_SUMS = ", ".join(f"{name} = {name} + ${place}" for place, name in enumerate(_NUMBERS, start=2))
_COUNT = BulkIncrement(WriteStage.COUNT, f"UPDATE webhook.jobs SET {_SUMS} WHERE id = $1")  # noqa: S608 - constants


@dataclass(slots=True)
class Tally:
    """What a transaction adds to a job's counts."""

    found: int = 0
    size: int = 0
    """The bytes fetched."""
    too_deep: int = 0
    fates: Counter[PageStatus] = field(default_factory=Counter)


def count_up(job_id: str, tally: Tally) -> Query[None]:
    """Add to a job's counts."""
    fates = (tally.fates[fate] for fate in STATUS_COLUMNS)
    numbers = (tally.found, tally.size, tally.too_deep, *fates)
    if any(numbers):
        yield _COUNT.add(job_id, *numbers)


def read_status_counts(row: SqlRow) -> dict[PageStatus, int]:
    """Return how many URLs of a job have each status, from its row."""
    return {fate: row[name] for fate, name in STATUS_COLUMNS.items() if row[name]}


_INSERT_TYPES = {
    "fingerprint": "BYTEA",
    "host": "TEXT",
    "depth": "INTEGER",
    "state": "TEXT",
    "fate": "TEXT",
    "finished_at": "BIGINT",
    "template": "TEXT",
    "url": "TEXT",
    "reason": "TEXT",
    "rank": "INTEGER",
}
_TYPES = tuple(_INSERT_TYPES.values())
# How many rows one statement adds: few different statements, each prepared once.
_CHUNKS = (64, 16, 4, 1)

# Each URL is looked up by itself: for all at once, PostgreSQL may read the whole job.
_ADD_PAGES = f"""
INSERT INTO webhook.frontier (job_id, {", ".join(_INSERT_TYPES)}, position, fate_position,
                              error_position)
SELECT $1, {", ".join(f"page.column{place}" for place in range(2, len(_INSERT_TYPES) + 2))},
       {_next("position", "numbered.job_id = $1")} + row_number() OVER (ORDER BY page.column1) - 1,
       CASE WHEN page.column6 IS NOT NULL THEN {next_status_position("$1", "page.column6")}
            + row_number() OVER (PARTITION BY page.column6 ORDER BY page.column1) - 1 END,
       CASE WHEN page.column6 IN ({ERROR_LIST}) THEN {next_error_position("$1")} + row_number()
            OVER (PARTITION BY page.column6 IN ({ERROR_LIST}) ORDER BY page.column1) - 1 END
  FROM (VALUES {{rows}}) AS page
 WHERE (SELECT known.id FROM webhook.frontier known
         WHERE known.job_id = $1 AND known.fingerprint = page.column2 LIMIT 1) IS NULL
 ORDER BY page.column1
RETURNING fingerprint, host
"""  # noqa: S608 - constant columns

# A URL that was too deep, or behind links that are not followed, was never requested. It is queued
# when it is found again by a better way, and one that is queued already moves up.
_FIND_DEEPER = """
SELECT page.column1 AS place, (
       SELECT known.id FROM webhook.frontier known
        WHERE known.job_id = $1 AND known.fingerprint = page.column2
          AND (known.depth > page.column3 OR known.rank > page.column4)
          AND (known.state = 'queued' OR known.fate = 'outside scope' AND known.fence = 0
                                         AND known.status_code IS NULL) LIMIT 1) AS id
  FROM (VALUES {rows}) AS page
"""

_REQUEUE = """
UPDATE webhook.frontier SET state = 'queued', depth = $2, rank = $4, template = $3, fate = NULL,
       reason = NULL, finished_at = NULL, fate_position = NULL
 WHERE id = $1
"""

_MOVE_UP = """
UPDATE webhook.frontier SET depth = CASE WHEN depth > $2 THEN $2 ELSE depth END,
       rank = CASE WHEN rank > $3 THEN $3 ELSE rank END
 WHERE id = $1
"""

_KNOWN_PLACE = "SELECT state, rank, fate_position FROM webhook.frontier WHERE id = $1"

# The last URL of the list takes the number that became free, so that the numbers have no gaps.
_FILL_GAP = f"""
UPDATE webhook.frontier SET fate_position = $2
 WHERE job_id = $1 AND fate = 'outside scope' AND fate_position > $2
   AND fate_position = {next_status_position("$1", "'outside scope'")} - 1
"""  # noqa: S608 - constants

_LOCK_JOB = "SELECT id FROM webhook.jobs WHERE id = $1 FOR UPDATE"

_ADD_HOST = """
INSERT INTO webhook.hosts (host, next_at, delay_ms) VALUES ($1, 0, 0) ON CONFLICT (host) DO NOTHING
"""

_QUEUE_MORE = """
INSERT INTO webhook.job_hosts (job_id, host, queued, rank)
VALUES ($1, $2, $3, COALESCE((SELECT f.rank FROM webhook.frontier f
                               WHERE f.job_id = $1 AND f.host = $2 AND f.state = 'queued'
                               ORDER BY f.rank LIMIT 1), 0))
ON CONFLICT (job_id, host) DO UPDATE
   SET queued = job_hosts.queued + excluded.queued, rank = excluded.rank
"""

_MARK_SEEDED = "UPDATE webhook.jobs SET seeded_at = $2 WHERE id = $1 AND seeded_at IS NULL"


def lock_job(job_id: str) -> Query[None]:
    """Let no other transaction write to a job's rows until this one ends.

    All writers lock the job first: taking its rows in another order could deadlock. It also makes
    URLs get their status in the order of the commits.
    """
    yield Statement(_LOCK_JOB, (job_id,))


def seed_job(
    job_id: str, pages: Sequence[NewPage], clock: Callable[[], int], *, is_last: bool
) -> Query[int]:
    """Add URLs to a job and count them; return how many are new. The last call marks the end."""
    yield from lock_job(job_id)
    now = clock()
    added = yield from add_pages(job_id, pages, now)
    yield from count_up(job_id, added)
    if is_last:
        yield Statement(_MARK_SEEDED, (job_id, now))
    return added.found


def add_pages(job_id: str, pages: Sequence[NewPage], now: int) -> Query[Tally]:
    """Add URLs that the job does not have; return what that adds to its counts."""
    queued: Counter[str] = Counter()
    tally = Tally()
    for chunk in _chunks(_each_once(pages)):
        values: list[SqlValue] = []
        for page in chunk:
            state = PageState.QUEUED if page.fate is None else PageState.DONE
            finished_at = None if page.fate is None else now
            values += (page.fingerprint, page.host, page.depth, state, page.fate, finished_at)
            values += (page.template, scrub(page.url), scrub(page.reason), page.rank)
        rows = yield Statement(_with_rows(_ADD_PAGES, len(chunk), _TYPES), (job_id, *values))
        added = {bytes(row["fingerprint"]) for row in rows}
        for page in chunk:
            if page.fingerprint not in added:
                continue
            tally.found += 1
            tally.too_deep += page.is_too_deep
            if page.fate is None:
                queued[page.host] += 1
            else:
                tally.fates[page.fate] += 1
        known = [page for page in chunk if page.fate is None and page.fingerprint not in added]
        yield from _requeue_nearer(job_id, known, queued, tally)
    yield from queue_more(job_id, queued)
    return tally


def _requeue_nearer(
    job_id: str, known: Sequence[NewPage], queued: Counter[str], tally: Tally
) -> Query[None]:
    """Queue, or move up, those URLs that were found by a worse way before."""
    types = ("BYTEA", "INTEGER", "INTEGER")
    for chunk in _chunks(known):
        values = [v for page in chunk for v in (page.fingerprint, page.depth, page.rank)]
        statement = Statement(_with_rows(_FIND_DEEPER, len(chunk), types), (job_id, *values))
        for row in (yield statement):
            if row["id"] is None:
                continue
            page = chunk[row["place"]]
            place = (yield Statement(_KNOWN_PLACE, (row["id"],)))[0]
            queued[page.host] += place["state"] != PageState.QUEUED
            if place["state"] == PageState.QUEUED:
                yield Statement(_MOVE_UP, (row["id"], page.depth, page.rank))
                continue
            yield Statement(_REQUEUE, (row["id"], page.depth, page.template, page.rank))
            yield Statement(_FILL_GAP, (job_id, place["fate_position"]))
            tally.fates[PageStatus.OUTSIDE] -= 1
            tally.too_deep -= place["rank"] != NOT_FOLLOWED_RANK


def queue_more(job_id: str, queued: Counter[str]) -> Query[None]:
    """Count queued URLs of hosts, and note the best rank; a negative number takes them off."""
    for host, count in sorted(queued.items()):
        if count > 0:  # a host that loses URLs has a row already
            yield Statement(_ADD_HOST, (host,))
        yield Statement(_QUEUE_MORE, (job_id, host, count))


def _each_once(pages: Sequence[NewPage]) -> list[NewPage]:
    """Return URLs without duplicates, preferring those to fetch, then the lowest depth."""
    once: dict[bytes, NewPage] = {}
    for page in pages:
        known = once.setdefault(page.fingerprint, page)
        order = (page.fate is not None, page.depth, page.rank)
        if order < (known.fate is not None, known.depth, known.rank):
            once[page.fingerprint] = page
    return list(once.values())


def _chunks(pages: Sequence[NewPage]) -> Iterator[Sequence[NewPage]]:
    start = 0
    for size in _CHUNKS:
        while len(pages) - start >= size:
            yield pages[start : start + size]
            start += size


@cache
def _with_rows(sql: str, count: int, types: tuple[str, ...]) -> str:
    """Return a statement with numbered rows of parameters, which begin with $2."""
    rows = []
    for number in range(count):
        names = enumerate(types, 2 + number * len(types))
        rows.append(f"({number}, {', '.join(f'CAST(${name} AS {kind})' for name, kind in names)})")
    return sql.format(rows=", ".join(rows))


# Their number is limited by the workers, however many URLs the job has.
_COUNT_LEASED = """
SELECT count(*) AS leased FROM webhook.frontier
 WHERE job_id = $1 AND state = 'leased' AND lease_until > 0
"""

_FIND_NUMBERS = f"""
SELECT found, {", ".join(STATUS_COLUMNS.values())} FROM webhook.jobs WHERE id = $1
"""  # noqa: S608 - constant columns

_COUNT_TEMPLATES = """
SELECT template, count(*) AS pages FROM webhook.frontier
 WHERE job_id = $1 AND template <> '' GROUP BY template
"""

_SELECT_PAGE = """
SELECT id, url, depth, state, fate, reason, status_code, verdict, title, content_length, uris,
       finished_at
  FROM webhook.frontier
"""

_LIST_PAGES = f"{_SELECT_PAGE} WHERE job_id = $1 AND position >= $3 ORDER BY position LIMIT $2"

_LIST_BY_STATUS = f"""
{_SELECT_PAGE} WHERE job_id = $1 AND fate = $4 AND fate_position >= $3
 ORDER BY fate_position LIMIT $2
"""

_LIST_ERRORS = f"""
{_SELECT_PAGE} WHERE job_id = $1 AND error_position >= $3 ORDER BY error_position LIMIT $2
"""

# URLs of statuses that share no list are all read and sorted.
_LIST_BY_STATUSES = f"""
{_SELECT_PAGE} WHERE job_id = $1 AND fate = ANY($4) ORDER BY finished_at, id LIMIT $2 OFFSET $3
"""


class FrontierOperations(Repository):
    """The operations that add, count and list the URLs of a job."""

    @writes("add_pages")
    def add_pages(
        self, job_id: str, pages: Sequence[NewPage], *, is_last: bool = False
    ) -> Query[int]:
        """Add URLs to a job, each once; return how many are new. The last call marks the end."""
        return seed_job(job_id, pages, self._now, is_last=is_last)

    @reads("count_pages")
    def count_pages(self, job_id: str) -> Query[JobCounts]:
        """Return how many URLs of a job have each state and status."""
        rows = yield Statement(_FIND_NUMBERS, (job_id,))
        if not rows:
            return JobCounts()
        leased = (yield Statement(_COUNT_LEASED, (job_id,)))[0]["leased"]
        fates = read_status_counts(rows[0])
        queued = rows[0]["found"] - sum(fates.values()) - leased
        # A page may be leased between the two statements.
        return JobCounts(queued=max(0, queued), leased=leased, fates=fates)

    @reads("count_templates")
    def count_templates(self, job_id: str) -> Query[Mapping[str, int]]:
        """Return how many URLs of each template a job has taken."""
        rows = yield Statement(_COUNT_TEMPLATES, (job_id,))
        return {row["template"]: row["pages"] for row in rows}

    @reads("list_pages")
    def list_pages(
        self, job_id: str, fates: Collection[PageStatus] | None, *, offset: int, limit: int
    ) -> Query[list[LedgerPage]]:
        """Return URLs with these statuses in the order in which they got them; None for every URL.

        A list grows only at its end, so reading it in parts misses nothing and repeats nothing. The
        exception is a URL outside the scope for its depth that is found again closer to the start.
        One status, all errors and all URLs cost the same at any offset.
        """
        part = (job_id, clamp_limit(limit), max(0, offset))
        if fates is None:
            rows = yield Statement(_LIST_PAGES, part)
        elif set(fates) == set(ERROR_STATUSES):
            rows = yield Statement(_LIST_ERRORS, part)
        elif len(fates) == 1:
            rows = yield Statement(_LIST_BY_STATUS, (*part, *(fate.value for fate in fates)))
        else:
            rows = yield Statement(_LIST_BY_STATUSES, (*part, [fate.value for fate in fates]))
        return [
            LedgerPage(
                id=row["id"],
                url=row["url"],
                depth=row["depth"],
                # A suspect is queued as well, behind the others.
                state=PageState("queued" if row["state"] == "suspect" else row["state"]),
                fate=None if row["fate"] is None else PageStatus(row["fate"]),
                reason=row["reason"] or "",
                status_code=row["status_code"],
                verdict=row["verdict"],
                title=row["title"],
                content_length=row["content_length"],
                uris=tuple(json.loads(row["uris"])) if row["uris"] else (),
                finished_at=from_milliseconds(row["finished_at"]) if row["finished_at"] else None,
            )
            for row in rows
        ]
