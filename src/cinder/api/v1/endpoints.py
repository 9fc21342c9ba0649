"""Endpoints of v1: handlers with their errors answered and their requests counted."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from cinder.api.errors import describe_error
from cinder.api.requests import (
    caller_with_scope,
    cancel_on_disconnect,
    failure_response,
    json_response,
    read_json,
)
from cinder.app import App
from cinder.errors import CinderError
from cinder.models.caller import TokenScope
from cinder.models.document import Json

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Handler: TypeAlias = Callable[[App, Request], Awaitable[Response]]
# Takes what was sent as JSON and the id of the caller.
JsonHandler: TypeAlias = Callable[[App, object, str], Coroutine[None, None, dict[str, Json]]]


def make_endpoint(app: App, command: str, handler: Handler) -> Endpoint:
    """Return an endpoint that says a handler's failures in this version's shape, and counts."""

    async def answer(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            response = await handler(app, request)
            outcome = "ok"
            return response
        except CinderError as error:
            outcome = error.code
            return failure_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", command, outcome).inc()

    return answer


def make_json_endpoint(app: App, command: str, handler: JsonHandler) -> Endpoint:
    """Return an endpoint for who may scrape, which stops when the caller goes away."""

    async def answer(app: App, request: Request) -> Response:
        caller = caller_with_scope(request, TokenScope.SCRAPE)
        given = await read_json(request, app.settings.limits)
        return json_response(await cancel_on_disconnect(request, handler(app, given, caller)))

    return make_endpoint(app, command, answer)
