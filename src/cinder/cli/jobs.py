"""`cinder crawl` and `cinder batch`: jobs started, watched, resumed, listed and cancelled."""

import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cinder.api.errors import EXIT_FAILURE
from cinder.cli.backends import JobClient, open_job_client
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
from cinder.errors import CinderError, FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.job import JobKind, PageStatus
from cinder.models.request import ScrapeRequest
from cinder.services.jobs.specs import CrawlSpec

# As shells say of what Ctrl-C ended.
EXIT_INTERRUPTED = 130

_SKIPPED = {"duplicates": PageStatus.DUPLICATE, "traps": PageStatus.TRAP}
_POLL_SECONDS = 0.5
_PAGES_AT_ONCE = 100


@dataclass(slots=True)
class WatchedJob:
    """What a command watches; the id is known once the job is started."""

    kind: JobKind
    as_json: bool
    job_id: str | None = None
    is_local: bool = False
    """Whether this process does the work."""


def start_job(kind: JobKind, given: Mapping[str, Json], *, detach: bool, as_json: bool) -> None:
    """Start a job and watch it to its end, or only start it."""
    watch = WatchedJob(kind, as_json)
    _run(watch, _start(watch, given, detach=detach))


def attach_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Watch a job that was started before; where no server runs, go on with it here."""
    watch = WatchedJob(kind, as_json, job_id)
    _run(watch, _attach(watch))


def cancel_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Stop a job."""
    watch = WatchedJob(kind, as_json, job_id)
    _run(watch, _cancel(watch))


def list_jobs(kind: JobKind, *, as_json: bool) -> None:
    """List the jobs that there are."""
    watch = WatchedJob(kind, as_json)
    _run(watch, _list(watch))


def _run(watch: WatchedJob, work: Coroutine[None, None, int]) -> None:
    """Run until the end, or until Ctrl-C or SIGTERM; exit as the work says."""
    try:
        code = asyncio.run(work)
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = _detach(watch)
    except CinderError as error:
        if watch.as_json:
            from cinder.api.errors import describe_error

            print_json({"event": "failure", "error": describe_error(error)})
        raise
    if code:
        raise typer.Exit(code)


def _detach(watch: WatchedJob) -> int:
    """Say how to come back to what was left; return the exit code."""
    if watch.job_id is None:
        print("Stopped before anything was started.", file=sys.stderr)
        return EXIT_INTERRUPTED
    come_back = f"cinder {watch.kind} --attach {watch.job_id}"
    if watch.is_local:
        print(f"Stopped. What was fetched is kept; `{come_back}` goes on.", file=sys.stderr)
        return EXIT_INTERRUPTED
    print(
        f"Detached. The server goes on; `{come_back}` watches again, "
        f"`cinder {watch.kind} --cancel {watch.job_id}` stops it.",
        file=sys.stderr,
    )
    return 0


async def _start(watch: WatchedJob, given: Mapping[str, Json], *, detach: bool) -> int:
    _stop_when_terminated()
    async with open_job_client(watch.kind, works=not detach) as (desk, why_here):
        answer = await desk.start(given)
        watch.job_id = answer["crawlId" if watch.kind is JobKind.CRAWL else "jobId"]
        watch.is_local = desk.is_local
        _print_start(watch, answer, why_here, detach=detach)
        return 0 if detach else await _follow(desk, watch)


async def _attach(watch: WatchedJob) -> int:
    _stop_when_terminated()
    async with open_job_client(watch.kind, works=True) as (desk, why_here):
        watch.is_local = desk.is_local
        await desk.take_up(watch.job_id or "")
        if why_here and not watch.as_json:
            print(f"Going on in this process: {why_here}.", file=sys.stderr)
        return await _follow(desk, watch)


async def _cancel(watch: WatchedJob) -> int:
    async with open_job_client(watch.kind, works=False) as (desk, _):
        answer = await desk.cancel(watch.job_id or "")
    if watch.as_json:
        print_json(answer)
    else:
        print(answer["message"])
    return 0


async def _list(watch: WatchedJob) -> int:
    async with open_job_client(watch.kind, works=False) as (desk, _):
        jobs = await desk.list_jobs()
    for job in jobs:
        if watch.as_json:
            print_json(job)
        elif watch.kind is JobKind.CRAWL:
            figures = f"{job['status']:<9}  {job['createdAt']}  {job['pagesCrawled']:>6} pages"
            print(f"{job['crawlId']}  {figures}  {replace_unprintable(job['url'])}")
        else:
            figures = f"{job['status']:<9}  {job['createdAt']}"
            print(f"{job['jobId']}  {figures}  {job['creditsUsed']} of {job['total']} URLs")
    if not jobs and not watch.as_json:
        print(f"There is no {watch.kind}.", file=sys.stderr)
    return 0


async def _follow(desk: JobClient, watch: WatchedJob) -> int:
    """Show a job until it is over; return the exit code."""
    job_id = watch.job_id or ""
    with make_display(as_json=watch.as_json) as display:
        view = await _poll_until_over(desk, job_id, display)
        display.conclude(view, await _summarize(desk, watch, view))
    return 0 if view.is_completed else EXIT_FAILURE


async def _summarize(desk: JobClient, watch: WatchedJob, view: JobView) -> JobSummary:
    is_crawl = watch.kind is JobKind.CRAWL
    fates = await desk.count_page_statuses(view.id) if is_crawl or view.errors else {}
    return JobSummary(
        {noun: fates.get(fate, 0) for noun, fate in _SKIPPED.items()} if is_crawl else {},
        await desk.errors(view.id, limit=SHOWN_ERRORS) if view.errors else (),
        # The ledger is read later than the figures, and may have more by then.
        min(fates.get(PageStatus.DISALLOWED, 0), view.errors),
    )


async def _poll_until_over(desk: JobClient, job_id: str, display: JobDisplay) -> JobView:
    seen = 0
    while True:
        answer = await desk.status(job_id, offset=seen, limit=_PAGES_AT_ONCE)
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


def _print_start(
    watch: WatchedJob, answer: Mapping[str, Json], why_here: str, *, detach: bool
) -> None:
    if watch.as_json:
        print_json({"event": "started", **answer})
    elif detach:
        print(watch.job_id)
    else:
        print(f"Started {watch.job_id}", file=sys.stderr)
    for name in ("duplicates", "invalidUrls"):
        count = answer.get(name)
        count = len(count) if isinstance(count, list) else count
        if count and not watch.as_json:
            words = "given more than once" if name == "duplicates" else "not valid"
            print(f"URLs that are {words}: {count}", file=sys.stderr)
    if why_here and detach:
        print(
            f"It waits until a server or a worker runs on this database: {why_here}. "
            f"`cinder {watch.kind} --attach {watch.job_id}` works on it in its own process.",
            file=sys.stderr,
        )
    elif why_here and not watch.as_json:
        print(f"Working in this process: {why_here}.", file=sys.stderr)


def _stop_when_terminated() -> None:
    """End the way Ctrl-C does, and give back what is under way."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@takes_options(CrawlSpec)
def crawl(
    url: Annotated[
        str | None, typer.Argument(help="Where to start; https:// may be left out.")
    ] = None,
    *,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it, print its id, and do not watch.")
    ] = False,
    attach: Annotated[str | None, typer.Option(help="Watch the crawl of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the crawl of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the crawls.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print lines of JSON: each page, the figures, the end.")
    ] = False,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Crawl a site: on the server if one runs, else in this process until it is done."""
    require_one_of({"URL": url, "--attach": attach, "--cancel": cancel, "--list": list_})
    if list_:
        list_jobs(JobKind.CRAWL, as_json=as_json)
    elif cancel is not None:
        cancel_job(JobKind.CRAWL, cancel, as_json=as_json)
    elif attach is not None:
        attach_job(JobKind.CRAWL, attach, as_json=as_json)
    else:
        start_job(JobKind.CRAWL, {"url": url, **options}, detach=detach, as_json=as_json)


def require_one_of(choices: dict[str, object]) -> None:
    """Check that exactly one of the things a command can do is asked for.

    Raises:
        InvalidRequest: it is none of them, or several.
    """
    given = [name for name, value in choices.items() if value]
    if len(given) != 1:
        names = ", ".join(choices)
        received = " and ".join(given) or "none"
        problem = FieldProblem("(command)", f"Give one of {names}; received {received}")
        raise InvalidRequest(problems=(problem,))


# How files that list URLs are named, and hardly a website.
_LIST_SUFFIXES = (".txt", ".csv", ".list", ".urls")


@takes_options(ScrapeRequest)
def batch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL|FILE|-", help="Pages, or files that list them line by line; - is stdin."
        ),
    ] = None,
    *,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it, print its id, and do not watch.")
    ] = False,
    attach: Annotated[str | None, typer.Option(help="Watch the batch of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the batch of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the batches.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print lines of JSON: each page, the figures, the end.")
    ] = False,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Scrape many URLs: on the server if one runs, else in this process until it is done."""
    require_one_of({"URLs": targets, "--attach": attach, "--cancel": cancel, "--list": list_})
    if list_:
        list_jobs(JobKind.BATCH, as_json=as_json)
    elif cancel is not None:
        cancel_job(JobKind.BATCH, cancel, as_json=as_json)
    elif attach is not None:
        attach_job(JobKind.BATCH, attach, as_json=as_json)
    else:
        arguments = {
            "formats": ["markdown"],
            **parse_options(options),
            "urls": read_targets(targets or []),
        }
        start_job(JobKind.BATCH, arguments, detach=detach, as_json=as_json)


def read_targets(targets: list[str]) -> list[str]:
    """Return the URLs that are named, and those that the named files list.

    Raises:
        InvalidRequest: what is named like a list is no file.
    """
    return [url for target in targets for url in _read_target(target)]


def _read_target(target: str) -> list[str]:
    if target == "-":
        return _split_urls(sys.stdin.read())
    if "://" in target:
        return [target]
    if Path(target).is_file():
        return _split_urls(Path(target).read_text())
    if target.lower().endswith(_LIST_SUFFIXES):
        message = f"There is no file {target}; write https://{target} if you mean a website"
        raise InvalidRequest(problems=(FieldProblem("FILE", message),))
    return [target]


def _split_urls(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
