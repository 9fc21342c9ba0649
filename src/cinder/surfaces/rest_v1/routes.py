"""POST /v1/scrape: a page and what it says of itself; the routes of the other uses beside it."""

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
from cinder.surfaces.page_answer import PageRoom, answer_page
from cinder.surfaces.page_arguments import PAGE_CHECKS, PageArguments
from cinder.surfaces.rest_v1 import extract, jobs, search

OPERATIONS = {
    "/v1/scrape": Operation(
        "Scrape one page: its content and its metadata",
        PageArguments,
        {"url": "https://example.com/"},
    ),
    **search.OPERATIONS,
    **extract.OPERATIONS,
    **jobs.OPERATIONS,
}
LOOKUPS = jobs.LOOKUPS


def build_routes(app: App) -> list[Route]:
    """Return the routes of the first REST version."""

    async def scrape(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            caller = caller_for(request, Scope.SCRAPE)
            work = _scrape(app, await read_json(request), caller)
            answer = await unless_gone(request, work)
            outcome = "ok"
            return json_response(answer)
        except CinderError as error:
            outcome = error.code
            return failed_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", "scrape", outcome).inc()

    return [
        Route("/v1/scrape", scrape, methods=["POST"]),
        *search.build_search_routes(app),
        *extract.build_extract_routes(app),
        *jobs.build_job_routes(app),
    ]


async def _scrape(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_arguments(PageArguments, given, *PAGE_CHECKS)
    outcome = await app.scrape.scrape(arguments.to_request(caller=caller))
    room = PageRoom(app.settings.server.result_max_chars)
    return await answer_page(outcome, arguments, room)
