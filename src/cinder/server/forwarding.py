"""Forwarding between workers: requests of an MCP session go to the worker that holds it.

An MCP session lives in the worker that opened it, and its id names that worker. Another worker
forwards its requests over a Unix socket before any other step: the owner of the session
authenticates and limits them.
"""

import asyncio
import json
import re
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import h11
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.worker_group import WorkerGroup

CLIENT_HEADER = b"cinder-client"
"""The client of a forwarded request. Only workers can set it."""

_READ_BYTES = 64 * 1024
# The worker that responds adds its own.
_HOP_BY_HOP_HEADERS = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"expect", b"date"}
)
# The SDK's response for unknown sessions: the client opens another one.
_NO_SESSION = (
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found: the server '
    'process that had it has ended"}}'
)


async def forward(path: Path, scope: Scope, receive: Receive, send: Send) -> None:
    """Forward a request to the worker that listens on a Unix socket."""
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError:
        await _answer_no_session(scope, receive, send)
        return
    exchange = _ForwardedRequest(reader, writer)
    try:
        await exchange.run(scope, receive, send)
    except (OSError, h11.RemoteProtocolError):
        if exchange.has_answered:
            raise
        await _answer_no_session(scope, receive, send)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def restore_client(scope: Scope) -> Scope:
    """Return the scope of a forwarded request as the client sent it."""
    headers = [(name, value) for name, value in scope["headers"] if name != CLIENT_HEADER]
    [sender] = [value for name, value in scope["headers"] if name == CLIENT_HEADER]
    client, server, scheme = json.loads(sender)
    return {
        **scope,
        "headers": headers,
        "client": client and tuple(client),
        "server": server and tuple(server),
        "scheme": scheme,
    }


class _ForwardedRequest:
    """A forwarded request and its response, on a connection of their own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._connection = h11.Connection(h11.CLIENT)
        self.has_answered = False

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream the request and the response until one side ends."""
        sender = json.dumps([scope.get("client"), scope.get("server"), scope["scheme"]])
        names = {name for name, _ in scope["headers"]}
        dropped = _HOP_BY_HOP_HEADERS | {CLIENT_HEADER}
        headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
        if b"transfer-encoding" in names and b"content-length" not in names:
            headers.append((b"transfer-encoding", b"chunked"))
        headers += [(b"connection", b"close"), (CLIENT_HEADER, sender.encode())]
        query = b"?" + scope["query_string"] if scope.get("query_string") else b""
        target = scope.get("raw_path", scope["path"].encode()) + query
        await self._write(h11.Request(method=scope["method"], target=target, headers=headers))
        # Both tasks are awaited below.
        sending = asyncio.ensure_future(self._send_body(receive))  # noqa: TID251
        answering = asyncio.ensure_future(self._answer(send))  # noqa: TID251
        try:
            await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
            else:
                sending.result()
        finally:
            for task in (sending, answering):
                task.cancel()
            await asyncio.gather(sending, answering, return_exceptions=True)

    async def _send_body(self, receive: Receive) -> None:
        """Send the body, and return when the client disconnects."""
        while (message := await receive())["type"] != "http.disconnect":
            # A worker that refuses the body stops reading it.
            with suppress(OSError):
                if self._connection.our_state is h11.SEND_BODY and message.get("body"):
                    await self._write(h11.Data(data=message["body"]))
                if self._connection.our_state is h11.SEND_BODY and not message.get("more_body"):
                    await self._write(h11.EndOfMessage())

    async def _answer(self, send: Send) -> None:
        while True:
            while (event := self._connection.next_event()) is h11.NEED_DATA:
                self._connection.receive_data(await self._reader.read(_READ_BYTES))
            if isinstance(event, h11.Response):
                self.has_answered = True
                headers = [(n, v) for n, v in event.headers if n not in _HOP_BY_HOP_HEADERS]
                status = event.status_code
                await send({"type": "http.response.start", "status": status, "headers": headers})
            elif isinstance(event, h11.Data):
                body = {"type": "http.response.body", "body": bytes(event.data)}
                await send({**body, "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": b""})
                return

    async def _write(self, event: h11.Event) -> None:
        self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()


async def _answer_no_session(scope: Scope, receive: Receive, send: Send) -> None:
    answer = Response(_NO_SESSION, 404, media_type="application/json")
    await answer(scope, receive, send)


_MCP_PATH = "/mcp"
_SESSION_HEADER = MCP_SESSION_ID_HEADER.encode()
_SESSION = re.compile(rb"(\d{1,3})-([\x21-\x7e]+)")


class WorkerRoutingMiddleware:
    """Routes the requests of clients and of other workers."""

    def __init__(self, app: ASGIApp, group: WorkerGroup) -> None:
        self._app = app
        self._group = group

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        # Only the Unix socket has no port, and only the same user can open it.
        elif (server := scope.get("server")) is not None and server[1] is None:
            if any(name == CLIENT_HEADER for name, _ in scope["headers"]):
                await self._serve_own(restore_client(scope), receive, send)
                return
            question = await Request(scope, receive).body()
            answer = await self._group.answer(scope["path"].lstrip("/"), question)
            status = HTTPStatus.NOT_FOUND if answer is None else HTTPStatus.OK
            await PlainTextResponse(answer or b"", status)(scope, receive, send)
        elif scope["path"] != _MCP_PATH:
            await self._app(scope, receive, send)
        else:
            found = [value for name, value in scope["headers"] if name == _SESSION_HEADER]
            named = _SESSION.fullmatch(found[0].strip()) if len(found) == 1 else None
            owner = int(named[1]) if named else self._group.size
            # This worker answers for ids that name no worker.
            if owner == self._group.number or owner >= self._group.size:
                await self._serve_own(scope, receive, send)
            else:
                await forward(self._group.socket_path(owner), scope, receive, send)

    async def _serve_own(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve MCP; clients see session ids with the number of this worker in front."""
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
