"""URLs entering a job's ledger: each once, to be fetched or with the fate it has at first sight."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from cinder.model.job import Fate, NewPage, PageState
from cinder.store.dialect import scrub
from cinder.store.joining import JointSum, Stage
from cinder.store.procedure import Procedure, SqlValue, Statement

_COLUMNS = (
    *("job_id", "fingerprint", "host", "depth", "state", "fate", "finished_at", "template"),
    *("url", "reason"),
)
# As many rows as one statement adds: few different statements, which the database prepares once.
_CHUNKS = (64, 16, 4, 1)

# A URL that was too deep, and so never asked for, is taken when it is met again closer to the
# start. Its reason, which new rows always have, tells afterwards that it was there before.
_IF_NEARER = """
DO UPDATE SET state = 'queued', depth = excluded.depth, template = excluded.template,
              fate = NULL, reason = NULL, finished_at = NULL
 WHERE frontier.fate = 'outside scope' AND frontier.fence = 0 AND frontier.status_code IS NULL
   AND excluded.state = 'queued' AND frontier.depth > excluded.depth
"""

_LOCK = "SELECT id FROM webhook.jobs WHERE id = $1 FOR UPDATE"

_ADD_HOST = """
INSERT INTO webhook.hosts (host, next_at, delay_ms) VALUES ($1, 0, 0) ON CONFLICT (host) DO NOTHING
"""

_QUEUE_MORE = """
INSERT INTO webhook.job_hosts (job_id, host, queued) VALUES ($1, $2, $3)
ON CONFLICT (job_id, host) DO UPDATE SET queued = job_hosts.queued + excluded.queued
"""

_COUNT = JointSum(
    Stage.COUNT,
    """
UPDATE webhook.jobs SET found = found + $2, fetched = fetched + $3, failed = failed + $4,
       bytes_fetched = bytes_fetched + $5
 WHERE id = $1
""",
)

_SEEDED = "UPDATE webhook.jobs SET seeded_at = $2 WHERE id = $1 AND seeded_at IS NULL"


class Added(NamedTuple):
    """How many URLs are new to the ledger, and how many of those have failed at first sight."""

    found: int
    failed: int


def lock_job(job_id: str) -> Procedure[None]:
    """Let nobody else write to a job's rows until the transaction ends.

    All who do lock the job first: whoever took its rows in another order could wait for one who
    waits for him. It also makes the times at which URLs got their fates those of the commits.
    """
    yield Statement(_LOCK, (job_id,))


def add_pages(job_id: str, pages: Sequence[NewPage], now: int) -> Procedure[Added]:
    """Add URLs that the ledger does not have; return how many those were."""
    queued: Counter[str] = Counter()
    found = failed = 0
    for chunk in _chunks(_each_once(pages)):
        values: list[SqlValue] = []
        for page in chunk:
            values += _values(job_id, page, now)
        rows = yield Statement(_add_statement(len(chunk)), tuple(values))
        found += sum(row["reason"] is not None for row in rows)
        failed += sum(row["fate"] == Fate.FAILED for row in rows)
        queued.update(row["host"] for row in rows if row["state"] == PageState.QUEUED)
    yield from queue_more(job_id, queued)
    return Added(found, failed)


def queue_more(job_id: str, queued: Counter[str]) -> Procedure[None]:
    """Count URLs of hosts that wait to be fetched; fewer where the number is negative."""
    for host, count in sorted(queued.items()):
        if count > 0:  # of a host that has fewer there are some already
            yield Statement(_ADD_HOST, (host,))
        yield Statement(_QUEUE_MORE, (job_id, host, count))


def count_pages(
    job_id: str, *, found: int = 0, fetched: int = 0, failed: int = 0, size: int = 0
) -> Procedure[None]:
    """Add to a job's numbers; the size is that of what was fetched, in bytes."""
    if found or fetched or failed or size:
        yield _COUNT.add(job_id, found, fetched, failed, size)


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


def _values(job_id: str, page: NewPage, now: int) -> tuple[SqlValue, ...]:
    state = PageState.QUEUED if page.fate is None else PageState.DONE
    finished_at = None if page.fate is None else now
    fate: Fate | None = page.fate
    return (
        *(job_id, page.fingerprint, page.host, page.depth, state, fate, finished_at),
        *(page.template, scrub(page.url), scrub(page.reason)),
    )


@cache
def _add_statement(rows: int) -> str:
    width = len(_COLUMNS)
    groups = (
        f"({', '.join(f'${row * width + column + 1}' for column in range(width))})"
        for row in range(rows)
    )
    return (
        f"INSERT INTO webhook.frontier ({', '.join(_COLUMNS)}) VALUES {', '.join(groups)} "  # noqa: S608
        f"ON CONFLICT (job_id, fingerprint) {_IF_NEARER} RETURNING host, state, fate, reason"
    )
