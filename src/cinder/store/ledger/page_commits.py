"""Commits the result of a leased URL, detects near-duplicates, and adds the URLs it found.

All of it is one transaction, with the saving of the page. A worker whose lease has run out is
refused, and nothing of its result is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from cinder.errors import CinderError
from cinder.models.job import ContentFingerprint, NewPage, PageLease, PageResult, PageStatus
from cinder.models.saved import SavedDocument
from cinder.store.database import Arguments, Query, Repository, SqlRow, Statement, scrub
from cinder.store.group_commit import BulkInsert, BulkLookup, WriteStage
from cinder.store.ledger.frontier import (
    ERROR_LIST,
    add_pages,
    count_up,
    next_error_position,
    next_status_position,
    queue_more,
)
from cinder.store.ledger.outbox import EventEmitter, EventRecorder

_MAX_CANDIDATES = 20

# Equal texts have equal keys. A text that is too short for keys has only exact duplicates.
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

# Each key is looked up by itself: PostgreSQL has no statistics on a table that grows as fast as in
# a crawl, and for all keys at once it would read every key of the job.
_KNOWN_KEYS = """
SELECT value AS key FROM unnest(CAST($2 AS BIGINT[])) AS value
 WHERE (SELECT page_id FROM webhook.frontier_keys
         WHERE job_id = $1 AND key = value LIMIT 1) IS NOT NULL
"""


# Whether two pages are nearly the same, by their sketches.
IsNearDuplicate: TypeAlias = Callable[[bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class PageCommit:
    """What a job writes in the transaction that saves one of its documents. Only a store runs it.

    `write` receives where the document is saved; None where it is not.
    """

    job_id: str
    write: Callable[[SavedDocument | None], Query[None]]


class LeaseLost(CinderError):
    """The lease on this page has run out and another worker has it, or its job is over."""


class _FetchedPage(NamedTuple):
    """A page that was fetched, and its fingerprint."""

    url: str
    exact: bytes
    sketch: bytes
    keys: frozenset[int] = frozenset()


class _BatchPages(NamedTuple):
    """What the commits of one batch are about to write."""

    fetched: list[_FetchedPage]
    kept: set[int]
    """The ids of pages that are duplicates of no page."""


class _BatchList:
    """Gives the commits of one batch lists of the pages that they are about to write.

    The ledger does not have these pages yet: all look for duplicates before any is written.
    """

    stage = WriteStage.SHARE_LIST

    def get(self) -> Statement:
        """Return the statement whose row has the lists, under `pages`."""
        return Statement("", (), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Give all of them the same lists."""
        yield from ()
        row: SqlRow = {"pages": _BatchPages([], set())}
        return [[row]] * len(arguments)


class _CandidateLookup:
    """Looks up the pages that share a key with a page."""

    stage = WriteStage.FIND_LIKE

    def find(self, job_id: str, content: ContentFingerprint) -> Statement:
        """Return the lookup for one page."""
        args = (job_id, content.exact, list(content.keys), _MAX_CANDIDATES)
        return Statement(_LIKE_CONTENT, args, self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Look up those of several pages; most share no key with any page."""
        keys = [key for _, _, keys, _ in arguments for key in keys]
        rows = yield Statement(_KNOWN_KEYS, (arguments[0][0], keys))
        known = {row["key"] for row in rows}
        found: list[Sequence[SqlRow]] = [() for _ in arguments]
        for number, args in enumerate(arguments):
            if not known.isdisjoint(args[2]):
                found[number] = yield Statement(_LIKE_CONTENT, args)
        return found


_BATCH_LIST = _BatchList()
_CANDIDATES = _CandidateLookup()


def _find_candidates(job_id: str, content: ContentFingerprint) -> Query[list[_FetchedPage]]:
    """Return the pages of the ledger that may have the same content, or nearly the same."""
    rows = (yield _CANDIDATES.find(job_id, content)) if content.keys else ()
    # Pages are compared by keys where small differences do not count, which depends on the URL.
    rows = [*rows, *(yield Statement(_SAME_CONTENT, (job_id, content.exact)))]
    return [
        _FetchedPage(row["url"], bytes(row["content_exact"]), bytes(row["content_sketch"]))
        for row in rows
    ]


def _choose_like(
    page: _FetchedPage, known: Sequence[_FetchedPage], is_near: IsNearDuplicate
) -> str | None:
    """Return which of these pages has the same content as a page, or nearly the same."""
    for other in known:
        if other.exact == page.exact:
            return f"{other.url} (same content)"
        if is_near(other.sketch, page.sketch):
            return f"{other.url} (nearly the same content)"
    return None


_FIND_STATUS = "SELECT id, fate FROM webhook.frontier WHERE job_id = $1 AND fingerprint = $2"


# The job is locked first, as everywhere. The URLs are looked up by their ids alone: by the job,
# SQLite would read all its URLs.
_HOLD = BulkLookup(
    stage=WriteStage.LOCK_LEASE,
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
""",  # noqa: S608 - constant columns
    row="""
(CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS INTEGER), CAST($5 AS TEXT),
 CAST($6 AS TEXT), CAST($7 AS BIGINT), CAST($8 AS TEXT), CAST($9 AS BYTEA), CAST($10 AS BYTEA),
 CAST($11 AS BIGINT))
""",
    width=11,
)

# Another commit of the batch that is redirected to the same URL finds it taken.
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


class PageCommitOperations(Repository):
    """The operations that commit the results of leased URLs."""

    def page_commit(
        self,
        claim: PageLease,
        result: Callable[[SavedDocument | None], PageResult],
        found: Sequence[NewPage] = (),
        *,
        is_near: IsNearDuplicate | None = None,
        emitter: EventEmitter | None = None,
    ) -> PageCommit:
        """Return the commit of a leased URL's result and of the URLs found on its page.

        The emitter reports the final result, and that of the URL it redirects to. When it runs, the
        commit raises `LeaseLost`, and writes nothing, where the lease no longer holds.
        """
        events = EventRecorder(emitter, self._dialect)

        def write(saved: SavedDocument | None) -> Query[None]:
            commit = _Commit(claim, result(saved), is_near, events)
            return commit.run(found, self._now)

        return PageCommit(claim.job_id, write)

    async def commit(self, page_commit: PageCommit, saved: SavedDocument | None = None) -> None:
        """Commit the result of a URL whose page is not saved, or was saved before.

        Raises:
            LeaseLost: the lease no longer holds.
        """
        with self._timed("settle"):
            await self._database.write(
                lambda: page_commit.write(saved), together=page_commit.job_id
            )


@dataclass(frozen=True, slots=True)
class _Commit:
    """Writes the result of one leased URL."""

    claim: PageLease
    result: PageResult
    is_near: IsNearDuplicate | None
    events: EventRecorder

    def run(self, found: Sequence[NewPage], clock: Callable[[], int]) -> Query[None]:
        """Write the result and add the URLs found, under the job's lock."""
        claim, result, landing = self.claim, self.result, self.result.landed_on
        held = yield _HOLD.find(claim.job_id, claim.page_id)
        now = clock()
        if not any(row["fence"] == claim.fence for row in held):
            raise LeaseLost(url=claim.url)
        new = found if landing is None else [landing, *found]
        tally = yield from add_pages(claim.job_id, new, now)
        tally.size = result.body_bytes
        if landing is not None:
            # The result belongs to the URL that was redirected to, unless that has one already.
            taken = yield Statement(_TAKE, (claim.job_id, landing.fingerprint))
            for page in taken:
                if not page["crashes"]:
                    yield from queue_more(claim.job_id, Counter({landing.host: -1}))
                fate = yield from self._finish(page["id"], landing.url, result, now)
                tally.fates[fate] += 1
            result = PageResult(
                fate=PageStatus.DUPLICATE,
                reason=f"{landing.url} (redirect)",
                status_code=result.status_code,
            )
        tally.fates[(yield from self._finish(claim.page_id, claim.url, result, now))] += 1
        yield from count_up(claim.job_id, tally)

    def _finish(self, page_id: int, url: str, result: PageResult, now: int) -> Query[PageStatus]:
        """Write the status of a URL and return it: a page like another one is its duplicate."""
        job_id = self.claim.job_id
        content = result.content if result.fate is PageStatus.FETCHED else None
        original = yield from self._find_original(page_id, url, result)
        if original is not None:
            result = replace(result, fate=PageStatus.DUPLICATE, reason=original)
            content = None
        yield _FINISH.write(
            page_id,
            result.fate,
            scrub(result.reason),
            result.status_code,
            result.verdict,
            None if result.title is None else scrub(result.title),
            result.content_length,
            json.dumps(result.uris) if result.uris else None,
            None if content is None else content.exact,
            None if content is None else content.sketch,
            now,
        )
        if content is not None and content.keys:
            keys = sorted(set(content.keys))
            yield _ADD_KEYS.write(*(value for key in keys for value in (page_id, job_id, key)))
        yield from self.events.page(url, result, now)
        return result.fate

    def _find_original(self, page_id: int, url: str, result: PageResult) -> Query[str | None]:
        """Return the page that a fetched page is a duplicate of, and why; None where it is none.

        Only a page that was fetched has duplicates. A canonical URL that is still queued may fail,
        be left out or redirect to the very page that names it, and then neither would be kept. If
        it has the same content, it becomes the duplicate when it is fetched.
        """
        if result.fate is not PageStatus.FETCHED or self.is_near is None:
            return None
        canonical, content = result.canonical, result.content
        if canonical is None and content is None:
            return None
        job_id = self.claim.job_id
        batch: _BatchPages = (yield _BATCH_LIST.get())[0]["pages"]
        named: set[int] = set()
        if canonical is not None:
            rows = yield Statement(_FIND_STATUS, (job_id, canonical.fingerprint))
            if any(row["fate"] == PageStatus.FETCHED for row in rows):
                return f"{canonical.url} (its canonical URL)"
            named = {row["id"] for row in rows}
        known = [] if content is None else (yield from _find_candidates(job_id, content))
        # No statement follows, so the pages of a batch are judged one after the other: each knows
        # which of those before it are kept.
        if canonical is not None and not named.isdisjoint(batch.kept):
            return f"{canonical.url} (its canonical URL)"
        if content is not None:
            keys = frozenset(content.keys)
            page = _FetchedPage(url, content.exact, content.sketch, keys)
            known += [
                each for each in batch.fetched if each.keys & keys or each.exact == page.exact
            ]
            original = _choose_like(page, known, self.is_near)
            if original is not None:
                return original
            batch.fetched.append(page)
        batch.kept.add(page_id)
        return None
