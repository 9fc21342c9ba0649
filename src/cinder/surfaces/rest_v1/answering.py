"""Endpoints of the first REST version: a handler's answer or failure, said and counted."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from cinder.app import App
from cinder.errors import CinderError
from cinder.model.caller import Scope
from cinder.model.document import Json
from cinder.surfaces.answers import failed_response, json_response, read_json
from cinder.surfaces.caller import caller_for
from cinder.surfaces.disconnect import unless_gone
from cinder.surfaces.errors import describe_error

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Handler: TypeAlias = Callable[[App, Request], Awaitable[Response]]
# Takes what was sent as JSON and the id of the caller.
JsonHandler: TypeAlias = Callable[[App, object, str], Coroutine[None, None, dict[str, Json]]]


def answering(app: App, command: str, handler: Handler) -> Endpoint:
    """Return an endpoint that says a handler's failures in this version's shape, and counts."""

    async def answer(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            response = await handler(app, request)
            outcome = "ok"
            return response
        except CinderError as error:
            outcome = error.code
            return failed_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", command, outcome).inc()

    return answer


def answering_json(app: App, command: str, handler: JsonHandler) -> Endpoint:
    """Return an endpoint for who may scrape, which stops when the caller goes away."""

    async def answer(app: App, request: Request) -> Response:
        caller = caller_for(request, Scope.SCRAPE)
        given = await read_json(request, app.settings.limits)
        return json_response(await unless_gone(request, handler(app, given, caller)))

    return answering(app, command, answer)
