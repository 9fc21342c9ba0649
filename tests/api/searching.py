"""An app that searches a web in memory, and scrapes the loopback website."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.models.search import SearchHit
from cinder.search.base import Provider
from cinder.services.search.service import MODE_TIMES, SearchAndScrape
from tests.resolver import TableResolver
from tests.services.search.doubles import ListProvider, World
from tests.site import Site

PATHS = ("/article", "/guide", "/status?code=404", "/nowhere")


def hits_of(site: Site) -> list[SearchHit]:
    """Return hits that lead to the loopback website."""
    return [
        SearchHit(url=site.url(path), title=f"Ember {path}", summary="Keep the coals overnight.")
        for path in PATHS
    ]


def web_of(site: Site) -> list[Provider]:
    return [ListProvider("web", hits_of(site))]


@asynccontextmanager
async def open_searching(
    settings: Settings, resolver: TableResolver, world: World
) -> AsyncIterator[App]:
    """Open an app whose searches are those of a world in memory."""
    async with open_app(settings, resolver=resolver) as app:
        world.reads, world.times = app.scrape, MODE_TIMES
        search = world.open()
        scraping = SearchAndScrape(search, app.scrape)
        yield replace(app, search=search, search_and_scrape=scraping)
