"""What of a job is shown while it is watched: a live bar, plain lines, or lines of JSON."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from cinder.model.document import Json
from cinder.surfaces.cli.job_view import JobView

if TYPE_CHECKING:
    from rich.progress import Progress

SHOWN_ERRORS = 10

_LINE_SECONDS = 10
_URL_CHARS = 60


@dataclass(frozen=True, slots=True)
class Ending:
    """What is told of a job once it is over."""

    passed_over: Mapping[str, int] = field(default_factory=dict)
    """How many URLs of which kind a crawl did not take for pages; a list of URLs has none."""
    errors: Sequence[Mapping[str, Json]] = ()
    """The first pages that could not be had."""
    disallowed: int = 0
    """How many of those that could not be had robots.txt disallows."""


class Display(Protocol):
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

    def conclude(self, view: JobView, end: Ending) -> None:
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

    def conclude(self, view: JobView, end: Ending) -> None:
        """Print the first failures and the last figures."""
        for error in end.errors:
            print_json({"event": "error", **error})
        print_json({"event": "end", **view.to_json(), **end.passed_over})


class Lines:
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
            print(figures_line(view), file=sys.stderr, flush=True)

    def conclude(self, view: JobView, end: Ending) -> None:
        """Print what became of the job."""
        print_summary(view, end)


class Bar:
    """A bar that moves, with the pages a second and the page that was fetched last."""

    wants_every_page = False

    def __init__(self, terminal: TextIO | None = None) -> None:
        """Take the terminal to show it on; standard error by default."""
        self._progress = _make_bar(terminal or sys.stderr)
        self._task = self._progress.add_task("", total=None, figures="", url="")
        self._rate = Rate()
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
            figures=f"{counted(view.fetched, 'pages')}, {self._rate.per_second:.1f}/s, "
            f"{view.queued} queued, {counted(view.errors, 'errors')}",
            url=_shortened(self._url),
        )

    def conclude(self, view: JobView, end: Ending) -> None:
        """Print what became of the job beneath the bar."""
        self._progress.stop()
        print_summary(view, end)


class Rate:
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


def make_display(*, as_json: bool) -> Display:
    """Return what fits the terminal and what was asked for."""
    if as_json:
        return JsonLines()
    return Bar() if sys.stderr.isatty() else Lines()


def print_json(data: Mapping[str, Json]) -> None:
    """Print one line of JSON, at once: whoever reads it may be waiting."""
    print(json.dumps(data, ensure_ascii=False, separators=(",", ":")), flush=True)


def figures_line(view: JobView) -> str:
    """Return how far a job is, in one line."""
    return (
        f"{view.status}: {view.fetched} of {counted(view.found, 'pages')}, {view.queued} queued, "
        f"{counted(view.errors, 'errors')}"
    )


def counted(count: int, plural: str) -> str:
    """Return how many of something there are; one of them is told in the singular."""
    noun, *rest = plural.split(" ")
    return " ".join((str(count), noun.removesuffix("s") if count == 1 else noun, *rest))


def print_summary(view: JobView, end: Ending) -> None:
    """Print what became of a job, and the first pages that failed."""
    figures = {"pages fetched": view.fetched, **end.passed_over}
    if end.disallowed:
        figures["disallowed by robots.txt"] = end.disallowed
    figures["errors"] = view.errors - end.disallowed
    told = ", ".join(counted(count, noun) for noun, count in figures.items())
    print(f"{view.id} {view.status}: {told}", flush=True)
    if limits := ", ".join(f"{counted(n, 'URLs')} by {by}" for by, n in view.left_out.items()):
        print(f"Ended by {view.ended_by}. Left out: {limits}", flush=True)
    if view.error:
        print(f"What went wrong: {visible(view.error)}", file=sys.stderr)
    for error in end.errors:
        print(f"  {visible(error.get('url'))}  {visible(error.get('error'))}", file=sys.stderr)
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


def _shortened(url: str) -> str:
    shown = visible(url)
    return shown if len(shown) <= _URL_CHARS else f"{shown[:_URL_CHARS]}…"


def visible(text: object) -> str:
    """Return text of a page without what a terminal would obey."""
    return "".join(character if character.isprintable() else "\ufffd" for character in str(text))
