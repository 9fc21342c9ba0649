"""Streams a job's pages in a format, JSONL by default, and writes files and folders atomically."""

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from cinder.errors import CinderError, requires_extra
from cinder.models.document import Json, Media
from cinder.models.job import ERROR_STATUSES, Job, PageStatus
from cinder.models.request import (
    ContentOptions,
    Format,
    Mode,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.services.export.base import (
    Encoder,
    ExportedPage,
    ExportExtra,
    ExportFormat,
    ExportRequest,
    count_pages,
    describe_extras,
    describe_page,
    list_duplicates,
    list_urls,
    read_pages,
)
from cinder.services.export.file_names import FileNames, check_inside, file_name
from cinder.services.export.page_files import (
    ExportedFile,
    ImageFile,
    LlmsFullEncoder,
    PageFileWriter,
    ZipWriter,
    find_images,
    suffix_of,
)
from cinder.services.scraping.outcome import Scraper
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
            data |= describe_extras(page, self._include)
            if ExportExtra.SCREENSHOT in self._include:
                shot = page.document.screenshot if page.document else None
                data["screenshot"] = base64.b64encode(shot.data).decode() if shot else None
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

_IMAGES_AT_ONCE = 4
_IMAGE_TIMEOUT_MS = 30_000
_SVG = "image/svg+xml"

# Called with the number of exported pages, and of all.
Progress: TypeAlias = Callable[[int, int], None]


class Exporter:
    """Exports the pages of jobs."""

    def __init__(self, store: Store, scraper: Scraper) -> None:
        """`scraper` downloads the images of pages."""
        self._store = store
        self._scraper = scraper

    async def export(
        self, job: Job, request: ExportRequest, on_progress: Progress | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the pages that a job has now, encoded in a format, in chunks.

        Raises:
            CacheFailed: the pages could not be read, or were deleted meanwhile.
        """
        if request.format is ExportFormat.ZIP:
            archive = ZipWriter()
            async for files in self.export_files(job, request, on_progress):
                if chunk := await asyncio.to_thread(archive.add, files):
                    yield chunk
            yield await asyncio.to_thread(archive.end)
            return
        total = await count_pages(self._store, job, _fates(request))
        encoder = await asyncio.to_thread(_open_encoder, job, request)
        if beginning := encoder.begin():
            yield beginning
        async for batch in self._read_batches(job, request, total, on_progress):
            if chunk := await asyncio.to_thread(encoder.add, batch):
                yield chunk
        if ending := await asyncio.to_thread(encoder.end):
            yield ending

    async def export_files(
        self, job: Job, request: ExportRequest, on_progress: Progress | None = None
    ) -> AsyncIterator[list[ExportedFile]]:
        """Yield the pages that a job has now as files of Markdown, some at a time.

        Raises:
            CacheFailed: the pages could not be read, or were deleted meanwhile.
        """
        total = await count_pages(self._store, job, _fates(request))
        names = await self._name_files(job, request, total)
        images = ImageDownloads(self._scraper, job.owner)
        writer = PageFileWriter(names, request, images.found)

        def write(pages: list[ExportedPage]) -> list[ExportedFile]:
            return [file for page in pages for file in writer.write(page)]

        async for batch in self._read_batches(job, request, total, on_progress):
            if request.images:
                for page in batch:
                    found = await asyncio.to_thread(find_images, page)
                    pool = page.document.proxy_pool if page.document else None
                    async for file in images.download(found, page.fetched_at, pool):
                        yield [file]
            yield await asyncio.to_thread(write, batch)

    async def _name_files(self, job: Job, request: ExportRequest, total: int) -> FileNames:
        names = FileNames()
        async for url in list_urls(self._store, job, _fates(request), total):
            names.add(url)
        async for url, other in list_duplicates(self._store, job):
            names.add_alias(url, other)
        return names

    async def _read_batches(
        self, job: Job, request: ExportRequest, total: int, on_progress: Progress | None
    ) -> AsyncIterator[list[ExportedPage]]:
        pages = read_pages(
            self._store,
            job,
            _fates(request),
            total,
            with_raw=request.has_raw,
            with_screenshots=request.has_screenshots,
        )
        done = 0
        async for batch in _batch(pages):
            yield batch
            done += len(batch)
            if on_progress is not None:
                on_progress(done, total)


class ImageDownloads:
    """Downloads the images of an export, each once, as the page with them was fetched."""

    def __init__(self, scraper: Scraper, caller: str) -> None:
        self._scraper = scraper
        self._caller = caller
        self._tried: set[tuple[str, str | None]] = set()
        self.found: dict[str, ImageFile] = {}
        """The images by URL, those that could not be downloaded included."""

    async def download(
        self, urls: Sequence[str], modified_at: datetime | None, pool: str | None
    ) -> AsyncIterator[ExportedFile]:
        """Yield the files of the images that are not downloaded yet.

        Args:
            urls: the images of a page.
            modified_at: when the page was fetched.
            pool: the pool of proxies that the page was fetched through. Its caller does not
                want requests from another address, so a pool that is gone is a failure.
        """
        missing = (url for url in urls if url not in self.found or self.found[url].failure)
        # What one page's pool could not get, that of another page may.
        new = [url for url in missing if (url, pool) not in self._tried]
        self._tried.update((url, pool) for url in new)
        for start in range(0, len(new), _IMAGES_AT_ONCE):
            part = new[start : start + _IMAGES_AT_ONCE]
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._fetch(url, pool)) for url in part]
            for url, task in zip(part, running, strict=True):
                image = task.result()
                if isinstance(image, str):
                    self.found[url] = ImageFile(failure=image)
                    continue
                path = file_name(url, suffix_of(image.mime))
                self.found[url] = ImageFile(path)
                yield ExportedFile(path, image.data, modified_at or datetime.now(UTC))

    async def _fetch(self, url: str, pool: str | None) -> Media | str:
        """Return the image, or why there is none."""
        request = ScrapeRequest(
            url=url,
            formats=(Format.RAW_HTML,),
            content=ContentOptions(clean=False),
            render=RenderOptions(mode=Mode.STATIC, proxy_pool=pool),
            result_handling=ResultHandling.RETURN_ONLY,
            timeout_ms=_IMAGE_TIMEOUT_MS,
            caller=self._caller,
        )
        try:
            document = (await self._scraper.scrape(request)).document
        except CinderError as error:
            return str(error)
        if document.media is not None and document.media.mime.startswith("image/"):
            return document.media
        # An SVG image is text.
        if document.content_type == _SVG and document.content.text is not None:
            return Media(_SVG, document.content.text.encode(errors="replace"))
        return f"It is no image ({document.content_type})"


async def write_folder(path: Path, batches: AsyncIterable[Sequence[ExportedFile]]) -> int:
    """Write files to a new folder, which appears when all are written; return their bytes.

    Raises:
        OSError: the folder is there and not empty, or could not be written, or a file would not be
            in it; nothing is left.
    """
    target = await asyncio.to_thread(check_new_folder, path)
    part = target.with_name(f".{uuid4().hex}.part")
    size = 0

    def write(files: Sequence[ExportedFile]) -> None:
        for file in files:
            check_inside(file.path)
            place = part / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as out:
                out.write(file.data)

    try:
        await asyncio.to_thread(part.mkdir)
        async for files in batches:
            await asyncio.to_thread(write, files)
            size += sum(len(file.data) for file in files)
        # An empty folder is replaced; one that was filled meanwhile is an error.
        await asyncio.to_thread(part.replace, target)
    finally:
        # Without await, so that a cancelled task removes it too.
        shutil.rmtree(part, ignore_errors=True)
    return size


def check_new_folder(path: Path) -> Path:
    """Return the resolved path of a folder that an export can be written to.

    Raises:
        OSError: there is a file or a folder with content, or no folder to make it in.
    """
    target = path.resolve()
    if target.is_dir() and any(target.iterdir()):
        raise FileExistsError(f"{path} is not empty: name a new folder, or delete this one first")
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{path} is a file: name a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {target.parent} to make {path.name} in")
    return target


def _fates(request: ExportRequest) -> tuple[PageStatus, ...]:
    return (PageStatus.FETCHED, *(ERROR_STATUSES if request.include_errors else ()))


def _open_encoder(job: Job, request: ExportRequest) -> Encoder:
    # The libraries are large, and imported only when needed.
    if request.format is ExportFormat.WARC:
        from cinder.services.export.warc import WarcEncoder  # noqa: PLC0415

        return WarcEncoder(job, request)
    if request.format is ExportFormat.PARQUET:
        with requires_extra("parquet"):
            from cinder.services.export.parquet import ParquetEncoder  # noqa: PLC0415

        return ParquetEncoder(job, request)
    if request.format is ExportFormat.LLMS_FULL:
        return LlmsFullEncoder()
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
