"""`cinder export`: writes the pages of a crawl or batch to a file or a folder."""

import asyncio
import os
import sys
from collections.abc import AsyncIterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.errors import InvalidRequest
from cinder.models.job import JobKind
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.services.export.base import ExportRequest

STANDARD_OUTPUT = "-"

_FILES = "files"
_FORMATS = {
    ".jsonl": "jsonl",
    ".warc": "warc",
    ".warc.gz": "warc",
    ".parquet": "parquet",
    ".zip": "zip",
    ".md": "llms-full",
    ".txt": "llms-full",
}


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """What to export, and where to."""

    request: "ExportRequest"
    path: str
    """A file or folder; `-` is standard output; empty for one that is named like the job."""
    is_folder: bool


@dataclass(frozen=True, slots=True)
class FinishedExport:
    """What an export wrote."""

    pages: int
    size: int
    path: str

    def describe(self) -> str:
        """Return a line for the person at the command line."""
        noun = "page" if self.pages == 1 else "pages"
        place = "on standard output" if self.path == STANDARD_OUTPUT else f"in {self.path}"
        return f"{self.pages} {noun}, {self.size:,} bytes, {place}"


def read_target(
    output: str | None,
    format_: str | None = None,
    include: tuple[str, ...] = (),
    *,
    errors: bool = False,
    images: bool = False,
) -> ExportTarget:
    """Return what a command line asks to export.

    Raises:
        InvalidRequest: a format is not known, or does not go with the name of the file.
        OSError: the folder cannot be written to.
    """
    from cinder.services.export.base import read_request
    from cinder.services.export.exporter import check_new_folder

    path = output or ""
    is_folder = path.endswith(("/", os.sep)) or (bool(path) and Path(path).is_dir())
    by_name = _FILES if is_folder else None
    if not is_folder:
        by_name = next((it for end, it in _FORMATS.items() if path.lower().endswith(end)), None)
    known = {*_FORMATS.values(), _FILES}
    if format_ in known and by_name not in (None, format_):
        message = f"{path} is a name for {by_name}, not {format_}: leave out --format or rename it"
        raise InvalidRequest.at("--format", message)
    chosen = format_ or by_name or "jsonl"
    is_folder = chosen == _FILES
    request = read_request(
        "zip" if is_folder else chosen, include, include_errors=errors, images=images
    )
    if is_folder and path:
        # Now, and not when the pages are there.
        check_new_folder(Path(path))
    return ExportTarget(request, path, is_folder)


def export(
    job: Annotated[str, typer.Argument(help="The crawl's or batch's id.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="jsonl, warc, parquet, files (a folder of Markdown), zip or llms-full (one "
            "Markdown text); default: by the file's suffix, else jsonl.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, or folder/; - is stdout; the job's id by default.",
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="More of each page: html, raw, links, linksDetail, summary, extracted, "
            "screenshot. Repeatable."
        ),
    ] = None,
    images: Annotated[
        bool, typer.Option("--images", help="Download the images, too; for files and zip.")
    ] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Also the URLs that failed, and why.")
    ] = False,
) -> None:
    """Write the pages of a crawl or batch to a file or a folder."""
    target = read_target(output, format_, tuple(include or ()), errors=errors, images=images)
    print(asyncio.run(write_export(job, target)).describe(), file=sys.stderr)


async def write_export(job_id: str, target: ExportTarget) -> FinishedExport:
    """Write the pages of a job.

    Raises:
        CinderError: there is no such job, or its pages could not be read.
        OSError: the file or folder could not be written.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from cinder.app.composition import open_app
    from cinder.cli.backends import read_quiet_settings
    from cinder.services.export.exporter import write_file, write_folder

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    kind = JobKind.BATCH if job_id.startswith(f"{JobKind.BATCH}-") else JobKind.CRAWL
    pages = 0
    path = target.path or job_id + ("/" if target.is_folder else target.request.format.suffix)
    async with open_app(read_quiet_settings()) as app:
        job = await app.jobs.find(job_id, kind, OWNER)
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("Exporting pages", total=None)

            def note(count: int, total: int) -> None:
                nonlocal pages
                pages = count
                progress.update(task, completed=count, total=total)

            if target.is_folder:
                files = app.exporter.export_files(job, target.request, note)
                size = await write_folder(Path(path), files)
            elif path == STANDARD_OUTPUT:
                size = await _write_out(app.exporter.export(job, target.request, note))
            else:
                size = await write_file(Path(path), app.exporter.export(job, target.request, note))
    return FinishedExport(pages, size, path)


async def _write_out(chunks: AsyncIterable[bytes]) -> int:
    size = 0
    with os.fdopen(sys.stdout.fileno(), "wb", closefd=False) as out:
        async for chunk in chunks:
            size += await asyncio.to_thread(out.write, chunk)
    return size
