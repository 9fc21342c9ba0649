"""Fresh static scrapes: CPU a page, beside fetching and converting in a bare loop."""

import asyncio
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from curl_cffi.requests import AsyncSession
from html_to_markdown import convert

from bench.cpu import cpu_seconds
from bench.runs import Goal, Table, report
from bench.serving import Website
from bench.website import run_website
from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.models.request import CachePolicy, ScrapeRequest

PAGES = 300
PAGE_BYTES = 60_000
CONCURRENCY = 16
ROUNDS = 5
CINDER, FLOOR = "cinder", "floor: curl, html-to-markdown"


async def bench_fresh_scrape() -> None:
    async with run_website(PAGE_BYTES) as website:
        with tempfile.TemporaryDirectory() as folder:
            settings = read_settings(data_dir=Path(folder), egress={"allow": [website.address]})
            async with open_app(settings) as app:
                await _with_cinder(app, website.address, range(20))
                rounds = [await _round(app, website) for _ in range(ROUNDS)]
    cinder, bare = (1000 / statistics.median(column) for column in zip(*rounds, strict=True))
    title = f"fresh static scrapes of {PAGE_BYTES // 1000} KB pages"
    rates = {CINDER: cinder, FLOOR: bare}
    report(Table("fresh", title, "pages a CPU second", rates, [Goal(CINDER, FLOOR)]))


async def _round(app: App, website: Website) -> tuple[float, float]:
    pages = range(PAGES)
    return (
        await _measure(_with_cinder(app, website.address, pages), website),
        await _measure(_bare(website.address, pages), website),
    )


async def _measure(work: Awaitable[None], website: Website) -> float:
    before = cpu_seconds(without=website.pid)
    await work
    return (cpu_seconds(without=website.pid) - before) / PAGES * 1000


async def _with_cinder(app: App, address: str, pages: range) -> None:
    async def one(number: int) -> None:
        url = f"http://{address}/{number}"
        await app.scrape.scrape(ScrapeRequest(url=url, cache=CachePolicy(force_rescrape=True)))

    await _at_once(one, pages)


async def _bare(address: str, pages: range) -> None:
    async with AsyncSession(max_clients=CONCURRENCY) as session:

        async def one(number: int) -> None:
            response = await session.get(f"http://{address}/{number}")
            convert(response.text)

        await _at_once(one, pages)


async def _at_once(work: Callable[[int], Awaitable[None]], numbers: range) -> None:
    waiting = iter(numbers)

    async def worker() -> None:
        for number in waiting:
            await work(number)

    async with asyncio.TaskGroup() as workers:
        for _ in range(CONCURRENCY):
            workers.create_task(worker())
