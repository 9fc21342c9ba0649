"""Settling: a claimed URL gets its fate, and those found on its page enter the ledger.

All of it is one transaction, together with the saving of the page. A worker whose lease has run
out finds its claim gone, and nothing of what it brings is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cinder.model.job import Claim, ContentPrint, Fate, NewPage, PageResult
from cinder.model.saved import SavedDocument
from cinder.store.dialect import scrub
from cinder.store.joining import JointLookup, JointRows, Stage
from cinder.store.ledger.outbox import Telling
from cinder.store.ledger.pages import add_pages, queue_more
from cinder.store.ledger.positions import ERRORS, next_error_position, next_fate_position
from cinder.store.ledger.tally import Tally, count_up
from cinder.store.ledger.twins import find_twin
from cinder.store.ledger_base import IsNear, LeaseLost, Settlement
from cinder.store.procedure import Procedure, SqlValue, Statement

# As everywhere, the job is locked first: the tables are in that order. The URLs are found by their
# ids alone: by the job, SQLite would read all it has.
_HOLD = JointLookup(
    stage=Stage.HOLD_CLAIM,
    sql="""
SELECT f.id, f.fence FROM webhook.jobs j JOIN webhook.frontier f ON f.job_id || '' = j.id
 WHERE j.id = $1 AND f.id = ANY($2) AND f.state = 'leased' FOR UPDATE OF j, f
""",
    key="id",
)

_FINISH = JointRows(
    stage=Stage.FINISH,
    sql=f"""
UPDATE webhook.frontier SET state = 'done', lease_until = NULL, fate = fresh.column2,
       reason = fresh.column3, status_code = fresh.column4, verdict = fresh.column5,
       title = fresh.column6, content_length = fresh.column7, uris = fresh.column8,
       content_exact = fresh.column9, content_sketch = fresh.column10,
       finished_at = fresh.column11,
       fate_position = {next_fate_position("frontier.job_id", "fresh.column2")} + fresh.fate_place,
       error_position = CASE WHEN fresh.column2 IN ({ERRORS})
                             THEN {next_error_position("frontier.job_id")} + fresh.error_place END
  FROM (SELECT page.*, row_number() OVER (PARTITION BY column2 ORDER BY column1) - 1 AS fate_place,
               row_number() OVER (PARTITION BY column2 IN ({ERRORS}) ORDER BY column1) - 1
               AS error_place
          FROM (VALUES {{rows}}) AS page) AS fresh
 WHERE frontier.id = fresh.column1
""",  # noqa: S608 - columns of ours
    row="""
(CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS INTEGER), CAST($5 AS TEXT),
 CAST($6 AS TEXT), CAST($7 AS BIGINT), CAST($8 AS TEXT), CAST($9 AS BYTEA), CAST($10 AS BYTEA),
 CAST($11 AS BIGINT))
""",
    width=11,
)

# Another that runs together with this one, and lands on the same URL, finds it taken.
_TAKE = """
UPDATE webhook.frontier SET state = 'leased'
 WHERE job_id = $1 AND fingerprint = $2 AND state IN ('queued', 'suspect')
RETURNING id, crashes
"""

_ADD_KEYS = JointRows(
    stage=Stage.ADD_KEYS,
    sql="INSERT INTO webhook.frontier_keys (page_id, job_id, key) VALUES {rows}",
    row="($1, $2, $3)",
    width=3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingRules:
    """By what a page is found to be like another, and who is told of it."""

    is_near: IsNear | None
    telling: Telling


class _Place(NamedTuple):
    """A row of the ledger."""

    id: int
    url: str


def make_settlement(
    claim: Claim,
    result: Callable[[SavedDocument | None], PageResult],
    found: Sequence[NewPage],
    rules: SettlingRules,
    now: Callable[[], int],
) -> Settlement:
    """Return what writes down the fate of a claimed URL, and the URLs found on its page."""
    return Settlement(claim.job_id, lambda saved: _settle(claim, result(saved), found, rules, now))


def _settle(
    claim: Claim,
    result: PageResult,
    found: Sequence[NewPage],
    rules: SettlingRules,
    clock: Callable[[], int],
) -> Procedure[None]:
    held = yield _HOLD.find(claim.job_id, claim.page_id)
    now = clock()
    if not any(row["fence"] == claim.fence for row in held):
        raise LeaseLost(url=claim.url)
    landing = result.landed_on
    new = found if landing is None else [landing, *found]
    tally = yield from add_pages(claim.job_id, new, now)
    tally.size = result.body_bytes
    if landing is not None:
        yield from _settle_landing(claim, result, landing, rules, tally, now)
    else:
        place = _Place(claim.page_id, claim.url)
        tally.fates[(yield from _finish(claim.job_id, place, result, rules, now))] += 1
    yield from count_up(claim.job_id, tally)


def _settle_landing(
    claim: Claim,
    result: PageResult,
    landing: NewPage,
    rules: SettlingRules,
    tally: Tally,
    now: int,
) -> Procedure[None]:
    """Give the result to the URL that was redirected to, unless somebody has it already."""
    taken = yield Statement(_TAKE, (claim.job_id, landing.fingerprint))
    for page in taken:
        if not page["crashes"]:
            yield from queue_more(claim.job_id, Counter({landing.host: -1}))
        place = _Place(page["id"], landing.url)
        tally.fates[(yield from _finish(claim.job_id, place, result, rules, now))] += 1
    moved = PageResult(fate=Fate.DUPLICATE, reason=landing.url, status_code=result.status_code)
    place = _Place(claim.page_id, claim.url)
    tally.fates[(yield from _finish(claim.job_id, place, moved, rules, now))] += 1


def _finish(
    job_id: str, place: _Place, result: PageResult, rules: SettlingRules, now: int
) -> Procedure[Fate]:
    """Write down the fate of a URL; return it: a page like another is that one's duplicate."""
    content = result.content if result.fate is Fate.FETCHED else None
    if content is not None and rules.is_near is not None:
        twin = yield from find_twin(place.url, job_id, content, rules.is_near)
        if twin is not None:
            result = replace(result, fate=Fate.DUPLICATE, reason=twin)
            content = None
    yield _FINISH.write(place.id, *_values(result, content), now)
    if content is not None and content.keys:
        keys = sorted(set(content.keys))
        yield _ADD_KEYS.write(*(value for key in keys for value in (place.id, job_id, key)))
    yield from rules.telling.page(place.url, result, now)
    return result.fate


def _values(result: PageResult, content: ContentPrint | None) -> tuple[SqlValue, ...]:
    return (
        *(result.fate, scrub(result.reason), result.status_code, result.verdict),
        *(None if result.title is None else scrub(result.title), result.content_length),
        json.dumps(result.uris) if result.uris else None,
        *((content.exact, content.sketch) if content is not None else (None, None)),
    )
