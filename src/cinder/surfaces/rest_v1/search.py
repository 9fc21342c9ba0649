"""POST /v1/search and /v1/search-and-scrape: the web and everything that is kept, searched."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.app import App
from cinder.errors import CinderError
from cinder.model.caller import Scope
from cinder.model.document import Json
from cinder.surfaces.answers import failed_response, json_response, read_json
from cinder.surfaces.arguments import read_arguments
from cinder.surfaces.caller import caller_for
from cinder.surfaces.disconnect import unless_gone
from cinder.surfaces.errors import describe_error
from cinder.surfaces.openapi import Operation
from cinder.surfaces.search_answer import describe_scraped, describe_search
from cinder.surfaces.search_arguments import SearchAndScrapeArguments, SearchArguments

Handler: TypeAlias = Callable[[App, object, str], Coroutine[None, None, dict[str, Json]]]

OPERATIONS = {
    "/v1/search": Operation(
        "Search the web and everything that is saved",
        SearchArguments,
        {"query": "how to bank a fire overnight", "numResults": 5},
        tag="searching",
    ),
    "/v1/search-and-scrape": Operation(
        "Search, and scrape the first results",
        SearchAndScrapeArguments,
        {"query": "how to bank a fire overnight", "numResults": 3},
        tag="searching",
    ),
}


def build_search_routes(app: App) -> list[Route]:
    """Return the routes of searches."""
    return [
        Route("/v1/search", _answering(app, "search", _search), methods=["POST"]),
        Route(
            "/v1/search-and-scrape",
            _answering(app, "search_and_scrape", _search_and_scrape),
            methods=["POST"],
        ),
    ]


def _answering(
    app: App, command: str, handler: Handler
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            caller = caller_for(request, Scope.SCRAPE)
            given = await read_json(request)
            found = await unless_gone(request, handler(app, given, caller))
            outcome = "ok"
            return json_response(found)
        except CinderError as error:
            outcome = error.code
            return failed_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", command, outcome).inc()

    return answer


async def _search(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_arguments(SearchArguments, given)
    answer = await app.search.search(arguments.to_request(caller=caller))
    return describe_search(answer, arguments.offset, app.settings.server.result_max_chars)


async def _search_and_scrape(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_arguments(SearchAndScrapeArguments, given)
    request = arguments.to_request(caller=caller)
    found = await app.search_and_scrape.run(request, arguments.scrape_mode)
    return await describe_scraped(found, app.settings.server.result_max_chars)
