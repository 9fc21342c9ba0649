"""Cached scrapes: the lookup in process, and CPU a request over HTTP beside a bare server."""

import statistics
import tempfile
import time
from pathlib import Path

from bench.load import CONNECTIONS
from bench.runs import Goal, Table, report
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
BARE = "bare uvicorn with as many bytes"


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
    restarted = "cinder, each page for the first time after a restart"
    rates = {"cinder": 1000 / cinder, restarted: 1000 / first, BARE: 1000 / bare}
    title = (
        f"cached POST /api/v2/scrape, {DOCUMENT_BYTES // 1000} KB, {headings} headings, "
        f"{CONNECTIONS} connections (goal {1000 / BAR_MS:g} for cinder)"
    )
    goals = [Goal("cinder", BARE, 1 / BAR_RATIO), Goal(restarted, BARE)]
    report(Table(f"cached-{headings}-headings", title, "requests a CPU second", rates, goals))
