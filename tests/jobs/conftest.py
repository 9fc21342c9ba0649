"""Fixtures of the engines' contract suite: each test that takes `engine` runs on both."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cinder.jobs import engine_for
from cinder.jobs.base import JobEngine
from cinder.store import open_store
from cinder.store.documents import Store
from tests.store.postgres import PostgresServer, create_migrated_template, run_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    return create_migrated_template(postgres)


@pytest.fixture
def postgres_url(postgres: PostgresServer, postgres_template: str) -> str:
    return postgres.create_database(postgres_template)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cinder.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with open_jobs(store_url) as store:
        yield store


@pytest.fixture
async def engine(store_url: str) -> AsyncIterator[JobEngine]:
    async with engine_for(store_url) as engine:
        yield engine


def open_jobs(url: str) -> Store:
    return open_store(url, pool_size=4, observe=lambda _name, _seconds: None)
