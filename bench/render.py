"""Rendered scrapes: CPU seconds a page of cinder, of Crawl4AI and of a bare tab."""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from bench.contestant import PEERS_PYTHON, Contestant, ContestantFailed, run_contestant
from bench.cpu import tree_cpu_seconds
from bench.javascript_website import marker, run_javascript_website

BROWSER = Path("/usr/lib/chromium/chromium-headless-shell")
PAGES = 100
ROUNDS = 5
WARM_UP_PAGES = 3
SETTLE_SECONDS = 1
BAR_RATIO = 0.75
AIM_RATIO = 0.5


async def bench_render() -> None:
    for needed, remedy in (
        (BROWSER, "install Debian's chromium-headless-shell"),
        (PEERS_PYTHON, "`make bench` installs Crawl4AI"),
    ):
        if not needed.exists():
            print(f"rendered scrape: not measured, {needed} is missing: {remedy}")
            return
    async with run_javascript_website() as website, _run_contestants(website.address) as running:
        rounds = await _run_rounds(running, website.address)
    cinder, crawl4ai, session, floor = map(statistics.median, zip(*rounds, strict=True))
    print(
        f"rendered scrape, {PAGES} JavaScript pages: {cinder:.3f} CPU s a page, Crawl4AI "
        f"{crawl4ai:.3f}, ratio {cinder / crawl4ai:.2f} (bar {BAR_RATIO}, aim {AIM_RATIO}); "
        f"Crawl4AI keeping one tab {session:.3f}, ratio {cinder / session:.2f}; "
        f"raw CDP floor {floor:.3f}, ratio {cinder / floor:.1f}"
    )


@asynccontextmanager
async def _run_contestants(address: str) -> AsyncIterator[Sequence[Contestant]]:
    """Run cinder, Crawl4AI, Crawl4AI keeping one tab, and the floor, until the exit."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                run(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            )
            for run in (
                partial(_run_cinder, address),
                _run_crawl4ai,
                partial(_run_crawl4ai, session="kept"),
                _run_floor,
            )
        ]


def _run_cinder(address: str, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant("cinder", sys.executable, "bench.contestants.cinder", address, folder)


def _run_crawl4ai(folder: str, session: str = "") -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        "Crawl4AI",
        str(PEERS_PYTHON),
        "bench.contestants.crawl4ai",
        *(str(BROWSER), folder, session),
        # Without it Crawl4AI writes into the home directory.
        CRAWL4_AI_BASE_DIRECTORY=folder,
        CRAWL4AI_NO_CLOUD_NOTICE="1",
    )


def _run_floor(folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        "raw CDP", sys.executable, "bench.contestants.raw_cdp", str(BROWSER), folder
    )


async def _run_rounds(contestants: Sequence[Contestant], address: str) -> list[list[float]]:
    """Return the CPU seconds a page of each contestant, for each round."""
    for contestant in contestants:
        await _measure(contestant, address, range(PAGES, PAGES + WARM_UP_PAGES))
    share = PAGES // ROUNDS
    return [
        [
            await _measure(contestant, address, range(first, first + share))
            for contestant in contestants
        ]
        for first in range(0, PAGES, share)
    ]


async def _measure(contestant: Contestant, address: str, numbers: range) -> float:
    before = tree_cpu_seconds(contestant.process.pid)
    texts = await contestant.render([f"http://{address}/page/{number}" for number in numbers])
    # What a page leaves to be cleared away is part of its cost.
    await asyncio.sleep(SETTLE_SECONDS)
    used = tree_cpu_seconds(contestant.process.pid) - before
    for number, text in zip(numbers, texts, strict=True):
        if marker(number) not in text:
            raise ContestantFailed(f"{contestant.name} did not get the text of page {number}")
    return used / len(numbers)
