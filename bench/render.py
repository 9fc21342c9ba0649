"""Rendered scrapes: pages a CPU second and latency of cinder, of Crawl4AI and of a bare tab."""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import app_website, javascript_website
from bench.app_website import run_app_website
from bench.contestant import PEERS_PYTHON, Contestant, ContestantFailed, run_contestant
from bench.cpu import tree_cpu_seconds
from bench.javascript_website import run_javascript_website
from bench.runs import Goal, Table, report
from bench.serving import Website

BROWSER = Path("/usr/lib/chromium/chromium-headless-shell")
ROUNDS = 5
WARM_UP_PAGES = 3
SETTLE_SECONDS = 1
FLOOR = "floor: raw CDP, one tab"
CINDER = "cinder"
CRAWL4AI = "Crawl4AI"
CRAWL4AI_KEPT = "Crawl4AI keeping one tab"
CPU_GOALS = (
    Goal(CINDER, FLOOR, 1 / 1.25),
    Goal(CINDER, CRAWL4AI_KEPT, 1 / 0.55),
    Goal(CINDER, CRAWL4AI),
)
LATENCY_GOALS = (Goal(CINDER, FLOOR, 1 / 2.5), Goal(CINDER, CRAWL4AI_KEPT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of a website: what is measured."""

    bench: str
    title: str
    website: Callable[[], AbstractAsyncContextManager[Website]]
    path_of: Callable[[int], str]
    marker: Callable[[int], str]
    """Words of a page's text."""
    selector: str
    """An element that is there once the text is."""
    number: int


SYNTHETIC = Pages(
    bench="render",
    title="JavaScript pages",
    website=run_javascript_website,
    path_of=javascript_website.path_of,
    marker=javascript_website.marker,
    selector="article",
    number=100,
)
APP = Pages(
    bench="render-app",
    title="pages of a Vue application",
    website=run_app_website,
    path_of=app_website.path_of,
    marker=app_website.marker,
    selector="main p",
    number=60,
)


async def bench_render() -> None:
    for needed, remedy in (
        (BROWSER, "install Debian's chromium-headless-shell"),
        (PEERS_PYTHON, "`make bench` installs Crawl4AI"),
    ):
        if not needed.exists():
            print(f"rendered scrape: not measured, {needed} is missing: {remedy}")
            return
    for pages in (SYNTHETIC, APP):
        await _bench(pages)


async def _bench(pages: Pages) -> None:
    async with (
        pages.website() as website,
        _run_contestants(_runs(pages, website.address)) as running,
    ):
        cpu, latency = await _run_rounds(pages, running, website.address)
    title = f"rendered scrapes of {pages.number} {pages.title}"
    report(Table(pages.bench, title, "pages a CPU second", cpu, CPU_GOALS))
    title = f"latency of the same {pages.title}"
    name = f"{pages.bench}-latency"
    report(Table(name, title, "pages a second, one after the other", latency, LATENCY_GOALS))


async def compare_with_floor(rounds: int, share: int) -> AsyncIterator[tuple[float, float]]:
    """Yield the CPU seconds that a page takes cinder, and the floor, for each round."""
    pages = SYNTHETIC
    async with pages.website() as website:
        runs = _runs(pages, website.address)[:2]
        async with _run_contestants(runs) as (floor, cinder):
            for first in range(0, (rounds + 1) * share, share):
                numbers = range(first, first + share)
                bare, _ = await _measure(pages, floor, website.address, numbers)
                used, _ = await _measure(pages, cinder, website.address, numbers)
                if first:  # the first round warms up
                    yield used, bare


Run = Callable[[str], AbstractAsyncContextManager[Contestant]]


def _runs(pages: Pages, address: str) -> Sequence[Run]:
    """Return what runs each contestant in a folder, in the order of a round."""
    return (
        partial(_run_floor, pages.selector),
        partial(_run_cinder, address),
        partial(_run_crawl4ai, CRAWL4AI_KEPT, "kept", pages.selector),
        partial(_run_crawl4ai, CRAWL4AI, "", pages.selector),
    )


@asynccontextmanager
async def _run_contestants(runs: Sequence[Run]) -> AsyncIterator[Sequence[Contestant]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                run(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            )
            for run in runs
        ]


def _run_cinder(address: str, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(CINDER, sys.executable, "bench.contestants.cinder", address, folder)


def _run_crawl4ai(
    name: str, session: str, selector: str, folder: str
) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        name,
        str(PEERS_PYTHON),
        "bench.contestants.crawl4ai",
        *(str(BROWSER), folder, session, selector),
        # Without it Crawl4AI writes into the home directory.
        CRAWL4_AI_BASE_DIRECTORY=folder,
        CRAWL4AI_NO_CLOUD_NOTICE="1",
    )


def _run_floor(selector: str, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        FLOOR, sys.executable, "bench.contestants.raw_cdp", str(BROWSER), folder, selector
    )


async def _run_rounds(
    pages: Pages, contestants: Sequence[Contestant], address: str
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the pages a CPU second of each contestant, and those a second."""
    for contestant in contestants:
        warm_up = range(pages.number, pages.number + WARM_UP_PAGES)
        await _measure(pages, contestant, address, warm_up)
    used: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    waited: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    share = pages.number // ROUNDS
    for first in range(0, pages.number, share):
        for contestant in contestants:
            numbers = range(first, first + share)
            cpu, seconds = await _measure(pages, contestant, address, numbers)
            used[contestant.name].append(cpu)
            waited[contestant.name] += seconds
    return _rates(used), _rates(waited)


def _rates(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: 1 / statistics.median(each) for name, each in seconds.items()}


async def _measure(
    pages: Pages, contestant: Contestant, address: str, numbers: range
) -> tuple[float, Sequence[float]]:
    """Return the CPU seconds of a page, and how long each page took."""
    before = tree_cpu_seconds(contestant.process.pid)
    urls = [f"http://{address}{pages.path_of(number)}" for number in numbers]
    texts, seconds = await contestant.render(urls)
    # What a page leaves to be cleared away is part of its cost.
    await asyncio.sleep(SETTLE_SECONDS)
    used = tree_cpu_seconds(contestant.process.pid) - before
    for number, text in zip(numbers, texts, strict=True):
        if pages.marker(number) not in text:
            raise ContestantFailed(f"{contestant.name} did not get the text of page {number}")
    return used / len(numbers), seconds
