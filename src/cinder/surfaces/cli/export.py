"""`cinder export`: the pages of a crawl or batch as one file."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.model.job import Job, JobKind
from cinder.model.request import OWNER

if TYPE_CHECKING:
    from cinder.app import App
    from cinder.services.export import ExportRequest


def export(
    job: Annotated[str, typer.Argument(help="The crawl's or batch's id.")],
    format_: Annotated[
        str, typer.Option("--format", "-f", help="jsonl, warc or parquet.")
    ] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; the job's id by default."),
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

    wanted = read_request(format_, include or (), include_errors=errors)
    path = output or Path(f"{job}{wanted.format.suffix}")
    pages, size = asyncio.run(_export(job, wanted, path))
    noun = "page" if pages == 1 else "pages"
    print(f"{pages} {noun}, {size:,} bytes, in {path}", file=sys.stderr)


async def _export(job_id: str, wanted: "ExportRequest", path: Path) -> tuple[int, int]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.services.export import write_file
    from cinder.surfaces.logs import set_up_logs

    settings = read_settings()
    set_up_logs(settings.log.level)
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

            size = await write_file(path, app.exporter.export(job, wanted, note))
    return done, size


async def _find(app: "App", job_id: str) -> Job:
    # An id says what kind of job it is of.
    kind = JobKind.BATCH if job_id.startswith(f"{JobKind.BATCH}-") else JobKind.CRAWL
    return await app.jobs.find(job_id, kind, OWNER)
