"""`cinder crawl` and `batch`: run jobs, and export their pages when they are over."""

import asyncio
import sys
from collections.abc import Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.api.errors import EXIT_FAILURE
from cinder.cli.backends import Answer, JobClient, cancel_on_sigterm, open_job_client
from cinder.cli.export import STANDARD_OUTPUT, ExportTarget, read_target, write_export
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
from cinder.models.options import options_of
from cinder.models.request import ScrapeRequest
from cinder.services.jobs.specs import PAGE_OPTIONS, CrawlSpec

if TYPE_CHECKING:
    from cinder.models.document import Json


# The exit code of shells for a command that Ctrl-C ended.
EXIT_INTERRUPTED = 130

_SKIPPED = {"duplicates": PageStatus.DUPLICATE, "traps": PageStatus.TRAP}
_SCOPES = {
    "path": "the folder of the start and what is below it",
    "host": "the host of the start",
    "domain": "all hosts of the start's domain",
    "subdomains": "the host of the start and its subdomains",
}
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
    target: ExportTarget | None = None
    """Where its pages are exported to once it is over."""


def start_job(
    kind: JobKind,
    options: "Mapping[str, Json]",
    *,
    detach: bool,
    as_json: bool,
    output: str | None = None,
    formats: Collection[str] = (),
    note: str = "",
) -> None:
    """Start a job, say so with a note, watch it unless detached, and then export its pages.

    The export has the formats, as far as it has a place for them.
    """
    if detach and output:
        message = "--detach does not wait for pages to export: run cinder export when it is over"
        raise InvalidRequest.at("--output", message)
    target = _read_output(output)
    if target is not None:
        target = replace(target, request=target.request.with_formats(formats))
    watched = WatchedJob(kind, as_json, target=target)

    async def start() -> int:
        cancel_on_sigterm()
        async with open_job_client(kind, works=not detach) as (client, why_local):
            answer = await client.start(options)
            watched.job_id = answer["crawlId" if kind is JobKind.CRAWL else "jobId"]
            watched.is_local = client.is_local
            _print_start(watched, answer, why_local, detach=detach)
            if note and not as_json:
                print(note, file=sys.stderr)
            code = 0 if detach else await _follow(client, watched)
        await _export_pages(watched)
        return code

    _run(watched, start())


def attach_job(kind: JobKind, job_id: str, *, as_json: bool, output: str | None = None) -> None:
    """Watch a job that was started before; without a server, resume it in this process."""
    watched = WatchedJob(kind, as_json, job_id, target=_read_output(output))

    async def attach() -> int:
        cancel_on_sigterm()
        async with open_job_client(kind, works=True) as (client, why_local):
            watched.is_local = client.is_local
            await client.resume(job_id)
            if why_local and not as_json:
                print(f"Going on in this process: {why_local}.", file=sys.stderr)
            code = await _follow(client, watched)
        await _export_pages(watched)
        return code

    _run(watched, attach())


def _read_output(output: str | None) -> ExportTarget | None:
    if output == STANDARD_OUTPUT:
        message = "Standard output shows the progress: name a file, or run cinder export -o -"
        raise InvalidRequest.at("--output", message)
    return read_target(output) if output else None


async def _export_pages(watched: WatchedJob) -> None:
    if watched.target is None:
        return
    done = await write_export(watched.job_id, watched.target)
    if watched.as_json:
        print_json(
            {"event": "exported", "path": done.path, "pages": done.pages, "bytes": done.size}
        )
    else:
        print(done.describe(), file=sys.stderr)


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
    # A crawl finds broken links everywhere; the URLs of a batch were asked for, each of them.
    is_whole = view.is_completed and (is_crawl or not view.errors)
    return 0 if is_whole else EXIT_FAILURE


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
    if "warning" in answer and not watched.as_json:
        print(f"Warning: {replace_unprintable(answer['warning'])}", file=sys.stderr)
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


Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Export the pages when it is over: folder/ or a file, as cinder export does.",
    ),
]


def manage_jobs(
    kind: JobKind, *, attach: str | None, cancel: str | None, as_json: bool, output: str | None
) -> None:
    """Attach to the named job, or cancel it; without one, list the jobs."""
    if output and not attach:
        raise InvalidRequest.at("--output", "There is nothing to export without a job to watch")
    if cancel:
        cancel_job(kind, cancel, as_json=as_json)
    elif attach:
        attach_job(kind, attach, as_json=as_json, output=output)
    else:
        list_jobs(kind, as_json=as_json)


# The crawl itself has the other ones.
_PAGE_FLAGS = {*PAGE_OPTIONS} - {option.name for option in options_of(CrawlSpec)}


@takes_options(CrawlSpec)
@takes_options(
    ScrapeRequest,
    without={o.name for o in options_of(ScrapeRequest)} - _PAGE_FLAGS,
    flags={"includeTags": ("--include-tags",), "excludeTags": ("--exclude-tags",)},
)
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
    output: Output = None,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Crawl a site: on the server if one runs, else in this process until it is done."""
    require_one_of({"URL": url, "--attach": attach, "--cancel": cancel, "--list": list_})
    if not url:
        manage_jobs(JobKind.CRAWL, attach=attach, cancel=cancel, as_json=as_json, output=output)
    else:
        scope = options.get("scope", CrawlSpec(url=url).scope.kind.value)
        note = f"Scope: {_SCOPES.get(scope, scope)} (--scope {scope})"
        of_pages = {name: options.pop(name) for name in _PAGE_FLAGS & options.keys()}
        arguments = {"url": url, **options}
        if of_pages:
            arguments["scrapeOptions"] = parse_options(of_pages)
        start_job(
            JobKind.CRAWL,
            arguments,
            detach=detach,
            as_json=as_json,
            output=output,
            formats=_formats_of(of_pages),
            note=note,
        )


def _formats_of(options: Mapping[str, Any]) -> list[str]:  # Any: what the flags hold
    return [*options.get("formats", ()), *options.keys() & {"extractSchema"}]


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
    output: Output = None,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Scrape many URLs: on the server if one runs, else in this process until it is done."""
    require_one_of({"URLs": targets, "--attach": attach, "--cancel": cancel, "--list": list_})
    if not targets:
        manage_jobs(JobKind.BATCH, attach=attach, cancel=cancel, as_json=as_json, output=output)
    else:
        urls = read_targets(targets)
        arguments = {"formats": ["markdown"], **parse_options(options), "urls": urls}
        start_job(
            JobKind.BATCH,
            arguments,
            detach=detach,
            as_json=as_json,
            output=output,
            formats=_formats_of(options),
        )


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
