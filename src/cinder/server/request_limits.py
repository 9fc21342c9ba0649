"""Limits on request heads and bodies: size, time, number and JSON values."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

from starlette.responses import Response
from starlette.types import Message, Receive, Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cinder.api.requests import json_response
from cinder.config.serving import ServerSettings
from cinder.errors import CinderError, ContentTooLarge, InvalidRequest, ScrapeTimeout
from cinder.models.document import Json
from cinder.server.connections import ClientConnection, ConnectionLimits, Connections
from cinder.server.load_shedding import REFUSAL, LoadShedder


class JsonValueCounter:
    """Counts values by the commas and brackets outside of strings.

    An empty list or object counts twice; otherwise the count is exact.
    """

    def __init__(self) -> None:
        self.count = 1
        self._is_in_string = False
        self._held = b""

    def feed(self, piece: bytes) -> None:
        """Count the values in the next piece of the text."""
        # Without escapes, each quote begins or ends a string.
        piece = (self._held + piece).replace(rb"\\", b"")
        self._held = b"\\" if piece.endswith(b"\\") else b""
        parts = piece.removesuffix(b"\\").replace(rb"\"", b"").split(b'"')
        outside = b"".join(parts[int(self._is_in_string) :: 2])
        self._is_in_string ^= len(parts) % 2 == 0
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """The limits of a request body."""

    max_bytes: int
    timeout_seconds: float
    max_json_values: int

    def require_size(self, size: int) -> None:
        """Check the size of a body.

        Raises:
            ContentTooLarge: it is too large.
        """
        if size > self.max_bytes:
            raise ContentTooLarge(
                f"A request may have at most {self.max_bytes} bytes (setting "
                "server.max-request-bytes)"
            )


class BodyRefused(Exception):
    """The body of a request is refused."""

    def __init__(self, error: CinderError) -> None:
        super().__init__(error.message)
        self.error = error


class LimitedBody:
    """Passes the messages of a request on while its body is within the limits."""

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._received = 0
        self._values = JsonValueCounter()
        # None once the body is complete: only a disconnect can follow.
        self._deadline: float | None = asyncio.get_running_loop().time() + limits.timeout_seconds

    async def receive(self) -> Message:
        """Return the next message.

        Raises:
            BodyRefused: the body is beyond the limits.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
            # Counted while it arrives: the JSON parser would block the event loop.
            piece = message.get("body", b"")
            self._received += len(piece)
            self._limits.require_size(self._received)
            if b"\0" in piece:  # an encoding in which values cannot be counted
                raise InvalidRequest.at("(request)", "Not valid JSON in UTF-8: it has a NUL byte")
            self._values.feed(piece)
            if self._values.count > (most := self._limits.max_json_values):
                problem = f"At most {most} values in all (setting limits.json-values)"
                raise InvalidRequest.at("(request)", problem)
        except TimeoutError:
            seconds = self._limits.timeout_seconds
            late = f"The request's body did not arrive within {seconds:g} s"
            error = ScrapeTimeout(f"{late} (setting server.body-timeout-seconds)")
            raise BodyRefused(error) from None
        except (ContentTooLarge, InvalidRequest) as error:
            raise BodyRefused(error) from None
        if not message.get("more_body", False):
            self._deadline = None
        return message


_EXTENSION = "cinder.connection"


def connection_of(scope: Scope) -> ClientConnection | None:
    """Return the connection of a request; None outside of our server."""
    found: ClientConnection | None = scope.get("extensions", {}).get(_EXTENSION)
    return found


class _TooManyRequests(Exception):
    """Stops the parser."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """The HTTP protocol of the server, with limits on silent, slow and endless clients."""

    limits: ClassVar[ServerSettings]
    connections_by_address: ClassVar[Connections]
    shedder: ClassVar[LoadShedder]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on
        super().__init__(*args, **kwargs)
        self._connection: ClientConnection | None = None
        # Bytes since the last complete head or part of a body: heads, trailers, chunk extensions.
        # The parser keeps them in memory without a limit.
        self._pending_bytes = 0
        self._is_in_head = False
        self._is_in_body = False
        self._is_refused = False
        self._discardable_bytes = 0
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        """Count the connection, and start its timeout: a client may never send a byte."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._connection = self.connections_by_address.open(host, transport.abort)
        self._start_clock(self.limits.head_timeout_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_clock()
        if self._connection is not None:
            self._connection.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data within the limits."""
        if self._is_refused or (self._is_in_body and not self._is_under_way):
            self._discardable_bytes -= len(data)
            if self._discardable_bytes < 0:
                self.transport.abort()
                return
        while data and not (self._is_refused or self.transport.is_closing()):
            room = self.limits.max_head_bytes - self._pending_bytes
            if room <= 0 and (self._is_under_way or self._is_in_body):
                # The response to the current request may have started.
                self.transport.abort()
                return
            if room <= 0:
                status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                message = (
                    f"The request's head has more than {self.limits.max_head_bytes} bytes "
                    "(setting server.max-head-bytes). Send fewer or shorter headers."
                )
                error: dict[str, Json] = {"message": message, "code": status.name}
                content: dict[str, Json] = {"success": False, "error": error}
                self._answer_and_close(json_response(content, status, {"Connection": "close"}))
                return
            piece, data = data[:room], data[room:]
            self._pending_bytes += len(piece)
            super().data_received(piece)

    def on_message_begin(self) -> None:
        """Start the timeout of the next head; that of the first starts with the connection."""
        super().on_message_begin()
        self.scope["extensions"] = {_EXTENSION: self._connection}  # type: ignore[dict-item]  # ours
        self._is_in_head = True
        if self.cycle is not None and self.cycle.response_complete:
            self._start_clock(self.limits.head_timeout_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head, and ignore trailers."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start a request, or refuse it."""
        self._pending_bytes = 0
        self._is_in_head, self._is_in_body = False, True
        self._stop_clock()
        if len(self.pipeline) >= self.limits.max_pipelined_requests:
            self.transport.abort()
            raise _TooManyRequests
        address, path = self.client[0] if self.client else "", self.url.decode("latin-1")
        if not self._is_under_way and self.shedder.must_refuse(path, address):
            self._answer_and_close(REFUSAL)
            return
        if self._connection is not None and not self._is_under_way:
            self._connection.ask()
        super().on_headers_complete()
        # Closing while the client still sends resets the connection before it reads the response.
        self.cycle.transport = _ResponseTransport(self)  # type: ignore[assignment]  # the part that is used

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._pending_bytes = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next head."""
        self._pending_bytes = 0
        self._is_in_body = False
        if self._is_refused:
            return
        super().on_message_complete()
        if not self._is_under_way:
            self._start_clock(self.limits.keep_alive_seconds)

    def on_response_complete(self) -> None:
        """Wait for the next request, or discard the rest of one that was answered early."""
        if not self._is_under_way:  # else a pipelined request follows
            if self._connection is not None:
                self._connection.wait()
            if self._is_in_body:
                self._start_discarding()
            elif self._is_in_head:
                self._start_clock(self.limits.head_timeout_seconds)
            else:
                self._start_clock(self.limits.keep_alive_seconds)
        super().on_response_complete()
        # The timeout of the base class stops at any byte.
        self._unset_keepalive_if_required()

    def close_after_response(self) -> None:
        """Close; if the client still sends, read on for a while, so that it gets the response."""
        if self._is_in_body and not self.pipeline and not self.transport.is_closing():
            self._write_eof()
        else:
            self.transport.close()

    @property
    def _is_under_way(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_discarding(self) -> None:
        self._discardable_bytes = self.limits.max_discarded_bytes
        self._start_clock(self.limits.discard_seconds)

    def _answer_and_close(self, response: Response) -> None:
        """Send a response without the app, and close the connection."""
        status = HTTPStatus(response.status_code)
        lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
        lines += [b"%b: %b" % header for header in response.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self._write_eof()

    def _write_eof(self) -> None:
        self._is_refused = True
        with suppress(OSError):  # the client may have disconnected
            self.transport.write_eof()
        self._start_discarding()

    def _start_clock(self, seconds: float) -> None:
        self._stop_clock()
        self._clock = self.loop.call_later(seconds, self.transport.abort)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


class _ResponseTransport:
    """The transport of a response."""

    def __init__(self, protocol: LimitedHttpProtocol) -> None:
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        self._protocol.close_after_response()


def limited_protocol(
    server: ServerSettings, max_connections: int, shedder: LoadShedder
) -> type[LimitedHttpProtocol]:
    """Return the protocol class with the limits of the settings and its own connections."""
    connections = Connections(
        ConnectionLimits(
            max_connections=max_connections,
            max_per_address=server.max_connections_per_address,
            max_unauthenticated_per_address=server.max_unauthenticated_connections_per_address,
            trusted_proxies=server.trusted_proxies,
        )
    )
    attributes = {"limits": server, "connections_by_address": connections, "shedder": shedder}
    return type("BoundedHeads", (LimitedHttpProtocol,), attributes)
