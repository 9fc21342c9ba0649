"""`cinder export`: writes the pages of a job to a file."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.job import JobKind
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.services.export import ExportRequest

STANDARD_OUTPUT = Path("-")

_FORMATS = {".jsonl": "jsonl", ".warc": "warc", ".warc.gz": "warc", ".parquet": "parquet"}


def export(
    job: Annotated[str, typer.Argument(help="The crawl's or batch's id.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="jsonl, warc or parquet; default: by the file's suffix, else jsonl.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write, - is stdout; the job's id by default."
        ),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="More of each page: html, raw. Repeatable.")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Also the URLs that failed, and why.")
    ] = False,
) -> None:
    """Write the pages of a crawl or batch to a file."""
    from cinder.services.export import read_request

    name = output.name.lower() if output else ""
    by_suffix = next((kind for suffix, kind in _FORMATS.items() if name.endswith(suffix)), None)
    if format_ in _FORMATS.values() and by_suffix not in (None, format_):
        message = (
            f"{output} is a name for {by_suffix}, not {format_}: leave out --format or rename it"
        )
        raise InvalidRequest(problems=(FieldProblem("--format", message),))
    request = read_request(format_ or by_suffix or "jsonl", include or (), include_errors=errors)
    path = output or Path(f"{job}{request.format.suffix}")
    pages, size = asyncio.run(_export(job, request, path))
    noun = "page" if pages == 1 else "pages"
    place = "on standard output" if path == STANDARD_OUTPUT else f"in {path}"
    print(f"{pages} {noun}, {size:,} bytes, {place}", file=sys.stderr)


async def _export(job_id: str, request: "ExportRequest", path: Path) -> tuple[int, int]:
    """Write the file; return the number of pages and bytes."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs
    from cinder.services.export import write_file

    settings = read_settings()
    configure_logs(settings.log.level)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    kind = JobKind.BATCH if job_id.startswith(f"{JobKind.BATCH}-") else JobKind.CRAWL
    pages = size = 0
    async with open_app(settings) as app:
        job = await app.jobs.find(job_id, kind, OWNER)
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("Exporting pages", total=None)

            def note(count: int, total: int) -> None:
                nonlocal pages
                pages = count
                progress.update(task, completed=count, total=total)

            chunks = app.exporter.export(job, request, note)
            if path != STANDARD_OUTPUT:
                size = await write_file(path, chunks)
            else:
                with os.fdopen(sys.stdout.fileno(), "wb", closefd=False) as out:
                    async for chunk in chunks:
                        size += await asyncio.to_thread(out.write, chunk)
    return pages, size
