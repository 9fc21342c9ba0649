"""Fixtures of servers with several workers: tests that take `stored` run on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.postgres import PostgresServer, run_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Return the variables that choose a database."""
    if request.param == "sqlite":
        return {"CINDER_STORE__URL": f"sqlite:///{tmp_path / 'cinder.db'}"}
    server: PostgresServer = request.getfixturevalue("postgres")
    return {"CINDER_STORE__URL": server.create_database()}
