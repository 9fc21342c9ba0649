"""Settling: a claimed URL gets its fate, and those found on its page enter the ledger.

All of it is one transaction, together with the saving of the page. A worker whose lease has run
out finds its claim gone, and nothing of what it brings is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from cinder.model.job import Claim, ContentPrint, Fate, NewPage, PageResult, PageState
from cinder.model.saved import SavedDocument
from cinder.store.dialect import scrub
from cinder.store.ledger.outbox import Telling
from cinder.store.ledger.pages import add_pages, count_pages, queue_more
from cinder.store.ledger_base import IsNear, LeaseLost, Settlement
from cinder.store.procedure import Procedure, SqlValue, Statement

_MAX_CANDIDATES = 20

# As everywhere, the job is locked first: the tables are in that order.
_HOLD = """
SELECT f.id FROM webhook.jobs j JOIN webhook.frontier f ON f.job_id = j.id
 WHERE j.id = $1 AND f.id = $2 AND f.fence = $3 AND f.state = 'leased' FOR UPDATE OF j, f
"""

_FINISH = """
UPDATE webhook.frontier SET state = 'done', lease_until = NULL, fate = $2, reason = $3,
       status_code = $4, verdict = $5, title = $6, content_length = $7, uris = $8,
       content_exact = $9, content_sketch = $10, finished_at = $11
 WHERE id = $1
"""

_FIND = """
SELECT id, state FROM webhook.frontier WHERE job_id = $1 AND fingerprint = $2 FOR UPDATE
"""

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
    held = yield Statement(_HOLD, (claim.job_id, claim.page_id, claim.fence))
    now = clock()
    if not held:
        raise LeaseLost(url=claim.url)
    landing = result.landed_on
    new = found if landing is None else [landing, *found]
    added = yield from add_pages(claim.job_id, new, now)
    if landing is not None:
        fate = yield from _settle_landing(claim, result, landing, rules, now)
    else:
        place = _Place(claim.page_id, claim.url)
        fate = yield from _finish(claim.job_id, place, result, rules, now)
    yield from count_pages(
        claim.job_id,
        found=added.found,
        fetched=int(fate is Fate.FETCHED),
        failed=added.failed + int(fate is Fate.FAILED),
        size=result.body_bytes,
    )


def _settle_landing(
    claim: Claim, result: PageResult, landing: NewPage, rules: SettlingRules, now: int
) -> Procedure[Fate | None]:
    """Give the result to the URL that was redirected to, unless somebody has it already.

    Return the fate that it got, if it did.
    """
    fate = None
    page = (yield Statement(_FIND, (claim.job_id, landing.fingerprint)))[0]
    if page["state"] == PageState.QUEUED:
        yield from queue_more(claim.job_id, Counter({landing.host: -1}))
        place = _Place(page["id"], landing.url)
        fate = yield from _finish(claim.job_id, place, result, rules, now)
    moved = PageResult(fate=Fate.DUPLICATE, reason=landing.url, status_code=result.status_code)
    yield from _finish(claim.job_id, _Place(claim.page_id, claim.url), moved, rules, now)
    return fate


def _finish(
    job_id: str, place: _Place, result: PageResult, rules: SettlingRules, now: int
) -> Procedure[Fate]:
    """Write down the fate of a URL; return it: a page like another is that one's duplicate."""
    content = result.content if result.fate is Fate.FETCHED else None
    if content is not None and rules.is_near is not None:
        twin = yield from _find_twin(job_id, content, rules.is_near)
        if twin is not None:
            result = replace(result, fate=Fate.DUPLICATE, reason=twin)
            content = None
    yield Statement(_FINISH, (place.id, *_values(result, content), now))
    if content is not None and content.keys:
        keys = sorted(set(content.keys))
        yield Statement(_add_keys(len(keys)), (place.id, job_id, *keys))
    yield from rules.telling.page(place.url, result, now)
    return result.fate


def _find_twin(job_id: str, content: ContentPrint, is_near: IsNear) -> Procedure[str | None]:
    """Return the URL of a page that was fetched before with the same content, or nearly."""
    if content.keys:
        args = (job_id, content.exact, list(content.keys), _MAX_CANDIDATES)
        rows = yield Statement(_LIKE_CONTENT, args)
    else:
        rows = yield Statement(_SAME_CONTENT, (job_id, content.exact))
    near = (
        row["url"]
        for row in rows
        if bytes(row["content_exact"]) == content.exact
        or is_near(bytes(row["content_sketch"]), content.sketch)
    )
    return next(near, None)


@cache
def _add_keys(count: int) -> str:
    rows = ", ".join(f"($1, $2, ${number})" for number in range(3, count + 3))
    return f"INSERT INTO webhook.frontier_keys (page_id, job_id, key) VALUES {rows}"  # noqa: S608


def _values(result: PageResult, content: ContentPrint | None) -> tuple[SqlValue, ...]:
    return (
        *(result.fate, scrub(result.reason), result.status_code, result.verdict),
        *(None if result.title is None else scrub(result.title), result.content_length),
        json.dumps(result.uris) if result.uris else None,
        *((content.exact, content.sketch) if content is not None else (None, None)),
    )
