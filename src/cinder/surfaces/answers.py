"""JSON in and out over HTTP: reading a request's body, writing an answer's."""

from collections.abc import Mapping

from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from cinder.config import LimitsSettings
from cinder.errors import CinderError, FieldProblem, InvalidRequest, RateLimited
from cinder.model.document import Json
from cinder.services.off_loop import off_loop
from cinder.surfaces.errors import RETRY_AFTER, describe_error, http_status
from cinder.surfaces.request_limits import require_within

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
    return await off_loop(len(body), _parse, body, limits)


def _parse(body: bytes, limits: LimitsSettings) -> object:
    try:
        given: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        problem = FieldProblem("(request)", f"Not valid JSON: {error}")
        raise InvalidRequest(problems=(problem,)) from None
    require_within(given, limits)
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


def failed_response(error: CinderError, content: Mapping[str, Json]) -> Response:
    """Return an answer that tells of an error, with its status and when to come back."""
    return json_response(content, http_status(error), _retry_after(error))


def _retry_after(error: CinderError) -> dict[str, str]:
    seconds = error.retry_after_seconds if isinstance(error, RateLimited) else None
    return {} if seconds is None else {"Retry-After": str(seconds)}


def error_response(error: CinderError, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error where no route of its own can say it."""
    content: dict[str, Json] = {"success": False, "error": describe_error(error)}
    return json_response(content, http_status(error), {**_retry_after(error), **(headers or {})})
