"""A database file that was half written: it is mended where SQLite can, and never thrown away."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from cinder.errors import CacheFailed
from tests.cli.commands import Commands, free_port
from tests.store.conftest import open_at
from tests.store.samples import Clock, a_document, a_key

_PAGE_BYTES = 4096


def _url(path: Path) -> str:
    return f"sqlite:///{path}"


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _read(path: Path) -> bytes:
    return path.read_bytes()


def _copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A database with a few pages in it, closed in good order."""
    file = tmp_path / "data" / "cinder.db"
    async with open_at(_url(file), Clock()) as store:
        for number in range(20):
            await store.save(a_document(f"{number}"), a_key(f"key {number}"))
    return file


def _cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _cut_within_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size - _PAGE_BYTES // 2)


def _cut_within_the_header(path: Path) -> None:
    os.truncate(path, 60)


def _overwrite_the_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 512)


def _overwrite_all(path: Path) -> None:
    path.write_bytes(os.urandom(64 * 1024))


BREAKS = [
    _cut_off,
    _cut_within_a_page,
    _cut_within_the_header,
    _overwrite_the_header,
    _overwrite_all,
]


@pytest.mark.parametrize("break_file", BREAKS)
async def test_a_damaged_file_is_named_with_what_to_do_and_left_as_it_is(
    path: Path, break_file: Callable[[Path], None]
) -> None:
    break_file(path)
    before = _read(path)
    with pytest.raises(CacheFailed) as caught:
        async with open_at(_url(path), Clock()):
            pass
    assert str(path) in caught.value.message
    assert "backup" in caught.value.message
    assert ".recover" in caught.value.message
    assert _read(path) == before


async def test_the_server_says_so_in_one_line_and_does_not_start(
    tmp_path: Path, path: Path
) -> None:
    _cut_off(path)
    before = _read(path)
    done = await Commands(tmp_path, "", free_port()).run("serve")
    assert done.code == 1
    said = [line for line in done.err.splitlines() if line.startswith("cinder:")]
    assert len(said) == 1
    assert str(path) in said[0]
    assert "[CACHE_ERROR]" in said[0]
    assert "Traceback" not in done.err
    assert _read(path) == before


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "cinder.db"
    path.touch()
    async with open_at(_url(path), Clock()) as store:
        await store.save(a_document(), a_key())
        assert len(await store.list_saved("anyone")) == 1


async def test_what_was_committed_outlives_a_torn_write_ahead_log(tmp_path: Path) -> None:
    path, crashed = tmp_path / "cinder.db", tmp_path / "crashed.db"
    async with open_at(_url(path), Clock()) as store:
        for number in range(10):
            await store.save(a_document(f"{number}"), a_key(f"key {number}"))
        # As a crash would leave them: nothing of the log is in the file yet.
        _copy(path, crashed)
        _copy(_log_of(path), _log_of(crashed))
    _cut_within_a_page(_log_of(crashed))
    async with open_at(_url(crashed), Clock()) as store:
        assert len(await store.list_saved("anyone")) == 9
        await store.save(a_document("more"), a_key("more"))
    with sqlite3.connect(crashed) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
