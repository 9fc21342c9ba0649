"""Crawls of 1,000 pages to markdown: pages a CPU second of cinder, of peers and of a bare loop."""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.contestant import PEERS_PYTHON, Contestant, ContestantFailed, run_contestant
from bench.cpu import tree_cpu_seconds
from bench.crawled_website import PAGE_BYTES, PAGES, marker, path_of, run_crawled_website
from bench.crawlers.order import CONVERTER, OTHERS
from bench.runs import Goal, Table, report

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Crawler:
    """A crawler to measure: a module, and the Python that has what it needs."""

    name: str
    python: str
    module: str
    arguments: tuple[str, ...] = ()
    rounds: int = ROUNDS


_CINDER = "bench.crawlers.cinder"
_SCRAPY = "bench.crawlers.scrapy_spider"
FLOOR = Crawler("floor: curl, selectolax, html-to-markdown", sys.executable, "bench.crawlers.floor")
DEFAULT = Crawler("cinder, as users get it", sys.executable, _CINDER, ("main",))
WHOLE = Crawler("cinder, whole pages", sys.executable, _CINDER, ("whole",))
FLEET = Crawler("cinder, three workers on PostgreSQL", sys.executable, _CINDER, ("main", "fleet"))
SCRAPY = Crawler("Scrapy, html-to-markdown", str(PEERS_PYTHON), _SCRAPY, ("markdown",))
TUNED = Crawler("Scrapy with its own set of seen URLs", str(PEERS_PYTHON), _SCRAPY, ("sparing",))
TRAFILATURA = Crawler("Scrapy, trafilatura", str(PEERS_PYTHON), _SCRAPY, ("trafilatura",))
# It takes a minute, and no goal depends on it.
CRAWL4AI = Crawler("Crawl4AI, HTTP", str(PEERS_PYTHON), "bench.crawlers.crawl4ai_http", rounds=1)
# The order is that of a round.
CRAWLERS = (FLOOR, DEFAULT, SCRAPY, WHOLE, TUNED, FLEET, TRAFILATURA, CRAWL4AI)
GOALS = (
    Goal(DEFAULT.name, SCRAPY.name, 2.5),
    Goal(DEFAULT.name, TRAFILATURA.name, 5),
    Goal(DEFAULT.name, TUNED.name, 1),
    Goal(WHOLE.name, SCRAPY.name, 4),
    Goal(WHOLE.name, TUNED.name, 1.6),
    Goal(FLEET.name, DEFAULT.name, 0.75),
)


async def bench_crawl() -> None:
    if not PEERS_PYTHON.exists():
        print(f"crawl: not measured, {PEERS_PYTHON} is missing: `make bench` installs the peers")
        return
    used: dict[str, list[float]] = {crawler.name: [] for crawler in CRAWLERS}
    async with run_crawled_website() as website:
        for crawler in _in_turn():
            used[crawler.name].append(await measure_crawl(crawler, website.address, PAGES))
    rates = {name: PAGES / statistics.median(seconds) for name, seconds in used.items()}
    title = f"crawl of {PAGES} pages of {PAGE_BYTES // 1000} KB to markdown"
    report(Table("crawl", title, "pages a CPU second", rates, GOALS))


def _in_turn() -> Iterator[Crawler]:
    for number in range(ROUNDS):
        yield from (crawler for crawler in CRAWLERS if number < crawler.rounds)


async def measure_crawl(crawler: Crawler, address: str, pages: int) -> float:
    """Return the CPU seconds of a crawl of so many pages, without those of starting the crawler.

    Raises:
        ContestantFailed: it did not get them.
    """
    start = f"http://{address}/"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = Path(folder) / "pages.jsonl"
        async with _run(crawler, folder) as running:
            ready = await running.hear()
            _check_converter(running, ready)
            processes = (running.process.pid, *ready[OTHERS])
            before = sum(map(tree_cpu_seconds, processes))
            await running.ask({"start": start, "pages": pages, "output": str(output)})
            used = sum(map(tree_cpu_seconds, processes)) - before
        _check(running, output, start, pages)
    return used


def _run(crawler: Crawler, folder: str) -> AbstractAsyncContextManager[Contestant]:
    return run_contestant(
        crawler.name,
        crawler.python,
        crawler.module,
        *crawler.arguments,
        # Without it Crawl4AI writes into the home directory.
        CRAWL4_AI_BASE_DIRECTORY=folder,
        CRAWL4AI_NO_CLOUD_NOTICE="1",
    )


def _check_converter(running: Contestant, ready: Mapping[str, Any]) -> None:
    if ready[CONVERTER] != version(CONVERTER):
        raise ContestantFailed(
            f"{running.name} has {CONVERTER} {ready[CONVERTER]}, cinder {version(CONVERTER)}: "
            "`make lock` pins both"
        )


def _check(running: Contestant, output: Path, start: str, wanted: int) -> None:
    """Check that every page is there once, with its own words.

    Raises:
        ContestantFailed: the crawler missed a page or gave one twice.
    """
    with output.open() as lines:
        pages = [json.loads(line) for line in lines]
    found = {page["url"]: page["markdown"] for page in pages}
    words = {start.rstrip("/") + path_of(number): marker(number) for number in range(PAGES)}
    if len(pages) != wanted or len(found) != wanted or not found.keys() <= words.keys():
        raise ContestantFailed(f"{running.name} gave {len(pages)} pages, {len(found)} different")
    for url, markdown in found.items():
        if words[url] not in markdown:
            raise ContestantFailed(f"{running.name} did not get the text of {url}")
