"""POST /v1/scrape: a page and what it says of itself; the routes of the other uses beside it."""

from starlette.routing import Route

from cinder.app import App
from cinder.model.document import Json
from cinder.surfaces.answer_schemas import PAGE
from cinder.surfaces.arguments import read_body
from cinder.surfaces.openapi import Operation
from cinder.surfaces.page_answer import PageRoom, answer_page
from cinder.surfaces.page_arguments import PAGE_CHECKS, PageArguments
from cinder.surfaces.rest_v1 import extract, jobs, search
from cinder.surfaces.rest_v1.answering import answering_json

OPERATIONS = {
    "/v1/scrape": Operation(
        "Scrape one page: its content and its metadata",
        PageArguments,
        {"url": "https://example.com/"},
        PAGE,
    ),
    **search.OPERATIONS,
    **extract.OPERATIONS,
    **jobs.OPERATIONS,
}
LOOKUPS = jobs.LOOKUPS


def build_routes(app: App) -> list[Route]:
    """Return the routes of the first REST version."""
    return [
        Route("/v1/scrape", answering_json(app, "scrape", _scrape), methods=["POST"]),
        *search.build_search_routes(app),
        *extract.build_extract_routes(app),
        *jobs.build_job_routes(app),
    ]


async def _scrape(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(PageArguments, given, *PAGE_CHECKS)
    outcome = await app.scrape.scrape(arguments.to_request(caller=caller))
    room = PageRoom(app.settings.server.result_max_chars)
    return await answer_page(outcome, arguments, room)
