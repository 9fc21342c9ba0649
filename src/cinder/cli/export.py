"""`cinder export`: writes the pages of a job to a file."""

import asyncio
import os
import sys
from collections.abc import AsyncIterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.job import Job, JobKind
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.app import App
    from cinder.services.export import ExportRequest


STANDARD_OUTPUT = Path("-")

_FORMATS = {".jsonl": "jsonl", ".warc": "warc", ".warc.gz": "warc", ".parquet": "parquet"}


def export(
    job: Annotated[str, typer.Argument(help="The crawl's or batch's id.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", help="jsonl, warc or parquet; as the file's name ends, or jsonl."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write, - is stdout; the job's id by default."
        ),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="What else of each page: html, raw. Repeatable.")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Also the URLs that could not be had, and why.")
    ] = False,
) -> None:
    """Write the pages of a crawl or batch to a file."""
    from cinder.services.export import read_request

    wanted = read_request(_choose_format(format_, output), include or (), include_errors=errors)
    path = output or Path(f"{job}{wanted.format.suffix}")
    pages, size = asyncio.run(_export(job, wanted, path))
    noun = "page" if pages == 1 else "pages"
    place = "on standard output" if path == STANDARD_OUTPUT else f"in {path}"
    print(f"{pages} {noun}, {size:,} bytes, {place}", file=sys.stderr)


def _choose_format(given: str | None, output: Path | None) -> str:
    """Return the format that is given, or that the file's name tells.

    Raises:
        InvalidRequest: the two contradict each other.
    """
    name = output.name.lower() if output else ""
    told = next((word for suffix, word in _FORMATS.items() if name.endswith(suffix)), None)
    if given in _FORMATS.values() and told not in (None, given):
        message = f"{output} is a name for {told}, not {given}: leave out --format or rename it"
        raise InvalidRequest(problems=(FieldProblem("--format", message),))
    return given or told or "jsonl"


async def _export(job_id: str, wanted: "ExportRequest", path: Path) -> tuple[int, int]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs
    from cinder.services.export import write_file

    settings = read_settings()
    configure_logs(settings.log.level)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    done = 0
    async with open_app(settings) as app:
        job = await _find(app, job_id)
        with shown as progress:
            task = progress.add_task("Exporting pages", total=None)

            def note(count: int, total: int) -> None:
                nonlocal done
                done = count
                progress.update(task, completed=count, total=total)

            chunks = app.exporter.export(job, wanted, note)
            is_file = path != STANDARD_OUTPUT
            size = await (write_file(path, chunks) if is_file else _write_out(chunks))
    return done, size


async def _write_out(chunks: AsyncIterable[bytes]) -> int:
    size = 0
    with os.fdopen(sys.stdout.fileno(), "wb", closefd=False) as out:
        async for chunk in chunks:
            size += await asyncio.to_thread(out.write, chunk)
    return size


async def _find(app: "App", job_id: str) -> Job:
    # An id says what kind of job it is of.
    kind = JobKind.BATCH if job_id.startswith(f"{JobKind.BATCH}-") else JobKind.CRAWL
    return await app.jobs.find(job_id, kind, OWNER)
