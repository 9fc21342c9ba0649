"""Runs the benchmarks, or one of them, and prints their figures."""

import argparse
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import uvloop

from bench.cached_scrape import bench_cached_scrape
from bench.contestant import ROOT
from bench.extraction import bench_extraction
from bench.fresh_scrape import bench_fresh_scrape
from bench.render import bench_render
from bench.start_up import bench_start_up
from cinder.surfaces.logs import set_up_logs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data", help="the folder of saved pages"
    )
    parser.add_argument("--sample", type=int, help="how many saved pages to take; all without it")
    names = ("fresh", "cached", "start-up", "extraction", "render")
    parser.add_argument("--only", choices=names, help="the one benchmark to run")
    arguments = parser.parse_args()
    benches: dict[str, Callable[[], Awaitable[None]]] = dict(
        zip(
            names,
            (
                bench_fresh_scrape,
                bench_cached_scrape,
                bench_start_up,
                partial(bench_extraction, arguments.data.resolve(), arguments.sample),
                bench_render,
            ),
            strict=True,
        )
    )
    set_up_logs("warning")
    chosen = [arguments.only] if arguments.only else names
    # The loop that the server runs on.
    uvloop.run(_run([benches[name] for name in chosen]))


async def _run(benches: list[Callable[[], Awaitable[None]]]) -> None:
    for bench in benches:
        await bench()


main()
