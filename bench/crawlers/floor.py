"""The floor: fetch, find the links, convert, and nothing else, in a bare loop."""

import asyncio
import json
from typing import TextIO

import can_ada
from curl_cffi.requests import AsyncSession, Response
from html_to_markdown import convert
from selectolax.lexbor import LexborHTMLParser

from bench.crawlers.order import CONCURRENCY, take_order


class BareLoop:
    """What is left to crawl, and what was seen."""

    def __init__(self, session: AsyncSession[Response], pages: int, out: TextIO) -> None:
        self._session = session
        self._pages = pages
        self._out = out
        self._seen: set[str] = set()
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    async def run(self, start: str) -> None:
        self._add(start)
        workers = [asyncio.Task(self._work()) for _ in range(CONCURRENCY)]
        finished = asyncio.Task(self._queue.join())
        # A worker ends only by failing.
        await asyncio.wait([finished, *workers], return_when=asyncio.FIRST_COMPLETED)
        for worker in workers:
            worker.cancel()
        for outcome in await asyncio.gather(*workers, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _work(self) -> None:
        while True:
            await self._crawl(await self._queue.get())
            self._queue.task_done()

    async def _crawl(self, url: str) -> None:
        response = await self._session.get(url)
        html = response.text
        base = can_ada.parse(url)
        for link in LexborHTMLParser(html).css("a[href]"):
            self._add((base + (link.attributes["href"] or "")).href)
        page = {"url": url, "markdown": convert(html).content}
        self._out.write(json.dumps(page) + "\n")

    def _add(self, url: str) -> None:
        if url not in self._seen and len(self._seen) < self._pages:
            self._seen.add(url)
            self._queue.put_nowait(url)


async def main() -> None:
    order = take_order()
    with order.output.open("w") as out:
        async with AsyncSession[Response](max_clients=CONCURRENCY) as session:
            await BareLoop(session, order.pages, out).run(order.start)
    order.report_done()


asyncio.run(main())
