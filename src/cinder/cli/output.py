"""What commands print: text and files, job progress and summaries, JSON lines."""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from cinder.models.document import Json

if TYPE_CHECKING:
    from rich.progress import Progress


# What a terminal would obey rather than show; a page must not move anyone's cursor.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(_CONTROL_CHARACTERS.sub("\ufffd", text) if sys.stdout.isatty() else text)
    else:
        output.write_text(text + "\n")


def write_media(mime: str, data: bytes, output: Path | None) -> None:
    """Write a file's bytes to a file; without one, say what they are."""
    if output is None:
        print(f"{mime}, {len(data)} bytes. Use --output FILE to write it to a file.")
    else:
        output.write_bytes(data)


_ACTIVE_STATUSES = ("queued", "running", "scraping")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """How far a job has come."""

    id: str
    status: str
    found: int
    """Pages that belong to it, as far as is known by now."""
    fetched: int
    queued: int
    errors: int
    progress: float
    error: str | None = None
    ended_by: str | None = None
    """Why it is over: nothing was left to do, or one of its limits."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many URLs were left out, by the limit that did it."""
    pages: Sequence[Mapping[str, Json]] = field(default=())
    """Those that were asked for, in the order in which they were fetched."""
    has_more_pages: bool = False

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:  # Any: JSON
        """Return what the status of a crawl or a batch tells."""
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
        """Whether nothing more will be done."""
        return self.status not in _ACTIVE_STATUSES

    @property
    def is_completed(self) -> bool:
        """Whether it came to its end."""
        return self.status == "completed"

    def to_json(self) -> dict[str, Json]:
        """Return its figures as `--json` shows them."""
        shown: dict[str, Json] = {
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
            shown["endedBy"] = self.ended_by
        return shown | ({"error": self.error} if self.error else {})


SHOWN_ERRORS = 10

_LINE_SECONDS = 10
_URL_CHARS = 60


@dataclass(frozen=True, slots=True)
class JobSummary:
    """What is told of a job once it is over."""

    passed_over: Mapping[str, int] = field(default_factory=dict)
    """How many URLs of which kind a crawl did not take for pages; a list of URLs has none."""
    errors: Sequence[Mapping[str, Json]] = ()
    """The first pages that could not be had."""
    disallowed: int = 0
    """How many of those that could not be had robots.txt disallows."""


class JobDisplay(Protocol):
    """Shows a job to whoever watches it."""

    wants_every_page: bool

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was."""
        ...

    def show(self, view: JobView) -> None:
        """Show how far the job is now."""
        ...

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Show what became of it, and the first pages that failed."""
        ...


class JsonLines:
    """One JSON object a line: each page, and the figures when they change."""

    wants_every_page = True

    def __init__(self) -> None:
        self._last: dict[str, Json] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left behind."""

    def show(self, view: JobView) -> None:
        """Print the pages that are new, and the figures if they are."""
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


class PlainLines:
    """A line now and then, where no terminal can show a bar."""

    wants_every_page = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock() + _LINE_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left behind."""

    def show(self, view: JobView) -> None:
        """Print a line if the last one is a while ago."""
        if self._clock() >= self._next:
            self._next = self._clock() + _LINE_SECONDS
            print(progress_line(view), file=sys.stderr, flush=True)

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Print what became of the job."""
        print_summary(view, end)


class ProgressBar:
    """A bar that moves, with the pages a second and the page that was fetched last."""

    wants_every_page = False

    def __init__(self, terminal: TextIO | None = None) -> None:
        """Take the terminal to show it on; standard error by default."""
        self._progress = _make_bar(terminal or sys.stderr)
        self._task = self._progress.add_task("", total=None, figures="", url="")
        self._rate = PageRate()
        self._url = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop moving; the bar stays as it was last."""
        self._progress.stop()

    def show(self, view: JobView) -> None:
        """Move the bar."""
        self._rate.note(view.fetched)
        if view.pages:
            self._url = str(view.pages[-1]["url"])
        self._progress.update(
            self._task,
            total=100,
            completed=view.progress,
            figures=f"{pluralize(view.fetched, 'pages')}, {self._rate.per_second:.1f}/s, "
            f"{view.queued} queued, {pluralize(view.errors, 'errors')}",
            url=_shorten_url(self._url),
        )

    def conclude(self, view: JobView, end: JobSummary) -> None:
        """Print what became of the job beneath the bar."""
        self._progress.stop()
        print_summary(view, end)


class PageRate:
    """Pages a second, over the last while."""

    _SPAN_SECONDS = 10.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: list[tuple[float, int]] = []

    def note(self, pages: int) -> None:
        """Note how many pages there are by now."""
        now = self._clock()
        self._seen = [(at, n) for at, n in self._seen if at > now - self._SPAN_SECONDS]
        self._seen.append((now, pages))

    @property
    def per_second(self) -> float:
        """How many there were a second."""
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - began) if ended > began else 0.0


def make_display(*, as_json: bool) -> JobDisplay:
    """Return what fits the terminal and what was asked for."""
    if as_json:
        return JsonLines()
    return ProgressBar() if sys.stderr.isatty() else PlainLines()


def print_json(data: Mapping[str, Json]) -> None:
    """Print one line of JSON, at once: whoever reads it may be waiting."""
    print(json.dumps(data, ensure_ascii=False, separators=(",", ":")), flush=True)


def progress_line(view: JobView) -> str:
    """Return how far a job is, in one line."""
    return (
        f"{view.status}: {view.fetched} of {pluralize(view.found, 'pages')}, {view.queued} queued, "
        f"{pluralize(view.errors, 'errors')}"
    )


def pluralize(count: int, plural: str) -> str:
    """Return how many of something there are; one of them is told in the singular."""
    noun, *rest = plural.split(" ")
    return " ".join((str(count), noun.removesuffix("s") if count == 1 else noun, *rest))


def print_summary(view: JobView, end: JobSummary) -> None:
    """Print what became of a job, and the first pages that failed."""
    figures = {"pages fetched": view.fetched, **end.passed_over}
    if end.disallowed:
        figures["disallowed by robots.txt"] = end.disallowed
    figures["errors"] = view.errors - end.disallowed
    told = ", ".join(pluralize(count, noun) for noun, count in figures.items())
    print(f"{view.id} {view.status}: {told}", flush=True)
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


def _make_bar(terminal: TextIO) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[url]}", markup=False, style="dim"),
        console=Console(file=terminal),
    )


def _shorten_url(url: str) -> str:
    shown = replace_unprintable(url)
    return shown if len(shown) <= _URL_CHARS else f"{shown[:_URL_CHARS]}…"


def replace_unprintable(text: object) -> str:
    """Return text of a page without what a terminal would obey."""
    return "".join(character if character.isprintable() else "\ufffd" for character in str(text))
