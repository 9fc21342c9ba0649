"""SQLite: where the file is, who may read it, and who else may write to it."""

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest

from cinder.errors import CacheFailed
from cinder.store.sqlite import connect, path_of
from tests.store.conftest import open_at
from tests.store.samples import Clock, a_document, a_full_document, a_key

SAVE_TWENTY = """
import asyncio, sys
from tests.store.conftest import open_at
from tests.store.samples import Clock, a_document, a_key

async def main():
    async with open_at(sys.argv[1], Clock()) as store:
        await asyncio.gather(*(store.save(a_document(f"{n}"), a_key()) for n in range(20)))

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "cinder.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


def test_a_url_names_a_relative_or_an_absolute_file() -> None:
    assert path_of("sqlite:///data/cinder.db") == Path("data/cinder.db")
    assert path_of("sqlite:////var/cinder 100%.db") == Path("/var/cinder 100%.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:x.db"])
def test_a_url_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///path"):
        path_of(url)


async def test_the_file_is_its_owners_alone(url: str, path: Path) -> None:
    async with open_at(url, Clock()) as store:
        await store.save(a_document(), a_key())
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("cinder.db", "cinder.db-wal", "cinder.db-shm"), 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_the_file_is_whole_after_saving_replacing_and_deleting(url: str, path: Path) -> None:
    async with open_at(url, Clock()) as store:
        for number in range(20):
            await store.save(a_full_document(), a_key(f"key {number % 4}"))
        await store.invalidate_url("https://example.com/nothing")
        await store.delete_expired(Clock().now)
    connection = connect(path)
    try:
        assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert [row[0] for row in connection.execute("PRAGMA journal_mode")] == ["wal"]
    finally:
        connection.close()


async def test_no_body_outlives_its_versions(url: str, path: Path) -> None:
    async with open_at(url, Clock()) as store:
        for _ in range(5):
            await store.save(a_full_document(), a_key())
        await store.delete_expired(a_key().expires_at)
    connection = connect(path)
    try:
        assert connection.execute("SELECT count(*) FROM bodies").fetchone()[0] == 0
    finally:
        connection.close()


async def test_two_processes_create_and_share_a_file(url: str) -> None:
    command = (sys.executable, "-c", SAVE_TWENTY, url)
    processes = [await asyncio.create_subprocess_exec(*command) for _ in range(3)]
    assert [await process.wait() for process in processes] == [0, 0, 0]
    async with open_at(url, Clock()) as store:
        assert len(await store.list_saved("anyone")) == 60


@pytest.fixture
def text_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("This is a text, and a long one at that. " * 100)


@pytest.mark.usefixtures("text_file")
async def test_a_file_that_is_no_database_is_said_to_be_none(path: Path, url: str) -> None:
    with pytest.raises(CacheFailed) as caught:
        async with open_at(url, Clock()):
            pass
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert str(path) in caught.value.message


async def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CacheFailed):
        async with open_at(f"sqlite:///{tmp_path}/file/cinder.db", Clock()):
            pass
