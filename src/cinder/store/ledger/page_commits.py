"""Commits the result of a leased URL, detects near-duplicates, and adds the URLs it found.

All of it is one transaction, together with the saving of the page. A worker whose lease has run
out finds its claim gone, and nothing of what it brings is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cinder.models.job import ContentFingerprint, NewPage, PageLease, PageResult, PageStatus
from cinder.models.saved import SavedDocument
from cinder.store.database import Arguments, Query, SqlRow, SqlValue, Statement, scrub
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.ledger.frontier import (
    ERROR_LIST,
    Tally,
    add_pages,
    count_up,
    next_error_position,
    next_status_position,
    queue_more,
)
from cinder.store.ledger.outbox import EventRecorder
from cinder.store.ledger_base import IsNearDuplicate, LeaseLost, PageCommit

_MAX_CANDIDATES = 20

# Equal texts have equal keys; those that are too short for keys are only ever equal.
_SAME_CONTENT = """
SELECT url, content_exact, content_sketch FROM webhook.frontier
 WHERE job_id = $1 AND content_exact = $2 AND fate = 'fetched' ORDER BY id LIMIT 1
"""

_LIKE_CONTENT = """
SELECT f.url, f.content_exact, f.content_sketch FROM webhook.frontier_keys k
  JOIN webhook.frontier f ON f.id = k.page_id
 WHERE k.job_id = $1 AND k.key = ANY($3) AND f.fate = 'fetched'
 ORDER BY f.content_exact <> $2, f.id LIMIT $4
"""

# Each key is looked up by itself: PostgreSQL knows nothing of a table that fills up as fast as a
# crawl's does, and asked for all at once it reads every key of the job.
_KNOWN_KEYS = """
SELECT value AS key FROM unnest(CAST($2 AS BIGINT[])) AS value
 WHERE (SELECT page_id FROM webhook.frontier_keys
         WHERE job_id = $1 AND key = value LIMIT 1) IS NOT NULL
"""


class _Kept(NamedTuple):
    """A page that was fetched, and what is kept of its content."""

    url: str
    exact: bytes
    sketch: bytes
    keys: frozenset[int] = frozenset()


class _Meeting:
    """Where pages that are settled together tell each other which of them are kept.

    The ledger does not say so yet: all look for their like before any is written down.
    """

    stage = WriteStage.MEET

    def meet(self) -> Statement:
        """Return what is answered with a list that all of them share, under `company`."""
        return Statement("", (), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Let them meet."""
        yield from ()
        company: SqlRow = {"company": []}
        return [[company]] * len(arguments)


class _Likenesses:
    """Looks for pages with nearly some content."""

    stage = WriteStage.FIND_LIKE

    def find(self, job_id: str, content: ContentFingerprint) -> Statement:
        """Return what looks for one page's."""
        args = (job_id, content.exact, list(content.keys), _MAX_CANDIDATES)
        return Statement(_LIKE_CONTENT, args, self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Look for those of several; most of them share no key with any page."""
        keys = [key for _, _, keys, _ in arguments for key in keys]
        rows = yield Statement(_KNOWN_KEYS, (arguments[0][0], keys))
        known = {row["key"] for row in rows}
        answers: list[Sequence[SqlRow]] = [() for _ in arguments]
        for number, each in enumerate(arguments):
            if not known.isdisjoint(each[2]):
                answers[number] = yield Statement(_LIKE_CONTENT, each)
        return answers


_MEETING = _Meeting()
_LIKENESSES = _Likenesses()


def find_near_duplicate(
    url: str, job_id: str, content: ContentFingerprint, is_near: IsNearDuplicate
) -> Query[str | None]:
    """Return the URL of a page that was fetched before with the same content, or nearly."""
    company: list[_Kept] = (yield _MEETING.meet())[0]["company"]
    if content.keys:
        rows = yield _LIKENESSES.find(job_id, content)
    else:
        rows = yield Statement(_SAME_CONTENT, (job_id, content.exact))
    known = [
        _Kept(row["url"], bytes(row["content_exact"]), bytes(row["content_sketch"])) for row in rows
    ]
    known += [
        kept for kept in company if kept.keys & set(content.keys) or kept.exact == content.exact
    ]
    for kept in known:
        if kept.exact == content.exact or is_near(kept.sketch, content.sketch):
            return kept.url
    company.append(_Kept(url, content.exact, content.sketch, frozenset(content.keys)))
    return None


# As everywhere, the job is locked first: the tables are in that order. The URLs are found by their
# ids alone: by the job, SQLite would read all it has.
_HOLD = BulkLookup(
    stage=WriteStage.HOLD_CLAIM,
    sql="""
SELECT f.id, f.fence FROM webhook.jobs j JOIN webhook.frontier f ON f.job_id || '' = j.id
 WHERE j.id = $1 AND f.id = ANY($2) AND f.state = 'leased' FOR UPDATE OF j, f
""",
    key="id",
)

_FINISH = BulkInsert(
    stage=WriteStage.FINISH,
    sql=f"""
UPDATE webhook.frontier SET state = 'done', lease_until = NULL, fate = fresh.column2,
       reason = fresh.column3, status_code = fresh.column4, verdict = fresh.column5,
       title = fresh.column6, content_length = fresh.column7, uris = fresh.column8,
       content_exact = fresh.column9, content_sketch = fresh.column10,
       finished_at = fresh.column11,
       fate_position = {next_status_position("frontier.job_id", "fresh.column2")}
       + fresh.fate_place,
       error_position = CASE WHEN fresh.column2 IN ({ERROR_LIST})
                             THEN {next_error_position("frontier.job_id")} + fresh.error_place END
  FROM (SELECT page.*, row_number() OVER (PARTITION BY column2 ORDER BY column1) - 1 AS fate_place,
               row_number() OVER (PARTITION BY column2 IN ({ERROR_LIST}) ORDER BY column1) - 1
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

_ADD_KEYS = BulkInsert(
    stage=WriteStage.ADD_KEYS,
    sql="INSERT INTO webhook.frontier_keys (page_id, job_id, key) VALUES {rows}",
    row="($1, $2, $3)",
    width=3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRules:
    """By what a page is found to be like another, and who is told of it."""

    is_near: IsNearDuplicate | None
    telling: EventRecorder


class _LedgerRow(NamedTuple):
    """A row of the ledger."""

    id: int
    url: str


def make_page_commit(
    claim: PageLease,
    result: Callable[[SavedDocument | None], PageResult],
    found: Sequence[NewPage],
    rules: CommitRules,
    now: Callable[[], int],
) -> PageCommit:
    """Return what writes down the fate of a claimed URL, and the URLs found on its page."""
    return PageCommit(claim.job_id, lambda saved: _commit(claim, result(saved), found, rules, now))


def _commit(
    claim: PageLease,
    result: PageResult,
    found: Sequence[NewPage],
    rules: CommitRules,
    clock: Callable[[], int],
) -> Query[None]:
    held = yield _HOLD.find(claim.job_id, claim.page_id)
    now = clock()
    if not any(row["fence"] == claim.fence for row in held):
        raise LeaseLost(url=claim.url)
    landing = result.landed_on
    new = found if landing is None else [landing, *found]
    tally = yield from add_pages(claim.job_id, new, now)
    tally.size = result.body_bytes
    if landing is not None:
        yield from _commit_redirect_target(claim, result, landing, rules, tally, now)
    else:
        place = _LedgerRow(claim.page_id, claim.url)
        tally.fates[(yield from _finish(claim.job_id, place, result, rules, now))] += 1
    yield from count_up(claim.job_id, tally)


def _commit_redirect_target(
    claim: PageLease,
    result: PageResult,
    landing: NewPage,
    rules: CommitRules,
    tally: Tally,
    now: int,
) -> Query[None]:
    """Give the result to the URL that was redirected to, unless somebody has it already."""
    taken = yield Statement(_TAKE, (claim.job_id, landing.fingerprint))
    for page in taken:
        if not page["crashes"]:
            yield from queue_more(claim.job_id, Counter({landing.host: -1}))
        place = _LedgerRow(page["id"], landing.url)
        tally.fates[(yield from _finish(claim.job_id, place, result, rules, now))] += 1
    moved = PageResult(
        fate=PageStatus.DUPLICATE, reason=landing.url, status_code=result.status_code
    )
    place = _LedgerRow(claim.page_id, claim.url)
    tally.fates[(yield from _finish(claim.job_id, place, moved, rules, now))] += 1


def _finish(
    job_id: str, place: _LedgerRow, result: PageResult, rules: CommitRules, now: int
) -> Query[PageStatus]:
    """Write down the fate of a URL; return it: a page like another is that one's duplicate."""
    content = result.content if result.fate is PageStatus.FETCHED else None
    if content is not None and rules.is_near is not None:
        twin = yield from find_near_duplicate(place.url, job_id, content, rules.is_near)
        if twin is not None:
            result = replace(result, fate=PageStatus.DUPLICATE, reason=twin)
            content = None
    yield _FINISH.write(place.id, *_values(result, content), now)
    if content is not None and content.keys:
        keys = sorted(set(content.keys))
        yield _ADD_KEYS.write(*(value for key in keys for value in (place.id, job_id, key)))
    yield from rules.telling.page(place.url, result, now)
    return result.fate


def _values(result: PageResult, content: ContentFingerprint | None) -> tuple[SqlValue, ...]:
    return (
        *(result.fate, scrub(result.reason), result.status_code, result.verdict),
        *(None if result.title is None else scrub(result.title), result.content_length),
        json.dumps(result.uris) if result.uris else None,
        *((content.exact, content.sketch) if content is not None else (None, None)),
    )
