"""A store for the tests of jobs, with a clock that only tests advance."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cinder.store import open_store
from cinder.store.documents import Store
from tests.store.samples import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_store(
        url, pool_size=2, observe=lambda _name, _seconds: None, clock=clock
    ) as opened:
        yield opened
