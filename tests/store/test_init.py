"""Opening: the URL chooses the database."""

import asyncio
import sys
from pathlib import Path

import pytest

from cinder.errors import CacheFailed
from cinder.store import open_store
from tests.store.conftest import open_at
from tests.store.samples import Clock, a_document, a_key


@pytest.mark.parametrize("url", ["mysql://localhost/x", "cinder.db", ""])
def test_an_unknown_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///path or postgresql://"):
        open_store(url, pool_size=1, observe=lambda _name, _seconds: None)


async def test_a_closed_store_says_so(store_url: str) -> None:
    async with open_at(store_url, Clock()) as store:
        await store.save(a_document(), a_key())
    with pytest.raises(CacheFailed):
        await store.find("key")
    with pytest.raises(CacheFailed):
        await store.save(a_document(), a_key())


async def test_an_exception_passes_through_an_open_store_as_it_is(store_url: str) -> None:
    with pytest.raises(KeyError):
        async with open_at(store_url, Clock()):
            raise KeyError


async def test_every_operation_is_observed(store_url: str) -> None:
    seen: list[str] = []
    store = open_store(store_url, pool_size=1, observe=lambda name, _seconds: seen.append(name))
    async with store:
        await store.save(a_document(), a_key())
        await store.find("key")
    assert [name for name in seen if name != "count_accesses"] == ["save", "find"]


LEAN = """
import asyncio, sys
from cinder.store import open_store

async def main():
    async with open_store(sys.argv[1], pool_size=1, observe=lambda *_: None) as store:
        await store.check()

asyncio.run(main())
heavy = {"sqlalchemy", "alembic", "asyncpg"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""


async def test_opening_an_up_to_date_file_imports_no_sqlalchemy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_at(url, Clock()):
        pass
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LEAN, url)
    assert await process.wait() == 0
