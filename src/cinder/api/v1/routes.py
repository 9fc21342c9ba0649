"""Routes of v1: scrape, search, search-and-scrape and extract, and those of jobs."""

from starlette.routing import Route

from cinder.api.arguments import read_body
from cinder.api.openapi import EXTRACTED, PAGE, SEARCH, Operation
from cinder.api.schemas.extract import EXTRACT_CHECKS, ExtractArguments, answer_extract
from cinder.api.schemas.page import PAGE_CHECKS, PageArguments, PageBudget, answer_page
from cinder.api.schemas.search import (
    SearchAndScrapeArguments,
    SearchArguments,
    describe_scraped,
    describe_search,
)
from cinder.api.v1 import jobs
from cinder.api.v1.endpoints import make_json_endpoint
from cinder.app import App
from cinder.models.document import Json

SEARCH_OPERATIONS = {
    "/v1/search": Operation(
        "Search the web and everything that is saved",
        SearchArguments,
        {"query": "how to bank a fire overnight", "numResults": 5},
        SEARCH,
        tag="searching",
    ),
    "/v1/search-and-scrape": Operation(
        "Search, and scrape the first results",
        SearchAndScrapeArguments,
        {"query": "how to bank a fire overnight", "numResults": 3},
        SEARCH,
        tag="searching",
    ),
}


def build_search_routes(app: App) -> list[Route]:
    """Return the routes of searches."""
    return [
        Route("/v1/search", make_json_endpoint(app, "search", _search), methods=["POST"]),
        Route(
            "/v1/search-and-scrape",
            make_json_endpoint(app, "search_and_scrape", _search_and_scrape),
            methods=["POST"],
        ),
    ]


async def _search(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(SearchArguments, given)
    answer = await app.search.search(arguments.to_request(caller=caller))
    return describe_search(answer, arguments.offset, app.settings.server.result_max_chars)


async def _search_and_scrape(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(SearchAndScrapeArguments, given)
    request = arguments.to_request(caller=caller)
    found = await app.search_and_scrape.run(request, arguments.scrape_mode)
    return await describe_scraped(found, app.settings.server.result_max_chars)


EXTRACT_OPERATIONS = {
    "/v1/extract": Operation(
        "Extract data from pages, by a prompt, a JSON Schema or both, each value with its proof",
        ExtractArguments,
        {
            "urls": ["https://example.com/"],
            "prompt": "The page's name, and the link for more information",
            "schema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "moreInformation": {"type": "string", "format": "uri"},
                },
            },
        },
        EXTRACTED,
        tag="extracting",
    ),
}


def build_extract_routes(app: App) -> list[Route]:
    """Return the route of extractions."""
    endpoint = make_json_endpoint(app, "extract", _extract)
    return [Route("/v1/extract", endpoint, methods=["POST"])]


async def _extract(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(ExtractArguments, given, *EXTRACT_CHECKS)
    answer = await app.extract.extract(arguments.to_request(caller=caller))
    # Data is of no use in parts, so that it has the room that a page may ask for.
    return await answer_extract(answer, app.settings.server.result_max_chars_ceiling)


OPERATIONS = {
    "/v1/scrape": Operation(
        "Scrape one page: its content and its metadata",
        PageArguments,
        {"url": "https://example.com/"},
        PAGE,
    ),
    **SEARCH_OPERATIONS,
    **EXTRACT_OPERATIONS,
    **jobs.OPERATIONS,
}
LOOKUPS = jobs.LOOKUPS


def build_routes(app: App) -> list[Route]:
    """Return the routes of the first REST version."""
    return [
        Route("/v1/scrape", make_json_endpoint(app, "scrape", _scrape), methods=["POST"]),
        *build_search_routes(app),
        *build_extract_routes(app),
        *jobs.build_job_routes(app),
    ]


async def _scrape(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(PageArguments, given, *PAGE_CHECKS)
    outcome = await app.scrape.scrape(arguments.to_request(caller=caller))
    room = PageBudget(app.settings.server.result_max_chars)
    return await answer_page(outcome, arguments, room)
