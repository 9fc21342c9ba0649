"""POST /v1/search and /v1/search-and-scrape: the web and everything that is kept, searched."""

from starlette.routing import Route

from cinder.app import App
from cinder.model.document import Json
from cinder.surfaces.answer_schemas import SEARCH
from cinder.surfaces.arguments import read_body
from cinder.surfaces.openapi import Operation
from cinder.surfaces.rest_v1.answering import answering_json
from cinder.surfaces.search_answer import describe_scraped, describe_search
from cinder.surfaces.search_arguments import SearchAndScrapeArguments, SearchArguments

OPERATIONS = {
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
        Route("/v1/search", answering_json(app, "search", _search), methods=["POST"]),
        Route(
            "/v1/search-and-scrape",
            answering_json(app, "search_and_scrape", _search_and_scrape),
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
