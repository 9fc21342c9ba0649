"""`cinder crawl`, `batch` and `export`: run jobs and save their pages."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.api.errors import EXIT_FAILURE
from cinder.cli.backends import Answer, JobClient, cancel_on_sigterm, open_job_client
from cinder.cli.options import parse_options, takes_options
from cinder.cli.output import (
    SHOWN_ERRORS,
    JobDisplay,
    JobSummary,
    JobView,
    make_display,
    print_json,
    replace_unprintable,
)
from cinder.errors import CinderError, InvalidRequest
from cinder.models.job import JobKind, PageStatus
from cinder.models.request import OWNER, ScrapeRequest
from cinder.services.jobs.specs import CrawlSpec

if TYPE_CHECKING:
    from cinder.models.document import Json
    from cinder.services.export.base import ExportRequest


# The exit code of shells for a command that Ctrl-C ended.
EXIT_INTERRUPTED = 130

_SKIPPED = {"duplicates": PageStatus.DUPLICATE, "traps": PageStatus.TRAP}
_POLL_SECONDS = 0.5
_PAGES_AT_ONCE = 100
# The suffixes of files that list URLs, which few websites end in.
_LIST_SUFFIXES = (".txt", ".csv", ".list", ".urls")


@dataclass(slots=True)
class WatchedJob:
    """The job of a command; its id is known once it is started."""

    kind: JobKind
    as_json: bool
    job_id: str = ""
    is_local: bool = False
    """Whether this process does the work."""


def start_job(kind: JobKind, options: "Mapping[str, Json]", *, detach: bool, as_json: bool) -> None:
    """Start a job, and watch it until it is over unless detached."""
    watched = WatchedJob(kind, as_json)

    async def start() -> int:
        cancel_on_sigterm()
        async with open_job_client(kind, works=not detach) as (client, why_local):
            answer = await client.start(options)
            watched.job_id = answer["crawlId" if kind is JobKind.CRAWL else "jobId"]
            watched.is_local = client.is_local
            _print_start(watched, answer, why_local, detach=detach)
            return 0 if detach else await _follow(client, watched)

    _run(watched, start())


def attach_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Watch a job that was started before; without a server, resume it in this process."""
    watched = WatchedJob(kind, as_json, job_id)

    async def attach() -> int:
        cancel_on_sigterm()
        async with open_job_client(kind, works=True) as (client, why_local):
            watched.is_local = client.is_local
            await client.resume(job_id)
            if why_local and not as_json:
                print(f"Going on in this process: {why_local}.", file=sys.stderr)
            return await _follow(client, watched)

    _run(watched, attach())


def cancel_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Cancel a job."""

    async def cancel() -> int:
        async with open_job_client(kind, works=False) as (client, _):
            answer = await client.cancel(job_id)
        if as_json:
            print_json(answer)
        else:
            print(answer["message"])
        return 0

    _run(WatchedJob(kind, as_json, job_id), cancel())


def list_jobs(kind: JobKind, *, as_json: bool) -> None:
    """List the jobs of a kind."""

    async def list_all() -> int:
        async with open_job_client(kind, works=False) as (client, _):
            jobs = await client.list_jobs()
        for job in jobs:
            if as_json:
                print_json(job)
            elif kind is JobKind.CRAWL:
                figures = f"{job['status']:<9}  {job['createdAt']}  {job['pagesCrawled']:>6} pages"
                print(f"{job['crawlId']}  {figures}  {replace_unprintable(job['url'])}")
            else:
                figures = f"{job['status']:<9}  {job['createdAt']}"
                print(f"{job['jobId']}  {figures}  {job['creditsUsed']} of {job['total']} URLs")
        if not jobs and not as_json:
            print(f"There is no {kind}.", file=sys.stderr)
        return 0

    _run(WatchedJob(kind, as_json), list_all())


def _run(watched: WatchedJob, work: Coroutine[None, None, int]) -> None:
    """Run the work until it ends, or until Ctrl-C or SIGTERM; exit with its exit code."""
    try:
        code = asyncio.run(work)
    except (KeyboardInterrupt, asyncio.CancelledError):
        attach = f"cinder {watched.kind} --attach {watched.job_id}"
        code = EXIT_INTERRUPTED
        if not watched.job_id:
            message = "Stopped before anything was started."
        elif watched.is_local:
            message = f"Stopped. What was fetched is kept; `{attach}` goes on."
        else:
            code = 0
            message = (
                f"Detached. The server goes on; `{attach}` watches again, "
                f"`cinder {watched.kind} --cancel {watched.job_id}` stops it."
            )
        print(message, file=sys.stderr)
    except CinderError as error:
        if watched.as_json:
            from cinder.api.errors import describe_error

            print_json({"event": "failure", "error": describe_error(error)})
        raise
    if code:
        raise typer.Exit(code)


async def _follow(client: JobClient, watched: WatchedJob) -> int:
    """Show a job until it is over; return the exit code."""
    with make_display(as_json=watched.as_json) as display:
        view = await _poll_until_over(client, watched.job_id, display)
        is_crawl = watched.kind is JobKind.CRAWL
        has_counts = is_crawl or view.errors
        counts = await client.count_page_statuses(view.id) if has_counts else {}
        skipped = {noun: counts.get(status, 0) for noun, status in _SKIPPED.items()}
        summary = JobSummary(
            skipped if is_crawl else {},
            await client.errors(view.id, limit=SHOWN_ERRORS) if view.errors else (),
            # The counts are read later than the view, and may be higher.
            min(counts.get(PageStatus.DISALLOWED, 0), view.errors),
        )
        display.conclude(view, summary)
    return 0 if view.is_completed else EXIT_FAILURE


async def _poll_until_over(client: JobClient, job_id: str, display: JobDisplay) -> JobView:
    seen = 0
    while True:
        answer = await client.status(job_id, offset=seen, limit=_PAGES_AT_ONCE)
        view = JobView.from_answer(answer)
        display.show(view)
        seen += len(view.pages)
        if not display.wants_every_page:
            seen = max(seen, view.fetched - _PAGES_AT_ONCE)
        if view.has_more_pages:
            continue
        if view.is_over:
            return view
        await asyncio.sleep(_POLL_SECONDS)


def _print_start(watched: WatchedJob, answer: Answer, why_local: str, *, detach: bool) -> None:
    if watched.as_json:
        print_json({"event": "started", **answer})
    elif detach:
        print(watched.job_id)
    else:
        print(f"Started {watched.job_id}", file=sys.stderr)
    for name, words in (("duplicates", "given more than once"), ("invalidUrls", "not valid")):
        count = answer.get(name)
        count = len(count) if isinstance(count, list) else count
        if count and not watched.as_json:
            print(f"URLs that are {words}: {count}", file=sys.stderr)
    if why_local and detach:
        print(
            f"It waits until a server or a worker runs on this database: {why_local}. "
            f"`cinder {watched.kind} --attach {watched.job_id}` works on it in its own process.",
            file=sys.stderr,
        )
    elif why_local and not watched.as_json:
        print(f"Working in this process: {why_local}.", file=sys.stderr)


Detach = Annotated[bool, typer.Option("--detach", help="Start it, print its id, and do not watch.")]
AsJsonLines = Annotated[
    bool, typer.Option("--json", help="Print lines of JSON: each page, the figures, the end.")
]


def manage_jobs(kind: JobKind, *, attach: str | None, cancel: str | None, as_json: bool) -> None:
    """Attach to the named job, or cancel it; without one, list the jobs."""
    if cancel:
        cancel_job(kind, cancel, as_json=as_json)
    elif attach:
        attach_job(kind, attach, as_json=as_json)
    else:
        list_jobs(kind, as_json=as_json)


@takes_options(CrawlSpec)
def crawl(
    url: Annotated[
        str | None, typer.Argument(help="Where to start; https:// may be left out.")
    ] = None,
    *,
    detach: Detach = False,
    attach: Annotated[str | None, typer.Option(help="Watch the crawl of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the crawl of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the crawls.")] = False,
    as_json: AsJsonLines = False,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Crawl a site: on the server if one runs, else in this process until it is done."""
    require_one_of({"URL": url, "--attach": attach, "--cancel": cancel, "--list": list_})
    if not url:
        manage_jobs(JobKind.CRAWL, attach=attach, cancel=cancel, as_json=as_json)
    else:
        start_job(JobKind.CRAWL, {"url": url, **options}, detach=detach, as_json=as_json)


def require_one_of(choices: dict[str, object]) -> None:
    """Check that a command line names exactly one of its alternatives.

    Raises:
        InvalidRequest: it names none, or several.
    """
    named = [name for name, value in choices.items() if value]
    if len(named) != 1:
        names = ", ".join(choices)
        received = " and ".join(named) or "none"
        raise InvalidRequest.at("(command)", f"Give one of {names}; received {received}")


@takes_options(ScrapeRequest)
def batch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL|FILE|-", help="Pages, or files that list them line by line; - is stdin."
        ),
    ] = None,
    *,
    detach: Detach = False,
    attach: Annotated[str | None, typer.Option(help="Watch the batch of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the batch of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the batches.")] = False,
    as_json: AsJsonLines = False,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Scrape many URLs: on the server if one runs, else in this process until it is done."""
    require_one_of({"URLs": targets, "--attach": attach, "--cancel": cancel, "--list": list_})
    if not targets:
        manage_jobs(JobKind.BATCH, attach=attach, cancel=cancel, as_json=as_json)
    else:
        urls = read_targets(targets)
        arguments = {"formats": ["markdown"], **parse_options(options), "urls": urls}
        start_job(JobKind.BATCH, arguments, detach=detach, as_json=as_json)


def read_targets(targets: list[str]) -> list[str]:
    """Return the URLs among the targets, and those that files and standard input list.

    Raises:
        InvalidRequest: a target has the suffix of a list, but there is no such file.
    """
    urls = []
    for target in targets:
        if target == "-":
            urls += _split_urls(sys.stdin.read())
        elif "://" not in target and Path(target).is_file():
            urls += _split_urls(Path(target).read_text())
        elif "://" not in target and target.lower().endswith(_LIST_SUFFIXES):
            message = f"There is no file {target}; write https://{target} if you mean a website"
            raise InvalidRequest.at("FILE", message)
        else:
            urls.append(target)
    return urls


def _split_urls(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


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
    from cinder.services.export.base import read_request

    name = output.name.lower() if output else ""
    by_suffix = next((kind for suffix, kind in _FORMATS.items() if name.endswith(suffix)), None)
    if format_ in _FORMATS.values() and by_suffix not in (None, format_):
        message = (
            f"{output} is a name for {by_suffix}, not {format_}: leave out --format or rename it"
        )
        raise InvalidRequest.at("--format", message)
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

    from cinder.app.composition import open_app
    from cinder.config.settings import read_settings
    from cinder.logs import configure_logs
    from cinder.services.export.exporter import write_file

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
