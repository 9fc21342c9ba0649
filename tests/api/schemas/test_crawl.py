"""The arguments of a crawl."""

from cinder.api.arguments import parse_json_strings, read_arguments
from cinder.api.schemas.crawl import CRAWL_CHECKS, CrawlArguments
from cinder.models.request import Format, Mode, ScrapeRequest


def page_request(scrape_options: object) -> ScrapeRequest | None:
    raw = {"url": "https://site.test/", "scrapeOptions": scrape_options}
    parsed = parse_json_strings(CrawlArguments, raw)
    return read_arguments(CrawlArguments, parsed, *CRAWL_CHECKS).to_spec().scrape_options


def test_the_options_for_each_page_may_be_a_text_of_json() -> None:
    request = page_request('{"formats": ["html"], "mode": "dynamic"}')
    assert request is not None
    assert (request.formats, request.render.mode) == ((Format.HTML,), Mode.DYNAMIC)
    assert page_request(None) is None


def test_a_crawl_uses_a_browser_only_where_an_option_needs_one() -> None:
    modes = {"html": Mode.STATIC, "screenshot": Mode.DYNAMIC}
    for name, mode in modes.items():
        request = page_request({"formats": [name]})
        assert request is not None
        assert request.render.mode is mode
    smart = page_request({"mode": "smart"})
    assert smart is not None
    assert smart.render.mode is Mode.SMART
