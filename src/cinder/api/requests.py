"""HTTP requests and responses: the caller, JSON bodies, error responses, disconnects."""

import asyncio
from collections.abc import Coroutine, Mapping
from math import ceil
from typing import TypeVar, cast

from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from cinder.api.arguments import MAX_KEY_CHARS, check_limits
from cinder.api.errors import RETRY_AFTER, describe_error, http_status
from cinder.background import run_in_thread
from cinder.config.serving import LimitsSettings
from cinder.errors import CinderError, Forbidden, InvalidRequest
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json

_CALLER_KEY = "cinder.caller"


def set_caller(request: Request, caller: Caller) -> None:
    """Store the caller of a request. The auth middleware does this before any route runs."""
    request.scope[_CALLER_KEY] = caller


def caller_of(request: Request) -> Caller:
    """Return the caller of a request."""
    caller = request.scope[_CALLER_KEY]
    assert isinstance(caller, Caller)  # noqa: S101 - the middleware alone sets it
    return caller


def caller_with_scope(request: Request, scope: TokenScope) -> str:
    """Return the id of a request's caller, whose token must have a scope.

    Raises:
        Forbidden: it does not have it.
    """
    return require_scope(caller_of(request), scope)


def require_scope(caller: Caller, scope: TokenScope) -> str:
    """Return the id of a caller, whose token must have a scope.

    Raises:
        Forbidden: it does not have it.
    """
    if not caller.may(scope):
        raise Forbidden(
            f"This token lacks the scope '{scope}', which this request needs. The server's "
            f"operator can create one that has it: cinder token create NAME --scope {scope}"
        )
    return caller.id


# Most responses are ready before watching for a disconnect would pay off.
UNWATCHED_SECONDS = 0.1

T = TypeVar("T")


class CallerDisconnected(Exception):
    """The caller closed the connection."""


async def cancel_on_disconnect(request: Request, work: Coroutine[None, None, T]) -> T:
    """Return the result of the work; cancel it when the caller closes the connection.

    The request's body must have been read before.

    Raises:
        CallerDisconnected: the caller closed the connection.
        CinderError: the work raised it.
    """
    watching: list[asyncio.Task[None]] = []
    is_gone, result, failure = False, None, None

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        # Raised within the group, it cancels the work.
        raise CallerDisconnected

    try:
        async with asyncio.TaskGroup() as tasks:

            def watch() -> None:
                watching.append(tasks.create_task(wait_for_disconnect()))

            timer = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, watch)
            try:
                result = await work
            except CinderError as error:
                # Raised within the group, it would be wrapped in an ExceptionGroup.
                failure = error
            finally:
                timer.cancel()
                for task in watching:
                    task.cancel()
    except* CallerDisconnected:
        is_gone = True
    if is_gone:
        raise CallerDisconnected
    if failure is not None:
        raise failure
    return cast(T, result)  # there is one where nothing failed


async def read_json(request: Request, limits: LimitsSettings) -> object:
    """Return the parsed JSON body of a request.

    Raises:
        InvalidRequest: the body is not JSON, or is beyond a limit.
    """
    return await parse_json(await read_json_body(request), limits)


async def read_json_body(request: Request) -> bytes:
    """Return the body of a request whose content type is JSON.

    Raises:
        InvalidRequest: it has another content type, or ended too soon.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"Send JSON with Content-Type: application/json, not {kind or 'without a type'!r}"
        raise InvalidRequest.at("(request)", message)
    try:
        return await request.body()
    except ClientDisconnect:
        raise InvalidRequest.at("(request)", "The request ended before it was whole") from None


async def parse_json(body: bytes, limits: LimitsSettings) -> object:
    """Return the parsed JSON of a body; a long one is parsed in a thread.

    Raises:
        InvalidRequest: it is not JSON, or is beyond a limit.
    """

    def parse() -> object:
        try:
            parsed: object = from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise InvalidRequest.at("(request)", f"Not valid JSON: {error}") from None
        check_limits(parsed, limits)
        return parsed

    return await run_in_thread(len(body), parse)


def read_idempotency_key(request: Request, in_body: str | None) -> str | None:
    """Return the key of a start: from the body, or from the header `Idempotency-Key`.

    Raises:
        InvalidRequest: both are present and differ, or the header is too long or not ASCII.
    """
    sent = request.headers.get("idempotency-key") or None
    if sent is not None and not (len(sent) <= MAX_KEY_CHARS and sent.isascii()):
        message = f"The header may have at most {MAX_KEY_CHARS} characters, all of them ASCII"
    elif sent is not None and in_body is not None and sent != in_body:
        message = "The header Idempotency-Key says otherwise: give one of them"
    else:
        return in_body or sent
    raise InvalidRequest.at("idempotencyKey", message)


def json_response(
    content: Mapping[str, Json], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a JSON response."""
    sent = {**RETRY_AFTER.get(status, {}), **(headers or {})}
    return Response(to_json(content), status, sent, "application/json")


def failure_response(
    error: CinderError, content: Mapping[str, Json], headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response about an error, with its status and `Retry-After`."""
    seconds = error.retry_after_seconds
    retry_after = {} if seconds is None else {"Retry-After": str(ceil(seconds))}
    return json_response(content, http_status(error), {**retry_after, **(headers or {})})


def error_response(error: CinderError, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response about an error outside of the API's routes."""
    return failure_response(error, {"success": False, "error": describe_error(error)}, headers)
