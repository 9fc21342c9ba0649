"""HTTP requests and responses: the caller, JSON bodies, error responses, disconnects."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TypeVar, cast

from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from cinder.api.arguments import check_limits
from cinder.api.errors import RETRY_AFTER, describe_error, http_status
from cinder.config import LimitsSettings
from cinder.errors import CinderError, FieldProblem, Forbidden, InvalidRequest, RateLimited
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json
from cinder.services.threads import run_in_thread

_CALLER_KEY = "cinder.caller"


def set_caller(request: Request, caller: Caller) -> None:
    """Note who sent a request; the gate does, before anything else sees it."""
    request.scope[_CALLER_KEY] = caller


def caller_of(request: Request) -> Caller:
    """Return who sent a request."""
    caller = request.scope[_CALLER_KEY]
    assert isinstance(caller, Caller)  # noqa: S101 - nobody but the gate puts it there
    return caller


def caller_with_scope(request: Request, scope: TokenScope) -> str:
    """Return the id of who sent a request, for what his token must open.

    Raises:
        Forbidden: it does not.
    """
    return require_scope(caller_of(request), scope)


def require_scope(caller: Caller, scope: TokenScope) -> str:
    """Return a caller's id, for what his token must open.

    Raises:
        Forbidden: it does not.
    """
    if not caller.may(scope):
        raise Forbidden(
            f"This token has not the scope '{scope}', which that needs. Whoever runs the server "
            f"can make one that has: cinder token create NAME --scope {scope}"
        )
    return caller.id


# Most answers are there before watching for the caller would pay.
UNWATCHED_SECONDS = 0.1

T = TypeVar("T")


class CallerDisconnected(Exception):
    """Nobody waits for the answer any more."""


async def cancel_on_disconnect(request: Request, work: Coroutine[None, None, T]) -> T:
    """Return what the work gives; cancel it when the caller closes the connection.

    The request's body must have been read.

    Raises:
        CallerGone: the caller did.
        CinderError: the work did.
    """
    watching: list[asyncio.Task[None]] = []
    is_gone = False
    try:
        async with asyncio.TaskGroup() as tasks:

            def watch() -> None:
                watching.append(tasks.create_task(_wait_for_disconnect(request)))

            timer = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, watch)
            try:
                result, error = await _run_to_result(work)
            finally:
                timer.cancel()
                for task in watching:
                    task.cancel()
    except* CallerDisconnected:
        is_gone = True
    if is_gone:
        raise CallerDisconnected
    if error is not None:
        raise error
    return cast(T, result)  # without an error there is a result


async def _run_to_result(work: Coroutine[None, None, T]) -> tuple[T | None, CinderError | None]:
    # Raised within the group, an error would come out of it wrapped.
    try:
        return await work, None
    except CinderError as error:
        return None, error


async def _wait_for_disconnect(request: Request) -> None:
    """Have the group that this runs in cancel the work when the caller closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise CallerDisconnected


MAX_KEY_CHARS = 255


async def read_json(request: Request, limits: LimitsSettings) -> object:
    """Return the JSON that a request carries.

    Raises:
        InvalidRequest: it carries none, or more than a request may.
    """
    return await parse_json(await read_json_body(request), limits)


async def read_json_body(request: Request) -> bytes:
    """Return the body of a request that says it carries JSON.

    Raises:
        InvalidRequest: it says otherwise, or ended too soon.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"Send JSON with Content-Type: application/json, not {kind or 'without a type'!r}"
        raise InvalidRequest(problems=(FieldProblem("(request)", message),))
    try:
        return await request.body()
    except ClientDisconnect:
        problem = FieldProblem("(request)", "The request ended before it was whole")
        raise InvalidRequest(problems=(problem,)) from None


async def parse_json(body: bytes, limits: LimitsSettings) -> object:
    """Return the JSON that a body is; a long one is parsed off the loop.

    Raises:
        InvalidRequest: it is none, or more than a request may carry.
    """
    return await run_in_thread(len(body), _parse_body, body, limits)


def _parse_body(body: bytes, limits: LimitsSettings) -> object:
    try:
        given: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        problem = FieldProblem("(request)", f"Not valid JSON: {error}")
        raise InvalidRequest(problems=(problem,)) from None
    check_limits(given, limits)
    return given


def read_idempotency_key(request: Request, given: str | None) -> str | None:
    """Return the key of a start: from the body, or from the header that others use for it.

    Raises:
        InvalidRequest: both are there and differ, or the header's is too long or odd.
    """
    sent = request.headers.get("idempotency-key") or None
    if sent is not None and not (len(sent) <= MAX_KEY_CHARS and sent.isascii()):
        message = f"The header may have at most {MAX_KEY_CHARS} characters, all of them ASCII"
    elif sent is not None and given is not None and sent != given:
        message = "The header Idempotency-Key says otherwise: give one of them"
    else:
        return given or sent
    raise InvalidRequest(problems=(FieldProblem("idempotencyKey", message),))


def json_response(
    content: Mapping[str, Json], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an answer that carries JSON."""
    sent = {**RETRY_AFTER.get(status, {}), **(headers or {})}
    return Response(to_json(content), status, sent, "application/json")


def failure_response(error: CinderError, content: Mapping[str, Json]) -> Response:
    """Return an answer that tells of an error, with its status and when to come back."""
    return json_response(content, http_status(error), _retry_after(error))


def _retry_after(error: CinderError) -> dict[str, str]:
    seconds = error.retry_after_seconds if isinstance(error, RateLimited) else None
    return {} if seconds is None else {"Retry-After": str(seconds)}


def error_response(error: CinderError, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error where no route of its own can say it."""
    content: dict[str, Json] = {"success": False, "error": describe_error(error)}
    return json_response(content, http_status(error), {**_retry_after(error), **(headers or {})})
