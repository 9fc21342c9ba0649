"""The store's fixtures: what is exported is read from both databases."""

import pytest

from tests.services.export.samples import TickingClock
from tests.store.conftest import postgres, postgres_template, store, store_url

__all__ = ["clock", "postgres", "postgres_template", "store", "store_url"]


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()
