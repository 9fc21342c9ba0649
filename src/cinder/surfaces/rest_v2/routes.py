"""POST /api/v2/scrape: one URL, answered in the shape its result handling asks for."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.app import App
from cinder.errors import CinderError
from cinder.model.document import Json
from cinder.model.request import OWNER, Format
from cinder.surfaces.answers import json_response, read_json
from cinder.surfaces.arguments import read_arguments
from cinder.surfaces.disconnect import unless_gone
from cinder.surfaces.errors import HTTP_STATUS, describe_error
from cinder.surfaces.openapi import Operation
from cinder.surfaces.page_facts import with_page_facts
from cinder.surfaces.scrape_answer import answer_outcome
from cinder.surfaces.scrape_arguments import (
    SCRAPE_CHECKS,
    Command,
    ScrapeArguments,
)

DEFAULT_FORMATS = (Format.MARKDOWN, Format.HTML)

OPERATIONS = {
    "/api/v2/scrape": Operation(
        "Scrape one URL and return it, keep it, or both",
        ScrapeArguments,
        {"url": "https://example.com/", "formats": ["markdown", "links"]},
    )
}


def build_routes(app: App) -> list[Route]:
    """Return the routes of the second REST version."""

    async def scrape(request: Request) -> Response:
        command, outcome = Command.START.value, "INTERNAL_ERROR"
        try:
            given = await read_json(request)
            command = _command_of(given)
            answer = await unless_gone(request, _scrape(app, given))
            outcome = "ok"
            return json_response(answer)
        except CinderError as error:
            outcome = error.code
            answer = {"success": False, "command": command, "error": describe_error(error)}
            return json_response(answer, HTTP_STATUS[error.code])
        finally:
            app.metrics.requests.labels("rest_v2", command, outcome).inc()

    return [Route("/api/v2/scrape", scrape, methods=["POST"])]


async def _scrape(app: App, given: object) -> dict[str, Json]:
    arguments = read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
    request = arguments.to_request(caller=OWNER, default_formats=DEFAULT_FORMATS)
    outcome = await app.scrape.scrape(request)
    limits = app.settings.server
    window = arguments.window(limits.result_max_chars, limits.result_max_chars_ceiling)
    answer = await answer_outcome(outcome, request, window)
    data = with_page_facts(answer, outcome.document)
    return {"success": True, "command": arguments.command, "data": data}


def _command_of(given: object) -> str:
    """Return the command to show in the answer, whatever else is wrong with the request."""
    command = given.get("command") if isinstance(given, Mapping) else None
    return command if command in list(Command) else Command.START.value
