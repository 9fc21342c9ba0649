"""Forwarding a request to another worker of this server, as it comes, and its answer back."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import h11
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

CLIENT_HEADER = b"cinder-client"
"""Who sent a forwarded request, and how; only workers can send it to each other."""

_READ_BYTES = 64 * 1024
# Of one connection alone; the server that answers adds its own.
_OF_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"expect", b"date"}
)
# As the SDK answers for sessions that it does not have: the client opens another.
_NO_SESSION = (
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found: the server '
    'process that had it has ended"}}'
)


async def forward(path: Path, scope: Scope, receive: Receive, send: Send) -> None:
    """Have the worker that listens on a Unix socket answer a request."""
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError:
        await _answer_no_session(scope, receive, send)
        return
    exchange = _Exchange(reader, writer)
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
    """Return a forwarded request as it came to the server."""
    headers = [(name, value) for name, value in scope["headers"] if name != CLIENT_HEADER]
    [sent] = [value for name, value in scope["headers"] if name == CLIENT_HEADER]
    client, server, scheme = json.loads(sent)
    return {
        **scope,
        "headers": headers,
        "client": client and tuple(client),
        "server": server and tuple(server),
        "scheme": scheme,
    }


class _Exchange:
    """One request and its answer, over a connection of their own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._connection = h11.Connection(h11.CLIENT)
        self.has_answered = False

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the request while it comes and the answer while that comes; stop with either end."""
        await self._write(_request_of(scope))
        # Both are waited for, whatever happens.
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
        """Send the body, and return when the client has gone."""
        while (message := await receive())["type"] != "http.disconnect":
            # Who answers before the body is over, because it is too long, reads no more of it.
            with suppress(OSError):
                if self._connection.our_state is h11.SEND_BODY and message.get("body"):
                    await self._write(h11.Data(data=message["body"]))
                if self._connection.our_state is h11.SEND_BODY and not message.get("more_body"):
                    await self._write(h11.EndOfMessage())

    async def _answer(self, send: Send) -> None:
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                self.has_answered = True
                headers = [(n, v) for n, v in event.headers if n not in _OF_CONNECTION]
                status = event.status_code
                await send({"type": "http.response.start", "status": status, "headers": headers})
            elif isinstance(event, h11.Data):
                body = {"type": "http.response.body", "body": bytes(event.data)}
                await send({**body, "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": b""})
                return

    # Any: whatever h11 has read.
    async def _next_event(self) -> Any:
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_READ_BYTES))
        return event

    async def _write(self, event: h11.Event) -> None:
        self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()


def _request_of(scope: Scope) -> h11.Request:
    sender = json.dumps([scope.get("client"), scope.get("server"), scope["scheme"]])
    has_length = any(name == b"content-length" for name, _ in scope["headers"])
    is_chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
    framing = [(b"transfer-encoding", b"chunked")] if is_chunked and not has_length else []
    query = b"?" + scope["query_string"] if scope.get("query_string") else b""
    return h11.Request(
        method=scope["method"],
        target=scope.get("raw_path", scope["path"].encode()) + query,
        headers=[
            *((n, v) for n, v in scope["headers"] if n not in _OF_CONNECTION | {CLIENT_HEADER}),
            *framing,
            (b"connection", b"close"),
            (CLIENT_HEADER, sender.encode()),
        ],
    )


async def _answer_no_session(scope: Scope, receive: Receive, send: Send) -> None:
    answer = Response(_NO_SESSION, 404, media_type="application/json")
    await answer(scope, receive, send)
