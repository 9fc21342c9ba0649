"""Starting a job from the command line, watching it, leaving it and coming back to it."""

import asyncio
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass

import typer

from cinder.errors import CinderError
from cinder.model.document import Json
from cinder.model.job import Fate, JobKind
from cinder.surfaces.cli.job_desk import JobDesk, open_desk
from cinder.surfaces.cli.job_display import (
    SHOWN_ERRORS,
    Display,
    Ending,
    make_display,
    print_json,
    visible,
)
from cinder.surfaces.cli.job_view import JobView
from cinder.surfaces.errors import EXIT_FAILURE

# As shells say of what Ctrl-C ended.
EXIT_INTERRUPTED = 130

_PASSED_OVER = {"duplicates": Fate.DUPLICATE, "traps": Fate.TRAP}
_LOOK_SECONDS = 0.5
_PAGES_AT_ONCE = 100


@dataclass(slots=True)
class Watch:
    """What a command watches; the id is known once the job is started."""

    kind: JobKind
    as_json: bool
    job_id: str | None = None
    is_here: bool = False
    """Whether this process does the work."""


def start_job(kind: JobKind, given: Mapping[str, Json], *, detach: bool, as_json: bool) -> None:
    """Start a job and watch it to its end, or only start it."""
    watch = Watch(kind, as_json)
    _run(watch, _start(watch, given, detach=detach))


def attach_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Watch a job that was started before; where no server runs, go on with it here."""
    watch = Watch(kind, as_json, job_id)
    _run(watch, _attach(watch))


def cancel_job(kind: JobKind, job_id: str, *, as_json: bool) -> None:
    """Stop a job."""
    watch = Watch(kind, as_json, job_id)
    _run(watch, _cancel(watch))


def list_jobs(kind: JobKind, *, as_json: bool) -> None:
    """List the jobs that there are."""
    watch = Watch(kind, as_json)
    _run(watch, _list(watch))


def _run(watch: Watch, work: Coroutine[None, None, int]) -> None:
    """Run until the end, or until Ctrl-C or SIGTERM; exit as the work says."""
    try:
        code = asyncio.run(work)
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = _leave(watch)
    except CinderError as error:
        if watch.as_json:
            from cinder.surfaces.errors import describe_error

            print_json({"event": "failure", "error": describe_error(error)})
        raise
    if code:
        raise typer.Exit(code)


def _leave(watch: Watch) -> int:
    """Say how to come back to what was left; return the exit code."""
    if watch.job_id is None:
        print("Stopped before anything was started.", file=sys.stderr)
        return EXIT_INTERRUPTED
    come_back = f"cinder {watch.kind} --attach {watch.job_id}"
    if watch.is_here:
        print(f"Stopped. What was fetched is kept; `{come_back}` goes on.", file=sys.stderr)
        return EXIT_INTERRUPTED
    print(
        f"Detached. The server goes on; `{come_back}` watches again, "
        f"`cinder {watch.kind} --cancel {watch.job_id}` stops it.",
        file=sys.stderr,
    )
    return 0


async def _start(watch: Watch, given: Mapping[str, Json], *, detach: bool) -> int:
    _stop_when_terminated()
    async with open_desk(watch.kind, works=not detach) as (desk, why_here):
        answer = await desk.start(given)
        watch.job_id = answer["crawlId" if watch.kind is JobKind.CRAWL else "jobId"]
        watch.is_here = desk.is_here
        _tell_start(watch, answer, why_here, detach=detach)
        return 0 if detach else await _follow(desk, watch)


async def _attach(watch: Watch) -> int:
    _stop_when_terminated()
    async with open_desk(watch.kind, works=True) as (desk, why_here):
        watch.is_here = desk.is_here
        await desk.take_up(watch.job_id or "")
        if why_here and not watch.as_json:
            print(f"Going on in this process: {why_here}.", file=sys.stderr)
        return await _follow(desk, watch)


async def _cancel(watch: Watch) -> int:
    async with open_desk(watch.kind, works=False) as (desk, _):
        answer = await desk.cancel(watch.job_id or "")
    if watch.as_json:
        print_json(answer)
    else:
        print(answer["message"])
    return 0


async def _list(watch: Watch) -> int:
    async with open_desk(watch.kind, works=False) as (desk, _):
        jobs = await desk.list_jobs()
    for job in jobs:
        if watch.as_json:
            print_json(job)
        elif watch.kind is JobKind.CRAWL:
            figures = f"{job['status']:<9}  {job['createdAt']}  {job['pagesCrawled']:>6} pages"
            print(f"{job['crawlId']}  {figures}  {visible(job['url'])}")
        else:
            figures = f"{job['status']:<9}  {job['createdAt']}"
            print(f"{job['jobId']}  {figures}  {job['creditsUsed']} of {job['total']} URLs")
    if not jobs and not watch.as_json:
        print(f"There is no {watch.kind}.", file=sys.stderr)
    return 0


async def _follow(desk: JobDesk, watch: Watch) -> int:
    """Show a job until it is over; return the exit code."""
    job_id = watch.job_id or ""
    with make_display(as_json=watch.as_json) as display:
        view = await _watch(desk, job_id, display)
        display.conclude(view, await _ending(desk, watch, view))
    return 0 if view.is_completed else EXIT_FAILURE


async def _ending(desk: JobDesk, watch: Watch, view: JobView) -> Ending:
    is_crawl = watch.kind is JobKind.CRAWL
    fates = await desk.count_fates(view.id) if is_crawl or view.errors else {}
    return Ending(
        {noun: fates.get(fate, 0) for noun, fate in _PASSED_OVER.items()} if is_crawl else {},
        await desk.errors(view.id, limit=SHOWN_ERRORS) if view.errors else (),
        # The ledger is read later than the figures, and may have more by then.
        min(fates.get(Fate.DISALLOWED, 0), view.errors),
    )


async def _watch(desk: JobDesk, job_id: str, display: Display) -> JobView:
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
        await asyncio.sleep(_LOOK_SECONDS)


def _tell_start(watch: Watch, answer: Mapping[str, Json], why_here: str, *, detach: bool) -> None:
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
