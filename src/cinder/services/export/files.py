"""Exports in files: a file appears when it is whole, or not at all."""

import asyncio
import os
from collections.abc import AsyncIterable
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


async def write_file(path: Path, chunks: AsyncIterable[bytes]) -> int:
    """Write chunks to a file; return how many bytes. What was there stays until all is written.

    A pipe or device is written to directly.

    Raises:
        OSError: the file could not be written; nothing is left of it.
    """
    if await asyncio.to_thread(_is_special, path):
        return await _write(path, chunks)
    target = await asyncio.to_thread(path.resolve)
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        size = await _write(part, chunks)
        await asyncio.to_thread(part.replace, target)
    finally:
        # No await: it must go where this task is cancelled, too.
        part.unlink(missing_ok=True)
    return size


def _is_special(path: Path) -> bool:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {path.parent} to write {path.name} to")
    return path.exists() and not path.is_file()


async def _write(path: Path, chunks: AsyncIterable[bytes]) -> int:
    file = await asyncio.to_thread(path.open, "wb")
    size = 0
    with file:
        async for chunk in chunks:
            size += await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(_flush_to_disk, file)
    return size


def _flush_to_disk(file: BinaryIO) -> None:
    file.flush()
    if Path(file.name).is_file():
        os.fsync(file.fileno())
