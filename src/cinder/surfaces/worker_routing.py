"""Requests in a server of several workers: what belongs to another of them is passed on to it.

An MCP session lives in the worker that opened it. Its id names that worker, and requests for it
that arrive elsewhere are forwarded over the worker's own Unix socket, before anything else is done
with them: who may send them, and how many, is decided where they are answered.
"""

import re
from http import HTTPStatus

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.surfaces.forwarding import CLIENT_HEADER, forward, restore_client
from cinder.worker_group import WorkerGroup

_MCP_PATH = "/mcp"
_SESSION_HEADER = MCP_SESSION_ID_HEADER.encode()
_SESSION = re.compile(rb"(\d{1,3})-([\x21-\x7e]+)")


class WorkerRouting:
    """Serves what a worker of a server is asked, by clients and by the other workers."""

    def __init__(self, app: ASGIApp, group: WorkerGroup) -> None:
        self._app = app
        self._group = group

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _is_from_worker(scope):
            await self._serve_worker(scope, receive, send)
        elif scope["path"] == _MCP_PATH:
            await self._serve_mcp(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = self._owner_of_session(scope)
        if owner in (None, self._group.number):
            await self._serve_own(scope, receive, send)
        else:
            await forward(self._group.socket_path(owner), scope, receive, send)

    async def _serve_worker(self, scope: Scope, receive: Receive, send: Send) -> None:
        if any(name == CLIENT_HEADER for name, _ in scope["headers"]):
            await self._serve_own(restore_client(scope), receive, send)
            return
        question = await Request(scope, receive).body()
        answer = await self._group.answer(scope["path"].lstrip("/"), question)
        status = HTTPStatus.NOT_FOUND if answer is None else HTTPStatus.OK
        await PlainTextResponse(answer or b"", status)(scope, receive, send)

    async def _serve_own(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve MCP, whose session ids have this worker's number for clients alone."""
        prefix = b"%d-" % self._group.number
        headers = [
            (name, value.removeprefix(prefix) if name == _SESSION_HEADER else value)
            for name, value in scope["headers"]
        ]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, prefix + value if name == _SESSION_HEADER else value)
                    for name, value in message.get("headers", ())
                ]
            await send(message)

        await self._app({**scope, "headers": headers}, receive, sent)

    def _owner_of_session(self, scope: Scope) -> int | None:
        """Return the worker that has a request's session; None where the id names none."""
        found = [value for name, value in scope["headers"] if name == _SESSION_HEADER]
        named = _SESSION.fullmatch(found[0].strip()) if len(found) == 1 else None
        number = int(named[1]) if named else self._group.size
        return number if number < self._group.size else None


def _is_from_worker(scope: Scope) -> bool:
    """Whether a request came over this worker's Unix socket, which only its user can open."""
    server = scope.get("server")
    return server is not None and server[1] is None
