"""The status and any part of a list cost the same whatever the size of a job.

What the databases do is counted, in SQLite's instructions and PostgreSQL's pages: no clock.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cinder.models.job import ERROR_STATUSES, PageLease, PageStatus
from cinder.store import Store
from cinder.store.database import SQLITE, Query, QueryRunner, SqlRow, Statement
from cinder.store.document_rows import to_milliseconds
from cinder.store.ledger import frontier, leases, page_commits
from cinder.store.ledger.job_rows import find_job
from cinder.store.ledger.outbox import EventRecorder
from cinder.store.sqlite import _run, connect, path_of
from tests.store.conftest import open_at
from tests.store.ledger.samples import FETCHED, a_job, a_page, limits, settle
from tests.store.samples import NOW, Clock

SMALL, LARGE = 400, 8_000
LEASED = 4
FATES = (PageStatus.FAILED, PageStatus.TRAP, PageStatus.OUTSIDE, PageStatus.DISALLOWED)


async def fill(store: Store, job_id: str, size: int) -> None:
    """Add a job with URLs of every state, four of them under way."""
    pages = [
        a_page(f"/{n}", fate=FATES[n % 8] if n % 8 < len(FATES) else None) for n in range(size)
    ]
    await store.ledger.add_job(a_job(job_id, max_pages=size), pages)
    for claim in (await store.ledger.lease(job_id, limits(count=2 * LEASED))).claims[LEASED:]:
        await settle(store, claim)


def reads(job_id: str, size: int) -> list[tuple[str, Callable[[], Query[object]]]]:
    """Return what a status and a part of the ledger read, at the end of each list."""
    eighth = size // 8
    return [
        ("counts", lambda: frontier.count_pages(job_id)),
        ("all", lambda: frontier.list_pages(job_id, None, size - 50, 50)),
        ("traps", lambda: frontier.list_pages(job_id, [PageStatus.TRAP], eighth - 40, 40)),
        ("errors", lambda: frontier.list_pages(job_id, ERROR_STATUSES, 2 * eighth - 40, 40)),
    ]


def test_a_job_is_read_by_one_row() -> None:
    procedure = find_job("job", dialect=None)  # type: ignore[arg-type]  # nothing is read by it
    statement = QueryRunner(procedure).statement
    assert statement is not None
    assert "frontier" not in statement.sql


async def work_of(url: str, procedure: Query[object]) -> int:
    """Return how much a database does for a procedure."""
    run, work = QueryRunner(procedure), 0
    while run.statement is not None:
        rows, spent = await (
            _on_sqlite(url, run.statement) if url.startswith("sqlite") else _on_postgresql(url, run)
        )
        run.advance(rows)
        work += spent
    return work


async def _on_sqlite(url: str, statement: Statement) -> tuple[Sequence[SqlRow], int]:
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    with closing(sqlite3.connect(path_of(url))) as connection:
        connection.row_factory = sqlite3.Row
        named = {str(place): value for place, value in enumerate(statement.args, start=1)}
        connection.set_progress_handler(count, 1)
        rows = connection.execute(statement.sql.replace("webhook.", ""), named).fetchall()
    return rows, steps


async def _on_postgresql(url: str, run: QueryRunner[object]) -> tuple[Sequence[SqlRow], int]:
    assert run.statement is not None
    sql, args = run.statement.sql, run.statement.args
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(sql, *args)
        told = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *args)
    finally:
        await connection.close()
    plan: dict[str, Any] = json.loads(told)[0]["Plan"]  # Any: whatever PostgreSQL tells
    return rows, int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("name", ["counts", "all", "traps", "errors"])
async def test_reading_a_job_costs_no_more_where_it_is_twenty_times_as_large(
    store_url: str, clock: Clock, name: str
) -> None:
    async with open_at(store_url, clock) as store:
        await fill(store, "small", SMALL)
        await fill(store, "large", LARGE)

        small = await work_of(store_url, dict(reads("small", SMALL))[name]())
        large = await work_of(store_url, dict(reads("large", LARGE))[name]())

    # A level more of an index, and rows that stand less close together.
    assert large <= 2 * small + 20


def writes(job_id: str, claim: PageLease) -> list[Callable[[], Query[object]]]:
    """Return what is written for a page: it is leased, and settled with URLs that it led to."""
    now = to_milliseconds(NOW)
    found = [a_page("/new"), a_page("/1"), a_page("/5"), a_page("/far", fate=PageStatus.OUTSIDE)]
    rules = page_commits.CommitRules(is_near=None, telling=EventRecorder(None, SQLITE))
    page_commit = page_commits.make_page_commit(claim, lambda _: FETCHED, found, rules, lambda: now)
    return [
        lambda: leases.lease(job_id, limits(count=4), now, EventRecorder(None, SQLITE)),
        lambda: page_commit.write(None),
    ]


async def test_working_on_a_page_costs_no_more_where_its_job_is_twenty_times_as_large(
    tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "cinder.db"
    claims = {}
    async with open_at(f"sqlite:///{path}", clock) as store:
        for job_id, size in (("small", SMALL), ("large", LARGE)):
            await fill(store, job_id, size)
            lease = await store.ledger.lease(job_id, limits(count=1))
            claims[job_id] = lease.claims[0]

    with closing(connect(path)) as connection:
        small, large = (
            [_steps(connection, write) for write in writes(job_id, claim)]
            for job_id, claim in claims.items()
        )
    assert [much <= 2 * little + 100 for little, much in zip(small, large, strict=True)] == [
        *(True, True)
    ], (small, large)


def _steps(connection: sqlite3.Connection, start: Callable[[], Query[object]]) -> int:
    """Return how many instructions SQLite takes for a procedure, which is undone."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    connection.execute("BEGIN IMMEDIATE")
    connection.set_progress_handler(count, 1)
    _run(connection, start())
    connection.set_progress_handler(None, 0)
    connection.execute("ROLLBACK")
    return steps
