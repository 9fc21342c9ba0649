"""The exporter: reads the pages of a job, a few at a time, and streams them in a format."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from cinder.model.job import ERROR_FATES, Fate, Job
from cinder.services.export.base import Encoder
from cinder.services.export.jsonl import JsonlEncoder
from cinder.services.export.pages import ExportedPage, count_wanted, read_pages
from cinder.services.export.request import ExportFormat, ExportRequest
from cinder.store.base import Store

# Enough to be worth the way to a thread, and little beside one page at its limit.
BATCH_BYTES = 512 * 1024
BATCH_PAGES = 50

# Called with how many pages are exported, of how many.
Progress: TypeAlias = Callable[[int, int], None]


class Exporter:
    """Exports the pages of jobs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def export(
        self, job: Job, request: ExportRequest, on_progress: Progress | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the pages that a job has by now, in a format, piece by piece.

        Raises:
            CacheFailed: the pages could not be read, or were deleted meanwhile.
        """
        fates = (Fate.FETCHED, *(ERROR_FATES if request.include_errors else ()))
        total = await count_wanted(self._store, job, fates)
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
    # Each library is imported only where it is used: they are large.
    if request.format is ExportFormat.WARC:
        from cinder.services.export.warc import WarcEncoder  # noqa: PLC0415

        return WarcEncoder(job, request)
    if request.format is ExportFormat.PARQUET:
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
