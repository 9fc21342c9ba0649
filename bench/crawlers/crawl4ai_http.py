"""Crawl4AI without a browser: its HTTP strategy, its markdown, its links, the cache bypassed.

It runs in the environment that `make bench` makes for the peers. Its own deep crawl goes through a
dispatcher that waits between the pages of a host; a loop round `arun` is what costs it the least.
"""

import asyncio
import json
from typing import Any, TextIO

from crawl4ai import (  # type: ignore[import-not-found]  # it is not in cinder's environment
    AsyncWebCrawler,
    BrowserConfig,
    CacheMode,
    CrawlerRunConfig,
    HTTPCrawlerConfig,
)
from crawl4ai.async_crawler_strategy import (  # type: ignore[import-not-found]  # as above
    AsyncHTTPCrawlerStrategy,
)

from bench.crawlers.order import CONCURRENCY, take_order

# No browser is started; it is where Crawl4AI looks for how much to say.
QUIET = BrowserConfig(verbose=False)
OPTIONS = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, verbose=False)


class LoopRoundCrawler:
    """What is left to crawl, and what was seen."""

    # Crawl4AI's types are not here.
    def __init__(self, crawler: Any, out: TextIO) -> None:
        self._crawler = crawler
        self._out = out
        self._seen: set[str] = set()
        self._found: list[str] = []

    async def run(self, start: str) -> None:
        self._add(start)
        at_once = asyncio.Semaphore(CONCURRENCY)
        # Level by level, as its own breadth-first crawl goes.
        while level := self._found:
            self._found = []
            async with asyncio.TaskGroup() as tasks:
                for url in level:
                    tasks.create_task(self._crawl(url, at_once))

    async def _crawl(self, url: str, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            result = await self._crawler.arun(url, config=OPTIONS)
        if not result.success:
            raise RuntimeError(f"Crawl4AI on {url}: {result.error_message}")
        page = {"url": url, "markdown": result.markdown.raw_markdown}
        self._out.write(json.dumps(page) + "\n")
        for link in result.links["internal"]:
            self._add(link["href"])

    def _add(self, url: str) -> None:
        if url not in self._seen:
            self._seen.add(url)
            self._found.append(url)


async def main() -> None:
    strategy = AsyncHTTPCrawlerStrategy(
        browser_config=HTTPCrawlerConfig(), max_connections=CONCURRENCY
    )
    async with AsyncWebCrawler(crawler_strategy=strategy, config=QUIET) as crawler:
        order = take_order()
        with order.output.open("w") as out:
            await LoopRoundCrawler(crawler, out).run(order.start)
        order.report_done()


asyncio.run(main())
