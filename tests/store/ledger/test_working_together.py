"""Many workers at one job in PostgreSQL do not deadlock."""

import asyncio

import asyncpg

from cinder.models.job import NewPage, PageLease, PageResult, PageStatus
from cinder.store.documents import Store
from tests.store.conftest import open_at
from tests.store.ledger.samples import a_job, a_page, limits
from tests.store.postgres import PostgresServer
from tests.store.samples import Clock

WORKERS = 6


async def test_workers_of_one_job_never_lock_each_other_out(
    postgres: PostgresServer, postgres_template: str, clock: Clock
) -> None:
    url = await asyncio.to_thread(postgres.create_database, postgres_template)
    async with open_at(url, clock) as store:
        await store.ledger.add_job(a_job(max_pages=1_000), [a_page("/0")])
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(_work(store))
        assert (await store.ledger.count_pages("job")).fates == {PageStatus.FETCHED: 121}

    assert await _count_deadlocks(url) == 0


async def _work(store: Store) -> None:
    while not (lease := await store.ledger.lease("job", limits(count=3))).is_over:
        for claim in lease.claims:
            await store.ledger.commit(
                store.ledger.page_commit(
                    claim, lambda _: PageResult(fate=PageStatus.FETCHED), _links(claim)
                )
            )


def _links(claim: PageLease) -> list[NewPage]:
    """Return three pages further down, to the fourth level: 121 in all, and some known ones."""
    path = claim.url.rpartition("/")[2]
    below = [a_page(f"/{path}{number}") for number in range(3)] if len(path) < 5 else []
    return [*below, a_page("/0"), a_page("/00")]


async def _count_deadlocks(url: str) -> int:
    """Return how many there were; those of a connection are counted at its end at the latest."""
    connection = await asyncpg.connect(url)
    try:
        count: int = await connection.fetchval(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
    finally:
        await connection.close()
    return count
