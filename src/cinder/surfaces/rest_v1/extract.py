"""POST /v1/extract: what pages say of what a caller wants to know, with proof."""

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
from cinder.surfaces.extract_answer import answer_extract
from cinder.surfaces.extract_arguments import EXTRACT_CHECKS, ExtractArguments
from cinder.surfaces.openapi import Operation

OPERATIONS = {
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
        tag="extracting",
    ),
}


def build_extract_routes(app: App) -> list[Route]:
    """Return the route of extractions."""

    async def extract(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            caller = caller_for(request, Scope.SCRAPE)
            given = await read_json(request)
            answer = await unless_gone(request, _extract(app, given, caller))
            outcome = "ok"
            return json_response(answer)
        except CinderError as error:
            outcome = error.code
            return failed_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", "extract", outcome).inc()

    return [Route("/v1/extract", extract, methods=["POST"])]


async def _extract(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_arguments(ExtractArguments, given, *EXTRACT_CHECKS)
    answer = await app.extract.extract(arguments.to_request(caller=caller))
    # Data is of no use in parts, so that it has the room that a page may ask for.
    return await answer_extract(answer, app.settings.server.result_max_chars_ceiling)
