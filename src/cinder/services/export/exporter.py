"""Streams a job's pages in a format, JSONL by default, and writes files atomically."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from cinder.errors import requires_extra
from cinder.models.document import Json
from cinder.models.job import ERROR_STATUSES, Job, PageStatus
from cinder.services.export.base import (
    Encoder,
    ExportedPage,
    ExportExtra,
    ExportFormat,
    ExportRequest,
    count_pages,
    describe_page,
    read_pages,
)
from cinder.store.documents import Store


class JsonlEncoder(Encoder):
    """Writes pages as lines of JSON."""

    def __init__(self, request: ExportRequest) -> None:
        self._include = request.include

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the lines of some pages."""
        lines = []
        for page in pages:
            data: dict[str, Json] = describe_page(page) | {"markdown": page.markdown}
            if ExportExtra.HTML in self._include:
                data["html"] = page.html
            if ExportExtra.RAW in self._include:
                raw = page.raw
                if isinstance(raw, bytes):
                    data |= {"raw": base64.b64encode(raw).decode(), "rawEncoding": "base64"}
                else:
                    data |= {"raw": raw, "rawEncoding": None if raw is None else "text"}
            lines.append(json.dumps(data, ensure_ascii=False).encode() + b"\n")
        return b"".join(lines)


async def write_file(path: Path, chunks: AsyncIterable[bytes]) -> int:
    """Write chunks to a file, replacing it when all is written; return the number of bytes.

    A pipe or device is written to directly.

    Raises:
        OSError: the file could not be written; no part of it is left.
    """
    if await asyncio.to_thread(_is_special, path):
        return await _write(path, chunks)
    target = await asyncio.to_thread(path.resolve)
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        size = await _write(part, chunks)
        await asyncio.to_thread(part.replace, target)
    finally:
        # Without await, so that a cancelled task removes it too.
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

    def flush_to_disk() -> None:
        file.flush()
        if path.is_file():
            os.fsync(file.fileno())

    with file:
        async for chunk in chunks:
            size += await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(flush_to_disk)
    return size


# Enough to be worth a thread, and little compared with one page at its limit.
BATCH_BYTES = 512 * 1024
BATCH_PAGES = 50

# Called with the number of exported pages, and of all.
Progress: TypeAlias = Callable[[int, int], None]


class Exporter:
    """Exports the pages of jobs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def export(
        self, job: Job, request: ExportRequest, on_progress: Progress | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the pages that a job has now, encoded in a format, in chunks.

        Raises:
            CacheFailed: the pages could not be read, or were deleted meanwhile.
        """
        fates = (PageStatus.FETCHED, *(ERROR_STATUSES if request.include_errors else ()))
        total = await count_pages(self._store, job, fates)
        encoder = await asyncio.to_thread(_open_encoder, job, request)
        if beginning := encoder.begin():
            yield beginning
        done = 0
        pages = read_pages(self._store, job, fates, total, with_raw=request.has_raw)
        async for batch in _batch(pages):
            if chunk := await asyncio.to_thread(encoder.add, batch):
                yield chunk
            done += len(batch)
            if on_progress is not None:
                on_progress(done, total)
        if ending := await asyncio.to_thread(encoder.end):
            yield ending


def _open_encoder(job: Job, request: ExportRequest) -> Encoder:
    # The libraries are large, and imported only when needed.
    if request.format is ExportFormat.WARC:
        from cinder.services.export.warc import WarcEncoder  # noqa: PLC0415

        return WarcEncoder(job, request)
    if request.format is ExportFormat.PARQUET:
        with requires_extra("parquet"):
            from cinder.services.export.parquet import ParquetEncoder  # noqa: PLC0415

        return ParquetEncoder(job, request)
    return JsonlEncoder(request)


async def _batch(pages: AsyncIterator[ExportedPage]) -> AsyncIterator[list[ExportedPage]]:
    batch: list[ExportedPage] = []
    size = 0
    async for page in pages:
        batch.append(page)
        size += page.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_PAGES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
