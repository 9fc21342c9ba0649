"""POST /v1/extract: what pages say of what a caller wants to know, with proof."""

from starlette.routing import Route

from cinder.app import App
from cinder.model.document import Json
from cinder.surfaces.answer_schemas import EXTRACTED
from cinder.surfaces.arguments import read_body
from cinder.surfaces.extract_answer import answer_extract
from cinder.surfaces.extract_arguments import EXTRACT_CHECKS, ExtractArguments
from cinder.surfaces.openapi import Operation
from cinder.surfaces.rest_v1.answering import answering_json

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
        EXTRACTED,
        tag="extracting",
    ),
}


def build_extract_routes(app: App) -> list[Route]:
    """Return the route of extractions."""
    endpoint = answering_json(app, "extract", _extract)
    return [Route("/v1/extract", endpoint, methods=["POST"])]


async def _extract(app: App, given: object, caller: str) -> dict[str, Json]:
    arguments = read_body(ExtractArguments, given, *EXTRACT_CHECKS)
    answer = await app.extract.extract(arguments.to_request(caller=caller))
    # Data is of no use in parts, so that it has the room that a page may ask for.
    return await answer_extract(answer, app.settings.server.result_max_chars_ceiling)
