"""Scrapy, set up for speed: no throttle, no log, no cookies, links by its own extractor.

It runs in the environment that `make bench` makes for the peers, and keeps its queue in memory: a
queue on disk would cost it more.
"""

import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import scrapy  # type: ignore[import-not-found]  # it is not in cinder's environment
from html_to_markdown import convert
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]  # as above
from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]  # as above

from bench.crawlers.order import CONCURRENCY, take_order

SETTINGS = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
}


class MarkdownSpider(scrapy.Spider):  # type: ignore[misc]  # its types are not here
    """Follows every link of the website and gives each page as markdown."""

    name = "markdown"
    links = LinkExtractor()

    # Scrapy's types are not here.
    async def start(self) -> AsyncIterator[Any]:
        # Its own start requests pass the filter of duplicates by, and the page would come twice.
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "markdown": self.markdown(response.text)}
        for url in self.urls(response):
            yield scrapy.Request(url)

    def markdown(self, html: str) -> str:
        return convert(html).content or ""

    def urls(self, response: Any) -> Iterable[str]:
        return (link.url for link in self.links.extract_links(response))


class TrafilaturaSpider(MarkdownSpider):
    """The same with the main content of each page alone, by trafilatura."""

    name = "trafilatura"

    def markdown(self, html: str) -> str:
        from trafilatura import extract  # type: ignore[import-not-found]  # noqa: PLC0415

        return extract(html, output_format="markdown", include_comments=False) or ""


class SparingSpider(MarkdownSpider):
    """The same by hand: what was seen never becomes a request for Scrapy to drop."""

    name = "sparing"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._seen = set(self.start_urls)

    def urls(self, response: Any) -> Iterable[str]:
        found = {response.urljoin(href) for href in response.css("a::attr(href)").getall()}
        new = found - self._seen
        self._seen |= new
        return new


SPIDERS = {spider.name: spider for spider in (MarkdownSpider, TrafilaturaSpider, SparingSpider)}


def main() -> None:
    order = take_order()
    process = CrawlerProcess({**SETTINGS, "FEEDS": {str(order.output): {"format": "jsonlines"}}})
    process.crawl(SPIDERS[sys.argv[1]], start_urls=[order.start])
    process.start()
    order.report_done()


main()
