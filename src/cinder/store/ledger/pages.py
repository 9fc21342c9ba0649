"""URLs entering a job's ledger: each once, to be fetched or with the fate it has at first sight."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from cinder.model.job import Fate, NewPage, PageState
from cinder.store.dialect import scrub
from cinder.store.ledger.positions import (
    ERRORS,
    next_error_position,
    next_fate_position,
    next_position,
)
from cinder.store.ledger.tally import Tally
from cinder.store.procedure import Procedure, Row, SqlValue, Statement

_COLUMNS = (
    *("fingerprint", "host", "depth", "state", "fate", "finished_at", "template", "url", "reason"),
)
_TYPES = (*("BYTEA", "TEXT", "INTEGER", "TEXT", "TEXT", "BIGINT", "TEXT", "TEXT", "TEXT"),)
# As many rows as one statement adds: few different statements, which the database prepares once.
_CHUNKS = (64, 16, 4, 1)

# Each URL is looked up by itself: PostgreSQL, asked for all at once, may read the whole job.
_ADD = f"""
INSERT INTO webhook.frontier (job_id, {", ".join(_COLUMNS)}, position, fate_position,
                              error_position)
SELECT $1, {", ".join(f"page.column{place}" for place in range(2, len(_COLUMNS) + 2))},
       {next_position("$1")} + row_number() OVER (ORDER BY page.column1) - 1,
       CASE WHEN page.column6 IS NOT NULL THEN {next_fate_position("$1", "page.column6")}
            + row_number() OVER (PARTITION BY page.column6 ORDER BY page.column1) - 1 END,
       CASE WHEN page.column6 IN ({ERRORS}) THEN {next_error_position("$1")} + row_number()
            OVER (PARTITION BY page.column6 IN ({ERRORS}) ORDER BY page.column1) - 1 END
  FROM (VALUES {{rows}}) AS page
 WHERE (SELECT known.id FROM webhook.frontier known
         WHERE known.job_id = $1 AND known.fingerprint = page.column2 LIMIT 1) IS NULL
 ORDER BY page.column1
RETURNING fingerprint, host
"""  # noqa: S608 - columns of ours

# A URL that was too deep, and so never asked for, is taken when it is met again closer to the
# start.
_FIND_DEEPER = """
SELECT page.column1 AS place, (
       SELECT known.id FROM webhook.frontier known
        WHERE known.job_id = $1 AND known.fingerprint = page.column2
          AND known.fate = 'outside scope' AND known.fence = 0 AND known.status_code IS NULL
          AND known.depth > page.column3 LIMIT 1) AS id
  FROM (VALUES {rows}) AS page
"""

_REQUEUE = """
UPDATE webhook.frontier SET state = 'queued', depth = $2, template = $3, fate = NULL,
       reason = NULL, finished_at = NULL, fate_position = NULL
 WHERE id = $1
"""

_FATE_POSITION = "SELECT fate_position FROM webhook.frontier WHERE id = $1"

# The last of its list takes the place that became free, so that places have no gaps.
_FILL_GAP = f"""
UPDATE webhook.frontier SET fate_position = $2
 WHERE job_id = $1 AND fate = 'outside scope' AND fate_position > $2
   AND fate_position = {next_fate_position("$1", "'outside scope'")} - 1
"""  # noqa: S608 - ours

_LOCK = "SELECT id FROM webhook.jobs WHERE id = $1 FOR UPDATE"

_ADD_HOST = """
INSERT INTO webhook.hosts (host, next_at, delay_ms) VALUES ($1, 0, 0) ON CONFLICT (host) DO NOTHING
"""

_QUEUE_MORE = """
INSERT INTO webhook.job_hosts (job_id, host, queued) VALUES ($1, $2, $3)
ON CONFLICT (job_id, host) DO UPDATE SET queued = job_hosts.queued + excluded.queued
"""

_SEEDED = "UPDATE webhook.jobs SET seeded_at = $2 WHERE id = $1 AND seeded_at IS NULL"


def lock_job(job_id: str) -> Procedure[None]:
    """Let nobody else write to a job's rows until the transaction ends.

    All who do lock the job first: whoever took its rows in another order could wait for one who
    waits for him. It also makes the order in which URLs got their fates that of the commits.
    """
    yield Statement(_LOCK, (job_id,))


def add_pages(job_id: str, pages: Sequence[NewPage], now: int) -> Procedure[Tally]:
    """Add URLs that the ledger does not have; return what that adds to the job's numbers."""
    queued: Counter[str] = Counter()
    tally = Tally()
    for chunk in _chunks(_each_once(pages)):
        values = [value for page in chunk for value in _values(page, now)]
        rows = yield Statement(_add_statement(len(chunk)), (job_id, *values))
        added = {bytes(row["fingerprint"]) for row in rows}
        for page in chunk:
            if page.fingerprint in added:
                _count_new(page, queued, tally)
        known = [page for page in chunk if page.fate is None and page.fingerprint not in added]
        for page in (yield from _take_nearer(job_id, known)):
            queued[page.host] += 1
            tally.fates[Fate.OUTSIDE] -= 1
            tally.too_deep -= 1
    yield from queue_more(job_id, queued)
    return tally


def _count_new(page: NewPage, queued: Counter[str], tally: Tally) -> None:
    tally.found += 1
    tally.too_deep += page.is_too_deep
    if page.fate is None:
        queued[page.host] += 1
    else:
        tally.fates[page.fate] += 1


def _take_nearer(job_id: str, known: Sequence[NewPage]) -> Procedure[list[NewPage]]:
    """Queue those of some URLs that were too deep where they were met before; return them."""
    taken = []
    for chunk in _chunks(known):
        values = [value for page in chunk for value in (page.fingerprint, page.depth)]
        for row in (yield Statement(_find_statement(len(chunk)), (job_id, *values))):
            if row["id"] is not None:
                taken.append(chunk[row["place"]])
                yield from _requeue(job_id, row, taken[-1])
    return taken


def _requeue(job_id: str, row: Row, page: NewPage) -> Procedure[None]:
    position = (yield Statement(_FATE_POSITION, (row["id"],)))[0]["fate_position"]
    yield Statement(_REQUEUE, (row["id"], page.depth, page.template))
    yield Statement(_FILL_GAP, (job_id, position))


def queue_more(job_id: str, queued: Counter[str]) -> Procedure[None]:
    """Count URLs of hosts that wait to be fetched; fewer where the number is negative."""
    for host, count in sorted(queued.items()):
        if count > 0:  # of a host that has fewer there are some already
            yield Statement(_ADD_HOST, (host,))
        yield Statement(_QUEUE_MORE, (job_id, host, count))


def mark_seeded(job_id: str, now: int) -> Procedure[None]:
    """Note that all the URLs a job begins with are in its ledger."""
    yield Statement(_SEEDED, (job_id, now))


def _each_once(pages: Sequence[NewPage]) -> list[NewPage]:
    """Return URLs without repetitions, which no statement may have: of each, the best case."""
    once: dict[bytes, NewPage] = {}
    for page in pages:
        known = once.setdefault(page.fingerprint, page)
        if (page.fate is not None, page.depth) < (known.fate is not None, known.depth):
            once[page.fingerprint] = page
    return list(once.values())


def _chunks(pages: Sequence[NewPage]) -> Iterator[Sequence[NewPage]]:
    start = 0
    for size in _CHUNKS:
        while len(pages) - start >= size:
            yield pages[start : start + size]
            start += size


def _values(page: NewPage, now: int) -> tuple[SqlValue, ...]:
    state = PageState.QUEUED if page.fate is None else PageState.DONE
    finished_at = None if page.fate is None else now
    fate: Fate | None = page.fate
    return (
        *(page.fingerprint, page.host, page.depth, state, fate, finished_at),
        *(page.template, scrub(page.url), scrub(page.reason)),
    )


@cache
def _add_statement(rows: int) -> str:
    return _ADD.format(rows=_rows(rows, _TYPES))


@cache
def _find_statement(rows: int) -> str:
    return _FIND_DEEPER.format(rows=_rows(rows, ("BYTEA", "INTEGER")))


def _rows(count: int, types: Sequence[str]) -> str:
    """Return numbered rows of parameters, from the second on."""
    width = len(types)
    values = (
        ", ".join(
            f"CAST(${number * width + place} AS {kind})" for place, kind in enumerate(types, 2)
        )
        for number in range(count)
    )
    return ", ".join(f"({number}, {value})" for number, value in enumerate(values))
