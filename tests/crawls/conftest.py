"""Fixtures of the crawls: a website and a database for each test, in each way to run cinder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls.stages import Stage, embedded_stage, fleet_stage
from tests.store.postgres import PostgresServer, run_postgres


@pytest.fixture(scope="package")
def server() -> Iterator[PostgresServer]:
    """A server of these tests' own, since they stop it."""
    with run_postgres() as running:
        yield running


@pytest.fixture
def fleet(server: PostgresServer, tmp_path: Path) -> Stage:
    return fleet_stage(server, tmp_path, workers=2)


@pytest.fixture(params=["embedded", "fleet"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    if request.param == "embedded":
        return embedded_stage(tmp_path)
    fleet: Stage = request.getfixturevalue("fleet")
    return fleet
