"""The status and any part of a list cost the same whatever the size of a job.

The cost is counted in SQLite's instructions and PostgreSQL's pages, not in time.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from cinder.models.job import ERROR_STATUSES, PageStatus
from cinder.store.database import (
    POSTGRESQL,
    SQLITE,
    Query,
    QueryRunner,
    SqlDialect,
    SqlRow,
    Statement,
)
from cinder.store.documents import Store
from cinder.store.ledger import Ledger
from cinder.store.ledger.job_rows import find_job
from cinder.store.sqlite import _run, connect, path_of
from tests.store.conftest import open_at
from tests.store.ledger.samples import FETCHED, a_job, a_page, commit_page, limits
from tests.store.samples import NOW, Clock

T = TypeVar("T")

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
        await commit_page(store, claim)


@dataclass
class CountingDatabase:
    """Runs queries, and counts what a database does for them."""

    url: str
    work: int = 0

    @property
    def dialect(self) -> SqlDialect:
        return SQLITE if self.url.startswith("sqlite") else POSTGRESQL

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def inspect(self) -> None: ...

    async def read(self, start: Callable[[], Query[T]], **_: object) -> T:
        if self.url.startswith("sqlite"):
            return await self.write(start)
        run = QueryRunner(start())
        while run.statement is not None:
            rows, work = await _on_postgresql(self.url, run.statement)
            run.advance(rows)
            self.work += work
        return run.result

    async def write(self, start: Callable[[], Query[T]], **_: object) -> T:
        """Run a query on SQLite and undo it."""
        with closing(connect(path_of(self.url))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.set_progress_handler(self._count, 1)
            result = _run(connection, start())
            connection.set_progress_handler(None, 0)
            connection.execute("ROLLBACK")
        return result

    def _count(self) -> None:
        self.work += 1


def counting_ledger(url: str) -> tuple[Ledger, CountingDatabase]:
    database = CountingDatabase(url)
    ledger = Ledger(database, observe=lambda _name, _seconds: None, clock=lambda: NOW)
    return ledger, database


async def read_part(ledger: Ledger, job_id: str, size: int, name: str) -> None:
    """Read a status, or a part of the ledger at the end of a list."""
    eighth = size // 8
    if name == "counts":
        await ledger.count_pages(job_id)
    elif name == "all":
        await ledger.list_pages(job_id, None, offset=size - 50, limit=50)
    elif name == "traps":
        await ledger.list_pages(job_id, [PageStatus.TRAP], offset=eighth - 40, limit=40)
    else:
        await ledger.list_pages(job_id, ERROR_STATUSES, offset=2 * eighth - 40, limit=40)


def test_a_job_is_read_by_one_row() -> None:
    query = find_job("job", dialect=None)  # type: ignore[arg-type]  # nothing is read by it
    statement = QueryRunner(query).statement
    assert statement is not None
    assert "frontier" not in statement.sql


async def _on_postgresql(url: str, statement: Statement) -> tuple[Sequence[SqlRow], int]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(statement.sql, *statement.args)
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.sql}"
        explained = await connection.fetchval(explain, *statement.args)
    finally:
        await connection.close()
    plan: dict[str, Any] = json.loads(explained)[0]["Plan"]  # Any: as PostgreSQL writes it
    return rows, int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("name", ["counts", "all", "traps", "errors"])
async def test_reading_a_job_costs_no_more_where_it_is_twenty_times_as_large(
    store_url: str, clock: Clock, name: str
) -> None:
    async with open_at(store_url, clock) as store:
        await fill(store, "small", SMALL)
        await fill(store, "large", LARGE)

        small, large = counting_ledger(store_url), counting_ledger(store_url)
        await read_part(small[0], "small", SMALL, name)
        await read_part(large[0], "large", LARGE, name)

    # The index may have one level more, and the rows may be further apart.
    assert large[1].work <= 2 * small[1].work + 20


async def test_working_on_a_page_costs_no_more_where_its_job_is_twenty_times_as_large(
    tmp_path: Path, clock: Clock
) -> None:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    found = [a_page("/new"), a_page("/1"), a_page("/5"), a_page("/far", fate=PageStatus.OUTSIDE)]
    work = []
    async with open_at(url, clock) as store:
        for job_id, size in (("small", SMALL), ("large", LARGE)):
            await fill(store, job_id, size)
    for job_id in ("small", "large"):
        async with open_at(url, clock) as store:
            (claim,) = (await store.ledger.lease(job_id, limits(count=1))).claims
        ledger, leasing = counting_ledger(url)
        await ledger.lease(job_id, limits(count=4))
        ledger, committing = counting_ledger(url)
        await ledger.commit(ledger.page_commit(claim, lambda _: FETCHED, found))
        work.append((leasing.work, committing.work))

    small, large = work
    assert large[0] <= 2 * small[0] + 100, work
    assert large[1] <= 2 * small[1] + 100, work
