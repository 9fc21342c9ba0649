"""Runs the benchmarks, or one of them, and prints their figures."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from bench.busy import bench_busy
from bench.cached_scrape import bench_cached_scrape
from bench.contestant import ROOT
from bench.crawl import bench_crawl
from bench.docs import bench_docs
from bench.extraction import bench_extraction
from bench.extraction_speed import bench_extraction_speed
from bench.fields import bench_fields
from bench.fresh_scrape import bench_fresh_scrape
from bench.growth import bench_growth
from bench.hidden import bench_hidden
from bench.hostile.bench import bench_hostile
from bench.map import bench_map
from bench.reading import bench_reading
from bench.render import bench_render
from bench.search import bench_search
from bench.sites import bench_sites
from bench.start_up import bench_start_up
from bench.tool_lists.bench import bench_tool_lists
from bench.verdicts import bench_verdicts
from bench.workers import bench_workers
from cinder.logs import configure_logs

Bench = Callable[[], Awaitable[None]]
NAMES = (
    "fresh",
    "cached",
    "workers",
    "start-up",
    "extraction",
    "extraction-speed",
    "docs",
    "busy",
    "render",
    "hostile",
    "crawl",
    "map",
    "search",
    "fields",
    "verdicts",
    "hidden",
    "reading",
    "tools",
    "growth",
    "sites",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data", help="the folder of saved pages"
    )
    parser.add_argument("--sample", type=int, help="how many saved pages to take; all without it")
    parser.add_argument("--only", choices=NAMES, help="the one benchmark to run")
    arguments = parser.parse_args()
    benches = _benches(arguments.data.resolve(), arguments.sample)
    configure_logs("warning")
    asyncio.run(_run([benches[name] for name in NAMES if arguments.only in (None, name)]))


def _benches(data: Path, sample: int | None) -> dict[str, Bench]:
    return {
        "fresh": bench_fresh_scrape,
        "cached": bench_cached_scrape,
        "workers": bench_workers,
        "start-up": bench_start_up,
        "extraction": partial(bench_extraction, data, sample),
        "extraction-speed": partial(bench_extraction_speed, data, sample),
        "docs": partial(bench_docs, data, sample),
        "busy": partial(bench_busy, sample),
        "render": bench_render,
        "hostile": partial(bench_hostile, data),
        "crawl": bench_crawl,
        "map": bench_map,
        "search": partial(bench_search, data),
        "fields": bench_fields,
        "verdicts": partial(bench_verdicts, data, sample),
        "hidden": partial(bench_hidden, data, sample),
        "reading": bench_reading,
        "tools": bench_tool_lists,
        "growth": bench_growth,
        "sites": partial(bench_sites, sample),
    }


async def _run(benches: list[Bench]) -> None:
    for bench in benches:
        await bench()


main()
