"""The server that a command hands its work to, where one runs on the configured address."""

import asyncio
import http.client
import ipaddress
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cinder.errors import (
    CacheFailed,
    CinderError,
    ErrorCode,
    FieldProblem,
    InvalidRequest,
    Overloaded,
)

if TYPE_CHECKING:
    from cinder.config import Settings

KNOCK_SECONDS = 3
ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ServerLink:
    """A running server, and the token that it wants."""

    host: str
    port: int
    token: str | None

    async def ask(
        self, method: str, path: str, body: object = None, *, seconds: float = ANSWER_SECONDS
    ) -> Any:
        """Return what the server answers; Any, since that is JSON.

        Raises:
            CinderError: the server answered with an error, which this is, or not at all.
        """
        try:
            status, answer = await asyncio.to_thread(
                exchange, self, method, path, body, timeout_seconds=seconds
            )
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Overloaded(
                f"The server on {self.host}:{self.port} does not answer: {error}. What was started "
                "there goes on once it runs again."
            ) from error
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise _error_of(answer)
        return answer


def exchange(
    link: ServerLink, method: str, path: str, body: object = None, *, timeout_seconds: float
) -> tuple[int, Any]:
    """Send one request and return the status and the JSON that came; Any, since it is JSON."""
    connection = http.client.HTTPConnection(link.host, link.port, timeout=timeout_seconds)
    headers = {"Content-Type": "application/json"}
    if link.token is not None:
        headers["Authorization"] = f"Bearer {link.token}"
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, body=sent, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def find_server(settings: "Settings") -> tuple[ServerLink | None, str]:
    """Return the server on the configured address, or None and why there is none to use."""
    from cinder.surfaces.token import find_token

    server = settings.server
    if not server.port:
        return None, "server.port names no port to look for a server on"
    link = ServerLink(_reachable(server.host), server.port, find_token(settings))
    address = f"{link.host}:{link.port}"
    if not may_be_told_token(settings):
        return None, f"no server runs on {address}"
    try:
        status, answer = exchange(link, "GET", "/readyz", timeout_seconds=KNOCK_SECONDS)
    except ConnectionRefusedError:
        return None, f"no server runs on {address}"
    except (OSError, http.client.HTTPException, ValueError):
        return None, f"something other than cinder answers on {address}"
    if status == http.HTTPStatus.UNAUTHORIZED:
        return None, f"the server on {address} wants another token"
    if not isinstance(answer, dict) or "parts" not in answer:
        return None, f"something other than cinder answers on {address}"
    return link, ""


def may_be_told_token(settings: "Settings") -> bool:
    """Whether the configured address may be sent the token that a command finds.

    One that the owner set is meant for the address that he set; the one in the data directory is
    for that directory's own server.
    """
    from cinder.surfaces.server_mark import is_marked

    server = settings.server
    is_set = server.auth == "off" or server.api_token is not None
    return is_set or is_marked(settings.data_dir, server.port)


def _reachable(host: str) -> str:
    """Return an address to connect to where a server listens on this one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def _error_of(answer: Any) -> CinderError:  # Any: JSON
    """Return the error that a server told, to be said and counted as one of this process."""
    told = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(told, dict):
        return CinderError("The server answered with an error that cinder does not know")
    problems = tuple(
        FieldProblem(str(problem["field"]), str(problem["message"]))
        for problem in told.get("validationErrors", ())
    )
    if told.get("code") == ErrorCode.VALIDATION_ERROR and problems:
        return InvalidRequest(problems=problems)
    # Of two with the same code the general one counts.
    known = (*CacheFailed.__subclasses__(), *CinderError.__subclasses__())
    kinds = {str(kind.code): kind for kind in known}
    return kinds.get(str(told.get("code")), CinderError)(str(told.get("message", "")))
