"""Files: whole or not there."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cinder.services.export import write_file


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def breaking_chunks() -> AsyncIterator[bytes]:
    yield b"half"
    raise ConnectionResetError


async def test_chunks_become_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert await write_file(path, chunks(b"one\n", b"two\n")) == 8
    assert path.read_bytes() == b"one\ntwo\n"
    assert files_in(tmp_path) == [path]


async def test_what_breaks_off_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"before")
    with pytest.raises(ConnectionResetError):
        await write_file(path, breaking_chunks())
    assert path.read_bytes() == b"before"
    assert files_in(tmp_path) == [path]


async def test_a_writer_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"half"
        begun.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write_file(tmp_path / "out", endless()))
        await begun.wait()
        task.cancel()
    assert files_in(tmp_path) == []


async def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await write_file(tmp_path / "link", chunks(b"text"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"text"


async def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with asyncio.TaskGroup() as tasks:
        read = tasks.create_task(asyncio.to_thread(pipe.read_bytes))
        await write_file(pipe, chunks(b"one", b"two"))
    assert read.result() == b"onetwo"
    assert pipe.is_fifo()


async def test_a_place_that_cannot_be_written_is_told_before_anything_is_read(
    tmp_path: Path,
) -> None:
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        await write_file(tmp_path, breaking_chunks())
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        await write_file(tmp_path / "no" / "out", breaking_chunks())
