"""The pages of the first results, side by side, whatever becomes of single ones."""

import asyncio

from cinder.model.request import Mode
from cinder.services.search.search_and_scrape import MAX_PAGES, SearchAndScrape
from tests.services.search.doubles import ListProvider, World, asking, hits

URLS = [f"https://a.example/{number}" for number in (1, 2, 3)]


def opened(world: World) -> SearchAndScrape:
    return SearchAndScrape(world.open(), world.scraper)


async def test_each_result_has_its_page_in_the_order_of_the_search() -> None:
    world = World(providers=[ListProvider("web", hits(5))])
    world.scraper.pages = {url: f"Page {url}" for url in URLS}
    found = await opened(world).run(asking(num_results=3), Mode.STATIC)
    assert [page.result.url for page in found.pages] == URLS
    outcomes = [page.outcome for page in found.pages if page.outcome]
    assert [each.document.content.markdown for each in outcomes] == [f"Page {url}" for url in URLS]
    assert found.answer.has_more
    assert {request.render.mode for request in world.scraper.requests} == {Mode.STATIC}


async def test_a_page_that_fails_says_why_and_costs_the_others_nothing() -> None:
    world = World(providers=[ListProvider("web", hits(3))])
    world.scraper.pages = dict.fromkeys(URLS[:2], "Coals.")
    found = await opened(world).run(asking(num_results=3), Mode.SMART)
    assert [page.error is None for page in found.pages] == [True, True, False]
    assert "nobody answers" in ((found.pages[2].error and found.pages[2].error.message) or "")


async def test_a_page_that_takes_too_long_is_left_behind() -> None:
    world = World(providers=[ListProvider("web", hits(2))])
    world.scraper.pages = dict.fromkeys(URLS, "Coals.")
    world.scraper.gates = {URLS[0]: asyncio.Event()}
    found = await opened(world).run(asking(num_results=2), Mode.SMART, seconds=1)
    assert found.pages[0].error is not None
    assert found.pages[0].error.code == "SCRAPE_TIMEOUT"
    assert found.pages[1].outcome is not None


async def test_no_more_pages_are_scraped_than_may_be() -> None:
    world = World(providers=[ListProvider("web", hits(60), page_size=30)])
    found = await opened(world).run(asking(num_results=50), Mode.SMART)
    assert len(found.pages) == MAX_PAGES
