"""Crawls of 1,000 pages to markdown: pages a CPU second of peers and of a bare loop."""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.contestant import PEERS_PYTHON, Contestant, ContestantFailed, run_contestant
from bench.cpu import tree_cpu_seconds
from bench.crawled_website import PAGE_BYTES, PAGES, marker, path_of, run_crawled_website
from bench.crawlers.order import CONVERTER, OTHERS

ROUNDS = 3
REFERENCE = "Scrapy"
SINGLE = "cinder"
FLEET = "cinder, three workers on PostgreSQL"


@dataclass(frozen=True, slots=True)
class Crawler:
    """A crawler to measure: a module, and the Python that has what it needs."""

    name: str
    python: str
    module: str
    arguments: tuple[str, ...] = ()
    rounds: int = ROUNDS


CINDER = "bench.crawlers.cinder"
SCRAPY = "bench.crawlers.scrapy_spider"
# The order is that of a round. Whatever is added here is measured beside the rest.
CRAWLERS = (
    Crawler("floor: curl, selectolax, html-to-markdown", sys.executable, "bench.crawlers.floor"),
    Crawler(SINGLE, sys.executable, CINDER, ("whole",)),
    Crawler(FLEET, sys.executable, CINDER, ("whole", "fleet")),
    Crawler("cinder, main content alone", sys.executable, CINDER, ("main",), rounds=1),
    Crawler(REFERENCE, str(PEERS_PYTHON), SCRAPY, ("markdown",)),
    Crawler("Scrapy with a set of seen URLs of its own", str(PEERS_PYTHON), SCRAPY, ("sparing",)),
    # It takes a minute, and no bar depends on it.
    Crawler("Crawl4AI, HTTP", str(PEERS_PYTHON), "bench.crawlers.crawl4ai_http", rounds=1),
)


async def bench_crawl() -> None:
    if not PEERS_PYTHON.exists():
        print(f"crawl: not measured, {PEERS_PYTHON} is missing: `make bench` installs the peers")
        return
    used: dict[str, list[float]] = {crawler.name: [] for crawler in CRAWLERS}
    async with run_crawled_website() as website:
        for crawler in _in_turn():
            used[crawler.name].append(await _measure(crawler, f"http://{website.address}/"))
    print(_told({name: PAGES / statistics.median(seconds) for name, seconds in used.items()}))


def _in_turn() -> Iterator[Crawler]:
    for number in range(ROUNDS):
        yield from (crawler for crawler in CRAWLERS if number < crawler.rounds)


def _told(rates: Mapping[str, float]) -> str:
    lines = [
        f"  {name}: {rate:.1f} pages a CPU second, {rate / rates[REFERENCE]:.2f} times {REFERENCE}"
        for name, rate in rates.items()
    ]
    lines.append(f"  {FLEET}: {rates[FLEET] / rates[SINGLE]:.2f} times the single process")
    size = PAGE_BYTES // 1000
    return "\n".join([f"crawl of {PAGES} pages of {size} KB to markdown:", *lines])


async def _measure(crawler: Crawler, start: str) -> float:
    """Return the CPU seconds of a crawl, without those of starting the crawler."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = Path(folder) / "pages.jsonl"
        async with run_contestant(
            crawler.name,
            crawler.python,
            crawler.module,
            *crawler.arguments,
            # Without it Crawl4AI writes into the home directory.
            CRAWL4_AI_BASE_DIRECTORY=folder,
            CRAWL4AI_NO_CLOUD_NOTICE="1",
        ) as running:
            ready = await running.hear()
            _check_converter(running, ready)
            processes = (running.process.pid, *ready[OTHERS])
            before = sum(map(tree_cpu_seconds, processes))
            await running.ask({"start": start, "output": str(output)})
            used = sum(map(tree_cpu_seconds, processes)) - before
        _check(running, output, start)
    return used


def _check_converter(running: Contestant, ready: Mapping[str, Any]) -> None:
    if ready[CONVERTER] != version(CONVERTER):
        raise ContestantFailed(
            f"{running.name} has {CONVERTER} {ready[CONVERTER]}, cinder {version(CONVERTER)}: "
            "`make lock` pins them anew"
        )


def _check(running: Contestant, output: Path, start: str) -> None:
    """Check that every page is there once, with its own words.

    Raises:
        ContestantFailed: the crawler missed a page or gave one twice.
    """
    with output.open() as lines:
        pages = [json.loads(line) for line in lines]
    found = {page["url"]: page["markdown"] for page in pages}
    wanted = {start.rstrip("/") + path_of(number): marker(number) for number in range(PAGES)}
    if len(pages) != PAGES or found.keys() != wanted.keys():
        missing = len(wanted.keys() - found.keys())
        raise ContestantFailed(f"{running.name} gave {len(pages)} pages; {missing} are missing")
    for url, words in wanted.items():
        if words not in found[url]:
            raise ContestantFailed(f"{running.name} did not get the text of {url}")
