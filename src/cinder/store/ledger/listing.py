"""The ledger read: how many URLs have which fate, and which those are."""

import json
from collections.abc import Collection

from cinder.model.job import Fate, JobCounts, LedgerPage, PageState
from cinder.store.codec import from_milliseconds
from cinder.store.procedure import Procedure, Row, Statement

_COUNT = """
SELECT state, fate, count(*) AS pages FROM webhook.frontier WHERE job_id = $1 GROUP BY state, fate
"""

_COUNT_TEMPLATES = """
SELECT template, count(*) AS pages FROM webhook.frontier
 WHERE job_id = $1 AND template <> '' GROUP BY template
"""

_COLUMNS = """
id, url, depth, state, fate, reason, status_code, verdict, title, content_length, uris, finished_at
"""

_LIST = f"""
SELECT {_COLUMNS} FROM webhook.frontier WHERE job_id = $1 ORDER BY id LIMIT $2 OFFSET $3
"""  # noqa: S608 - columns of ours

_LIST_BY_FATE = f"""
SELECT {_COLUMNS} FROM webhook.frontier WHERE job_id = $1 AND fate = ANY($2)
   AND finished_at <= $3
 ORDER BY finished_at, id LIMIT $4 OFFSET $5
"""  # noqa: S608 - the same


def count_pages(job_id: str) -> Procedure[JobCounts]:
    """Return how many of a job's URLs there are of each state and fate."""
    rows = yield Statement(_COUNT, (job_id,))
    by_state = {row["state"]: row["pages"] for row in rows if row["fate"] is None}
    return JobCounts(
        queued=by_state.get(PageState.QUEUED, 0) + by_state.get("suspect", 0),
        leased=by_state.get(PageState.LEASED, 0),
        fates={Fate(row["fate"]): row["pages"] for row in rows if row["fate"] is not None},
    )


def count_templates(job_id: str) -> Procedure[dict[str, int]]:
    """Return how many URLs of each template a job has taken."""
    rows = yield Statement(_COUNT_TEMPLATES, (job_id,))
    return {row["template"]: row["pages"] for row in rows}


def list_pages(
    job_id: str, fates: Collection[Fate] | None, until: int, offset: int, limit: int
) -> Procedure[list[LedgerPage]]:
    """Return URLs of a job, by when they were seen, or by when they got one of these fates.

    Of the latter, only those that had it by a moment.
    """
    if fates is None:
        rows = yield Statement(_LIST, (job_id, limit, offset))
    else:
        named = [fate.value for fate in fates]
        rows = yield Statement(_LIST_BY_FATE, (job_id, named, until, limit, offset))
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
