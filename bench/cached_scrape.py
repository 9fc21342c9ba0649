"""Cached scrapes: the lookup in process, and CPU a request over HTTP beside a bare server."""

import statistics
import tempfile
import time
from pathlib import Path

from bench.floor import read_record
from bench.load import CONNECTIONS
from bench.served import DOCUMENT_BYTES, HEADINGS, run_contest
from bench.serving import Website
from bench.website import path_of, run_website
from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.models.request import ScrapeRequest

REQUESTS = 2_000
ROUNDS = 5
FIRST_PAGES = 100
LOOKUPS = 2_000
BAR_MS = 0.5
BAR_RATIO = 7
BAR_LOOKUP_MS = 1


async def bench_cached_scrape() -> None:
    async with run_website(DOCUMENT_BYTES) as website:
        with tempfile.TemporaryDirectory() as folder:
            await _bench_lookup(Path(folder) / "lookup", website)
            for headings in HEADINGS:
                await _bench_requests(Path(folder) / f"served-{headings}", website, headings)


async def _bench_lookup(data_dir: Path, website: Website) -> None:
    settings = read_settings(data_dir=data_dir, egress={"allow": [website.address]})
    async with open_app(settings) as app:
        request = ScrapeRequest(url=f"http://{website.address}{path_of(1, HEADINGS[0])}")
        await app.scrape.scrape(request)
        times = []
        for _ in range(LOOKUPS):
            started = time.perf_counter()
            await app.scrape.scrape(request)
            times.append((time.perf_counter() - started) * 1000)
    print(
        f"cached lookup, SQLite, in process: median {statistics.median(times):.2f} ms "
        f"(bar {BAR_LOOKUP_MS})"
    )


async def _bench_requests(data_dir: Path, website: Website, headings: int) -> None:
    async with run_contest(data_dir, website) as contest:
        await contest.first_cached_ms(headings, FIRST_PAGES)
        rounds = [
            (await contest.cached_ms(headings, REQUESTS), await contest.bare_ms(REQUESTS))
            for _ in range(ROUNDS)
        ]
    # Another process, which has all in its database and nothing in its memory.
    async with run_contest(data_dir, website) as contest:
        first = await contest.first_cached_ms(headings, FIRST_PAGES)
    cinder = statistics.median(cached for cached, _ in rounds)
    bare = statistics.median(bare for _, bare in rounds)
    ratio = statistics.median(cached / bare for cached, bare in rounds)
    recorded = read_record()[f"cached-{headings}-headings"]
    print(
        f"cached POST /api/v2/scrape, {DOCUMENT_BYTES // 1000} KB, {headings} headings, "
        f"{CONNECTIONS} connections: {cinder:.2f} ms CPU a request (bar {BAR_MS}), bare uvicorn "
        f"with as many bytes {bare:.3f}, ratio {ratio:.1f} (bar {BAR_RATIO}, recorded {recorded}); "
        f"the first answer of each page after a restart {first:.2f}"
    )
