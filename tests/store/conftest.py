"""Fixtures of the store's contract suite: each test that takes `store` runs on both databases."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cinder.store import open_store
from cinder.store.database import StoreLimits
from cinder.store.documents import Store
from tests.store.postgres import PostgresServer, create_migrated_template, run_postgres
from tests.store.samples import Clock


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    return create_migrated_template(postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without a schema."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cinder.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cinder.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database(request.getfixturevalue("postgres_template"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(store_url: str, clock: Clock) -> AsyncIterator[Store]:
    async with open_at(store_url, clock) as store:
        yield store


def open_at(url: str, clock: Clock) -> Store:
    limits = StoreLimits(memory_bytes=2**20)
    return open_store(
        url, pool_size=4, limits=limits, observe=lambda _name, _seconds: None, clock=clock
    )
