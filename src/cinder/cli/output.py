"""What commands print: text and files, job progress and summaries, JSON lines."""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from cinder.models.document import Json

SHOWN_ERRORS = 10

_LINE_SECONDS = 10
_URL_CHARS = 60
_WIDE_COLUMNS = 100
_ACTIVE_STATUSES = ("queued", "running", "scraping")

# Characters that control a terminal: a page must not move the reader's cursor.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(_CONTROL_CHARACTERS.sub("\ufffd", text) if sys.stdout.isatty() else text)
    else:
        output.write_text(text + "\n")


def show_status(message: str) -> AbstractContextManager[object]:
    """Return a context that shows a message on the terminal; nothing where there is none."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    console = Console(stderr=True)
    # Beside the spinner, and on one line.
    room = console.width - 3
    return console.status(message if len(message) <= room else f"{message[: room - 1]}…")


def write_media(mime: str, data: bytes, output: Path | None) -> None:
    """Write bytes to a file; without one, print their type and size."""
    if output is None:
        print(f"{mime}, {len(data)} bytes. Use --output FILE to write it to a file.")
    else:
        output.write_bytes(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """The progress of a job."""

    id: str
    status: str
    found: int
    """The pages found so far."""
    fetched: int
    queued: int
    errors: int
    progress: float
    error: str | None = None
    ended_by: str | None = None
    """Why it ended: nothing was left to do, or one of its limits was reached."""
    left_out: "Mapping[str, int]" = field(default_factory=dict)
    """The number of URLs that were left out, by limit."""
    pages: "Sequence[Mapping[str, Json]]" = field(default=())
    """The requested pages, in the order in which they were fetched."""
    has_more_pages: bool = False

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:  # Any: JSON
        """Return the view of a crawl's or a batch's status."""
        is_crawl = "crawlId" in answer
        return cls(
            id=answer["crawlId" if is_crawl else "jobId"],
            status=answer["status"],
            found=answer["pagesFound" if is_crawl else "total"],
            fetched=answer["pagesCrawled" if is_crawl else "creditsUsed"],
            queued=answer["queued"],
            errors=answer["errorCount"],
            progress=answer["progress"],
            error=answer.get("error") or answer.get("warning"),
            ended_by=answer.get("endedBy"),
            left_out=answer.get("leftOut", {}),
            pages=answer["pages"],
            has_more_pages=answer["hasMore"],
        )

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.status not in _ACTIVE_STATUSES

    @property
    def is_completed(self) -> bool:
        """Whether it ended successfully."""
        return self.status == "completed"

    def to_json(self) -> "dict[str, Json]":
        """Return the figures as `--json` shows them."""
        figures: dict[str, Json] = {
            "id": self.id,
            "status": self.status,
            "found": self.found,
            "fetched": self.fetched,
            "queued": self.queued,
            "errors": self.errors,
            "progress": self.progress,
            "leftOut": dict(self.left_out),
        }
        if self.ended_by:
            figures["endedBy"] = self.ended_by
        return figures | ({"error": self.error} if self.error else {})


@dataclass(frozen=True, slots=True)
class JobSummary:
    """The summary of a job that is over."""

    passed_over: Mapping[str, int] = field(default_factory=dict)
    """The number of URLs that a crawl skipped, by kind; empty for a batch."""
    errors: "Sequence[Mapping[str, Json]]" = ()
    """The first pages that failed."""
    disallowed: int = 0
    """How many of the failed pages robots.txt disallows."""


class JobDisplay:
    """Shows the progress of a job, and its summary."""

    wants_every_page = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""

    def show(self, view: JobView) -> None:
        """Show the current progress."""
        raise NotImplementedError

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Show the summary, and the first pages that failed."""
        print_summary(view, end)


class JsonLines(JobDisplay):
    """One JSON object a line: each page, and the figures when they change."""

    wants_every_page = True

    def __init__(self) -> None:
        self._last: dict[str, Json] = {}

    def show(self, view: JobView) -> None:
        """Print the new pages, and the figures if they changed."""
        for page in view.pages:
            print_json({"event": "page", **page})
        if not view.is_over and (figures := view.to_json()) != self._last:
            self._last = figures
            print_json({"event": "progress", **figures})

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Print the first failures and the last figures."""
        for error in end.errors:
            print_json({"event": "error", **error})
        print_json({"event": "end", **view.to_json(), **end.passed_over})


class PlainLines(JobDisplay):
    """A line every few seconds, where no terminal can show a bar."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock() + _LINE_SECONDS

    def show(self, view: JobView) -> None:
        """Print a line if the last one is old enough."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + _LINE_SECONDS
        pages, errors = pluralize(view.found, "pages"), pluralize(view.errors, "errors")
        line = f"{view.status}: {view.fetched} of {pages}, {view.queued} queued, {errors}"
        print(line, file=sys.stderr, flush=True)


class ProgressBar(JobDisplay):
    """A progress bar, with the pages per second and the last fetched page."""

    def __init__(self, terminal: TextIO | None = None) -> None:
        """Take the terminal to show it on; standard error by default."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        console = Console(file=terminal or sys.stderr)
        # The URL has what the others leave: a line that wraps is not overwritten by the next.
        self._progress = Progress(
            BarColumn(bar_width=24 if console.width >= _WIDE_COLUMNS else 10),
            TextColumn("{task.fields[figures]}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
            TextColumn(
                "{task.fields[url]}",
                markup=False,
                style="dim",
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=console,
            expand=True,
        )
        self._task = self._progress.add_task("", total=None, figures="", url="")
        self._rate = PageRate()
        self._url = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the bar, which stays visible."""
        self._progress.stop()

    def show(self, view: JobView) -> None:
        """Update the bar."""
        self._rate.note(view.fetched)
        if view.pages:
            url = replace_unprintable(view.pages[-1]["url"])
            self._url = url if len(url) <= _URL_CHARS else f"{url[:_URL_CHARS]}…"
        self._progress.update(
            self._task,
            total=100,
            completed=view.progress,
            figures=f"{pluralize(view.fetched, 'pages')}, {self._rate.per_second:.1f}/s, "
            f"{view.queued} queued, {pluralize(view.errors, 'errors')}",
            url=self._url,
        )

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Print the summary under the bar."""
        self._progress.stop()
        print_summary(view, end)


class PageRate:
    """The pages per second, over the last seconds."""

    _SPAN_SECONDS = 10.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: list[tuple[float, int]] = []

    def note(self, pages: int) -> None:
        """Note the current number of pages."""
        now = self._clock()
        self._seen = [(at, n) for at, n in self._seen if at > now - self._SPAN_SECONDS]
        self._seen.append((now, pages))

    @property
    def per_second(self) -> float:
        """The rate."""
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - began) if ended > began else 0.0


def make_display(*, as_json: bool) -> JobDisplay:
    """Return the display for the terminal, or for `--json`."""
    if as_json:
        return JsonLines()
    return ProgressBar() if sys.stderr.isatty() else PlainLines()


def print_json(data: "Mapping[str, Json]") -> None:
    """Print one line of JSON, and flush it: another program may be waiting for it."""
    print(json.dumps(data, ensure_ascii=False, separators=(",", ":")), flush=True)


def pluralize(count: int, plural: str) -> str:
    """Return a count with its noun, in the singular for 1."""
    noun, *rest = plural.split(" ")
    return " ".join((str(count), noun.removesuffix("s") if count == 1 else noun, *rest))


def print_summary(view: JobView, end: JobSummary) -> None:
    """Print the summary of a job, and the first pages that failed."""
    figures = {"pages fetched": view.fetched, **end.passed_over}
    if end.disallowed:
        figures["disallowed by robots.txt"] = end.disallowed
    figures["errors"] = view.errors - end.disallowed
    counts = ", ".join(pluralize(count, noun) for noun, count in figures.items())
    print(f"{view.id} {view.status}: {counts}", flush=True)
    if limits := ", ".join(f"{pluralize(n, 'URLs')} by {by}" for by, n in view.left_out.items()):
        print(f"Ended by {view.ended_by}. Left out: {limits}", flush=True)
    if view.error:
        print(f"What went wrong: {replace_unprintable(view.error)}", file=sys.stderr)
    for error in end.errors:
        print(
            f"  {replace_unprintable(error.get('url'))}  {replace_unprintable(error.get('error'))}",
            file=sys.stderr,
        )
    if (rest := view.errors - len(end.errors)) > 0:
        print(f"  and {rest} more", file=sys.stderr)


def replace_unprintable(text: object) -> str:
    """Return a page's text without characters that control a terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in str(text))
