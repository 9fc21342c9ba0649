"""The renders of a soak, and whether each went as it should."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle

import psutil

from cinder.app.composition import App
from cinder.errors import CinderError
from cinder.models.request import CachePolicy, Mode, RenderOptions, ScrapeRequest
from cinder.models.url import parse_web_url
from tests.site import Site
from tests.soak.footprint import (
    Footprint,
    growth_error,
    growth_per_page,
    take_footprint,
)

MEBIBYTE = 1024 * 1024
HOSTILE_EVERY = 10
# Pages of the website, the URL that crashes browsers, and a page whose renderer is killed.
CRASH_URL, KILLED = "chrome://crash", "killed"
HOSTILE = ("endless", "popups", "alerts", CRASH_URL, KILLED, "huge-string", "buffers")
# After so many pages the same ones come again.
_ROUND_PAGES = HOSTILE_EVERY * len(HOSTILE)
_HOSTILE_TIMEOUT_MS = 3_000
_CLEARING_SECONDS = 15
_TIMEOUT_MS = 30_000

Report = Callable[[str], None]


@dataclass(slots=True)
class Soak:
    """What came of a soak."""

    pages: int = 0
    failures: list[str] = field(default_factory=list)
    hostile: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[int, Footprint]] = field(default_factory=list)

    def growth_bytes_per_100_pages(self, warm_up: int, *, own: bool = False) -> float:
        """Return how much memory grew after the first pages; `own` leaves the browsers out."""
        return 100 * growth_per_page(self._memory(warm_up, own=own), _ROUND_PAGES)

    def error_bytes_per_100_pages(self, warm_up: int, *, own: bool = False) -> float:
        """Return how far chance alone may move that figure."""
        return 100 * growth_error(self._memory(warm_up, own=own), _ROUND_PAGES)

    def _memory(self, warm_up: int, *, own: bool) -> list[tuple[int, int]]:
        return [
            (page, taken.own_bytes if own else taken.memory_bytes)
            for page, taken in self.samples
            if page > warm_up
        ]


class Renders:
    """Renders pages of the website with an open cinder, one after another."""

    def __init__(self, app: App, site: Site) -> None:
        self._app = app
        self._site = site

    async def run(self, pages: int, report: Report, *, hostile_every: int = HOSTILE_EVERY) -> Soak:
        soak, kinds = Soak(), cycle(HOSTILE)
        for number in range(1, pages + 1):
            if number % hostile_every == 0:
                kind = next(kinds)
                soak.hostile[f"{kind}: {await self._render_hostile(kind)}"] += 1
            elif failure := await self._render(number):
                soak.failures.append(f"page {number}: {failure}")
                report(soak.failures[-1])
            await self._wait_until_cleared()
            soak.samples.append((number, take_footprint()))
            soak.pages = number
            if number % 25 == 0:
                report(_line(*soak.samples[-1]))
        return soak

    async def _wait_until_cleared(self) -> None:
        """Wait until what the page left has been cleared away."""
        labels = {"profile": "default", "state": "busy"}
        registry = self._app.metrics.registry
        async with asyncio.timeout(_CLEARING_SECONDS):
            # Nothing tells when: the metrics are what there is to see from outside.
            while registry.get_sample_value("cinder_browser_pool", labels):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def _render(self, number: int) -> str | None:
        """Render an ordinary page; return what is wrong with it."""
        try:
            text = await self._scrape(f"/numbered?n={number}", _TIMEOUT_MS)
        except CinderError as error:
            return f"{error.code}: {error.message}"
        return None if f"Ember {number}" in text else f"not its text: {text[:80]!r}"

    async def _render_hostile(self, kind: str) -> str:
        """Render a page that means harm; return how that ended."""
        try:
            if kind == CRASH_URL:
                parse_web_url(CRASH_URL)
            elif kind == KILLED:
                await self._render_killed()
            else:
                await self._scrape(f"/{kind}", _HOSTILE_TIMEOUT_MS)
        except CinderError as error:
            return error.code
        except ValueError:
            return "refused"
        return "rendered"

    async def _render_killed(self) -> None:
        """Kill the process that shows a page as soon as there is one."""
        async with asyncio.TaskGroup() as tasks:
            render = tasks.create_task(_outcome(self._scrape("/endless", _HOSTILE_TIMEOUT_MS)))
            while not render.done():
                for process in psutil.Process().children(recursive=True):
                    if "--type=renderer" in _arguments(process):
                        process.send_signal(signal.SIGKILL)
                await asyncio.sleep(0.2)
        if error := render.result():
            raise error

    async def _scrape(self, path: str, timeout_ms: int) -> str:
        request = ScrapeRequest(
            url=self._site.url(path),
            timeout_ms=timeout_ms,
            cache=CachePolicy(force_rescrape=True),
            render=RenderOptions(mode=Mode.DYNAMIC),
        )
        outcome = await self._app.scrape.scrape(request)
        return outcome.document.content.markdown or ""


async def _outcome(scraping: Awaitable[str]) -> CinderError | None:
    try:
        await scraping
    except CinderError as error:
        return error
    return None


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _line(page: int, taken: Footprint) -> str:
    return (
        f"{page:5} pages  {taken.processes:3} processes  {taken.files:3} files  "
        f"cinder {taken.own_bytes / MEBIBYTE:6.1f} MiB  "
        f"browsers {taken.browsers_bytes / MEBIBYTE:6.1f} MiB"
    )
