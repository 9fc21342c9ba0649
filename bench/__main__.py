"""Runs every benchmark and prints its figures."""

import uvloop

from bench.cached_scrape import bench_cached_scrape
from bench.fresh_scrape import bench_fresh_scrape
from bench.render import bench_render
from bench.start_up import bench_start_up
from cinder.surfaces.logs import set_up_logs


async def main() -> None:
    set_up_logs("warning")
    for bench in (bench_fresh_scrape, bench_cached_scrape, bench_start_up, bench_render):
        await bench()


# The loop that the server runs on.
uvloop.run(main())
