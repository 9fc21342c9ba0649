"""POST /v1/scrape: one page with what it says about itself."""

from fastapi import APIRouter, Request, Response

from cinder.app import App
from cinder.errors import CinderError
from cinder.model.document import Json
from cinder.surfaces.answers import error_response, json_response, read_json
from cinder.surfaces.arguments import read_arguments
from cinder.surfaces.openapi import json_body
from cinder.surfaces.page_answer import describe_page
from cinder.surfaces.page_arguments import PageArguments

CALLER = "owner"


def build_router(app: App) -> APIRouter:
    """Return the routes of the first REST version."""
    router = APIRouter(prefix="/v1", tags=["pages"])

    @router.post("/scrape", openapi_extra=json_body(PageArguments))
    async def scrape(request: Request) -> Response:
        """Scrape one page: its content in one format, and its metadata."""
        try:
            response = json_response(await _scrape(app, await read_json(request)))
            outcome = "ok"
        except CinderError as error:
            response, outcome = error_response(error), error.code.value
        app.metrics.requests.labels("rest_v1", "scrape", outcome).inc()
        return response

    return router


async def _scrape(app: App, given: object) -> dict[str, Json]:
    arguments = read_arguments(PageArguments, given)
    outcome = await app.scrape.scrape(arguments.to_request(caller=CALLER))
    return describe_page(outcome, arguments, app.settings.server.result_max_chars)
