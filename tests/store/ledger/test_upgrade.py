"""A database of an earlier schema, with jobs under way, is opened and goes on."""

import json
import sqlite3
from contextlib import closing
from io import StringIO
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config

from cinder.models.job import EndedBy, JobStatus, PageState, PageStatus
from cinder.store.database import POSTGRESQL, SQLITE
from cinder.store.migration import MIGRATIONS
from cinder.store.sqlite import path_of
from tests.store.conftest import open_at
from tests.store.ledger.samples import HOST, a_page, ledger_of, limits, settle, the_job
from tests.store.samples import Clock

BEFORE = "0008"
NOW_MS = 1_700_000_000_000

# What became of each URL, in the order in which they were seen; the times differ from it.
ROWS: list[tuple[str, str, str | None, str | None, int | None]] = [
    ("/", "done", "fetched", "", 5),
    ("/late", "done", "fetched", "", 9),
    ("/early", "done", "fetched", "", 7),
    ("/bad", "done", "failed", "404", 8),
    ("/private", "done", "disallowed by robots", "Disallow: /private", 6),
    ("/deep", "done", "outside scope", "deeper than maxDepth", 4),
    ("/other", "done", "outside scope", "other host", 4),
    ("/copy", "done", "duplicate of", f"{HOST}/", 9),
    ("/calendar", "done", "trap", "calendar", 9),
    ("/queued", "queued", None, None, None),
    ("/leased", "leased", None, None, None),
]


def _statements(pack: Any) -> list[tuple[str, tuple[Any, ...]]]:  # Any: by database
    """Return what writes jobs as an earlier version had them."""
    add_job = """
INSERT INTO webhook.jobs (id, kind, owner, status, max_pages, created_at, seeded_at, started_at,
       expires_at, next_at, found, fetched, failed, bytes_fetched, spec)
VALUES ($1, 'crawl', 'owner', $2, 100, $3, $3, $3, $4, $5, $6, $7, $8, 10, $9)
"""
    add_page = """
INSERT INTO webhook.frontier (job_id, fingerprint, host, depth, state, fence, tries, lease_until,
       fate, finished_at, url, reason)
VALUES ($1, $2, $3, 2, $4, $5, 2, $6, $7, $8, $9, $10)
"""
    spec, end = pack(json.dumps({"url": HOST})), NOW_MS * 2
    found = [
        (add_job, ("job", "running", NOW_MS, end, NOW_MS, len(ROWS), 3, 1, spec)),
        (add_job, ("over", "completed", NOW_MS, end, None, 3, 1, 0, spec)),
        ("INSERT INTO webhook.hosts (host, next_at, delay_ms) VALUES ($1, 0, 0)", (HOST,)),
        ("INSERT INTO webhook.job_hosts (job_id, host, queued) VALUES ('job', $1, 1)", (HOST,)),
    ]
    rows = [("job", *row) for row in ROWS]
    rows += [("over", "/", "done", "fetched", "", 1)]
    rows += [("over", f"/{n}", "done", "left out", "as many as it may", 2) for n in range(2)]
    for job_id, path, state, fate, reason, at in rows:
        page = a_page(path)
        until = NOW_MS if state == "leased" else None
        finished_at = None if at is None else NOW_MS + at
        values = (job_id, page.fingerprint, HOST, state, int(state == "leased"), until, fate)
        found.append((add_page, (*values, finished_at, page.url, reason)))
    return found


def _config(url: str, output: StringIO | None = None) -> Config:
    config = Config(output_buffer=output)
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config


async def _make(url: str) -> None:
    """Make a database of the earlier schema, with jobs."""
    if url.startswith("sqlite"):
        command.upgrade(_config(url), BEFORE)
        with closing(sqlite3.connect(path_of(url))) as file, file:
            for sql, values in _statements(SQLITE.pack_text):
                named = {str(place): value for place, value in enumerate(values, start=1)}
                file.execute(sql.replace("webhook.", ""), named)
        return
    script = StringIO()
    command.upgrade(_config("postgresql://", script), BEFORE, sql=True)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script.getvalue())
        for sql, values in _statements(POSTGRESQL.pack_text):
            await connection.execute(sql, *values)
    finally:
        await connection.close()


async def test_crawl_under_way_goes_on_with_its_numbers_and_lists(
    empty_url: str, clock: Clock
) -> None:
    await _make(empty_url)
    async with open_at(empty_url, clock) as store:
        job, counts = await the_job(store), await store.ledger.count_pages("job")
        assert (counts.queued, counts.leased, job.found) == (1, 1, 11)
        assert counts.fates == job.fates
        assert {fate: n for fate, n in job.fates.items() if n != 1} == {
            PageStatus.FETCHED: 3,
            PageStatus.OUTSIDE: 2,
        }
        assert job.left_out == {EndedBy.MAX_DEPTH: 1, EndedBy.TRAP: 1}
        pages = await store.ledger.list_pages("job", None, offset=0, limit=100)
        assert [page.url.removeprefix(HOST) for page in pages] == [row[0] for row in ROWS]

        (queued,) = (await store.ledger.lease("job", limits())).claims
        await settle(store, queued, found=(a_page("/deep"), a_page("/new")))
        new = (await store.ledger.lease("job", limits())).claims
        for claim in new:
            await settle(store, claim)
        # What was leased when the old process ended is taken up like any other.
        (leased,) = (await store.ledger.lease("job", limits(is_alone=True))).claims
        await settle(store, leased)

        assert {claim.url.removeprefix(HOST) for claim in new} == {"/deep", "/new"}
        assert (await store.ledger.lease("job", limits())).is_over
        await store.ledger.finish_job("job", JobStatus.COMPLETED)
        fetched = await store.ledger.list_pages("job", [PageStatus.FETCHED], offset=0, limit=100)
        assert [page.url.removeprefix(HOST) for page in fetched[:4]] == [
            *("/", "/early", "/late", "/queued")
        ]
        errors = [PageStatus.FAILED, PageStatus.DISALLOWED]
        listed = await store.ledger.list_pages("job", errors, offset=1, limit=100)
        assert [page.url for page in listed] == [f"{HOST}/bad"]
        done = await the_job(store)
        assert (done.found, done.fetched, done.ended_by) == (12, 7, EndedBy.TRAP)
        assert {page.state for page in (await ledger_of(store)).values()} == {PageState.DONE}


async def test_job_that_was_over_says_what_ended_it(empty_url: str, clock: Clock) -> None:
    await _make(empty_url)
    async with open_at(empty_url, clock) as store:
        job = await the_job(store, "over")
        assert (job.ended_by, job.left_out) == (EndedBy.MAX_PAGES, {EndedBy.MAX_PAGES: 2})
        left = await store.ledger.list_pages("over", [PageStatus.LEFT], offset=1, limit=10)
        assert [page.url for page in left] == [f"{HOST}/1"]
