"""The ledger read: how many URLs have which fate, and which those are."""

import json
from collections.abc import Collection

from cinder.model.job import ERROR_FATES, Fate, JobCounts, LedgerPage, PageState
from cinder.store.codec import from_milliseconds
from cinder.store.ledger.tally import FATE_COLUMNS, read_fates
from cinder.store.procedure import Procedure, Row, Statement

# As many as there are processes and pages that each has under way, however many URLs there are.
_COUNT_LEASED = """
SELECT count(*) AS leased FROM webhook.frontier
 WHERE job_id = $1 AND state = 'leased' AND lease_until > 0
"""

_FIND_NUMBERS = f"""
SELECT found, {", ".join(FATE_COLUMNS.values())} FROM webhook.jobs WHERE id = $1
"""  # noqa: S608 - columns of ours

_COUNT_TEMPLATES = """
SELECT template, count(*) AS pages FROM webhook.frontier
 WHERE job_id = $1 AND template <> '' GROUP BY template
"""

_COLUMNS = """
id, url, depth, state, fate, reason, status_code, verdict, title, content_length, uris, finished_at
"""

_LIST = f"""
SELECT {_COLUMNS} FROM webhook.frontier WHERE job_id = $1 AND position >= $3
 ORDER BY position LIMIT $2
"""  # noqa: S608 - columns of ours

_LIST_BY_FATE = f"""
SELECT {_COLUMNS} FROM webhook.frontier
 WHERE job_id = $1 AND fate = $4 AND fate_position >= $3 ORDER BY fate_position LIMIT $2
"""  # noqa: S608 - the same

_LIST_ERRORS = f"""
SELECT {_COLUMNS} FROM webhook.frontier WHERE job_id = $1 AND error_position >= $3
 ORDER BY error_position LIMIT $2
"""  # noqa: S608 - the same

# Of fates that share no list, all are read and sorted.
_LIST_BY_FATES = f"""
SELECT {_COLUMNS} FROM webhook.frontier WHERE job_id = $1 AND fate = ANY($4)
 ORDER BY finished_at, id LIMIT $2 OFFSET $3
"""  # noqa: S608 - the same


def count_pages(job_id: str) -> Procedure[JobCounts]:
    """Return how many of a job's URLs there are of each state and fate."""
    rows = yield Statement(_FIND_NUMBERS, (job_id,))
    if not rows:
        return JobCounts()
    leased = (yield Statement(_COUNT_LEASED, (job_id,)))[0]["leased"]
    fates = read_fates(rows[0])
    queued = rows[0]["found"] - sum(fates.values()) - leased
    # A page may be claimed between the two answers.
    return JobCounts(queued=max(0, queued), leased=leased, fates=fates)


def count_templates(job_id: str) -> Procedure[dict[str, int]]:
    """Return how many URLs of each template a job has taken."""
    rows = yield Statement(_COUNT_TEMPLATES, (job_id,))
    return {row["template"]: row["pages"] for row in rows}


def list_pages(
    job_id: str, fates: Collection[Fate] | None, offset: int, limit: int
) -> Procedure[list[LedgerPage]]:
    """Return URLs of a job, by when they were seen, or by when they got one of these fates."""
    part = (job_id, limit, offset)
    if fates is None:
        rows = yield Statement(_LIST, part)
    elif set(fates) == set(ERROR_FATES):
        rows = yield Statement(_LIST_ERRORS, part)
    elif len(fates) == 1:
        rows = yield Statement(_LIST_BY_FATE, (*part, *(fate.value for fate in fates)))
    else:
        rows = yield Statement(_LIST_BY_FATES, (*part, [fate.value for fate in fates]))
    return [_read_page(row) for row in rows]


def _read_page(row: Row) -> LedgerPage:
    return LedgerPage(
        id=row["id"],
        url=row["url"],
        depth=row["depth"],
        # A suspect waits as others do, only for longer.
        state=PageState.QUEUED if row["state"] == "suspect" else PageState(row["state"]),
        fate=None if row["fate"] is None else Fate(row["fate"]),
        reason=row["reason"] or "",
        status_code=row["status_code"],
        verdict=row["verdict"],
        title=row["title"],
        content_length=row["content_length"],
        uris=tuple(json.loads(row["uris"])) if row["uris"] else (),
        finished_at=from_milliseconds(row["finished_at"]) if row["finished_at"] else None,
    )
