"""Rendered scrapes: pages a CPU second and latency of cinder, of Crawl4AI and of a bare tab."""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from bench.contestant import PEERS_PYTHON, Contestant, ContestantFailed, run_contestant
from bench.cpu import tree_cpu_seconds
from bench.javascript_website import marker, run_javascript_website
from bench.runs import Goal, Table, report

BROWSER = Path("/usr/lib/chromium/chromium-headless-shell")
PAGES = 100
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


async def bench_render() -> None:
    for needed, remedy in (
        (BROWSER, "install Debian's chromium-headless-shell"),
        (PEERS_PYTHON, "`make bench` installs Crawl4AI"),
    ):
        if not needed.exists():
            print(f"rendered scrape: not measured, {needed} is missing: {remedy}")
            return
    async with run_javascript_website() as website, _run_contestants(website.address) as running:
        cpu, latency = await _run_rounds(running, website.address)
    title = f"rendered scrape of {PAGES} JavaScript pages"
    report(Table("render", title, "pages a CPU second", cpu, CPU_GOALS))
    title = f"latency of {PAGES} rendered scrapes"
    report(Table("render-latency", title, "pages a second, each alone", latency, LATENCY_GOALS))


@asynccontextmanager
async def _run_contestants(address: str) -> AsyncIterator[Sequence[Contestant]]:
    """Run all contestants until the exit, in the order of a round."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                run(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            )
            for run in (
                _run_floor,
                partial(_run_cinder, address),
                partial(_run_crawl4ai, CRAWL4AI_KEPT, "kept"),
                partial(_run_crawl4ai, CRAWL4AI, ""),
            )
        ]


def _run_cinder(address: str, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(CINDER, sys.executable, "bench.contestants.cinder", address, folder)


def _run_crawl4ai(name: str, session: str, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        name,
        str(PEERS_PYTHON),
        "bench.contestants.crawl4ai",
        *(str(BROWSER), folder, session),
        # Without it Crawl4AI writes into the home directory.
        CRAWL4_AI_BASE_DIRECTORY=folder,
        CRAWL4AI_NO_CLOUD_NOTICE="1",
    )


def _run_floor(folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(FLOOR, sys.executable, "bench.contestants.raw_cdp", str(BROWSER), folder)


async def _run_rounds(
    contestants: Sequence[Contestant], address: str
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the pages a CPU second of each contestant, and those a second."""
    for contestant in contestants:
        await _measure(contestant, address, range(PAGES, PAGES + WARM_UP_PAGES))
    used: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    waited: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    share = PAGES // ROUNDS
    for first in range(0, PAGES, share):
        for contestant in contestants:
            cpu, seconds = await _measure(contestant, address, range(first, first + share))
            used[contestant.name].append(cpu)
            waited[contestant.name] += seconds
    return _rates(used), _rates(waited)


def _rates(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: 1 / statistics.median(each) for name, each in seconds.items()}


async def _measure(
    contestant: Contestant, address: str, numbers: range
) -> tuple[float, Sequence[float]]:
    """Return the CPU seconds of a page, and how long each page took."""
    before = tree_cpu_seconds(contestant.process.pid)
    texts, seconds = await contestant.render(
        [f"http://{address}/page/{number}" for number in numbers]
    )
    # What a page leaves to be cleared away is part of its cost.
    await asyncio.sleep(SETTLE_SECONDS)
    used = tree_cpu_seconds(contestant.process.pid) - before
    for number, text in zip(numbers, texts, strict=True):
        if marker(number) not in text:
            raise ContestantFailed(f"{contestant.name} did not get the text of page {number}")
    return used / len(numbers), seconds
