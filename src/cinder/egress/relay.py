"""Relays HTTP/1.1 exchanges and tunnels between a client and an origin, within an idle limit."""

import asyncio
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

import h11

from cinder.egress.base import ByteStream, PlainUrl, RefusalCode, RequestRefused


class IdleLimit:
    """Ends its block with a TimeoutError when `touch` is not called for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._touched_at = 0.0
        self._check: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self.touch()
        self._end_if_idle()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._check is not None:
            self._check.cancel()
        await self._timeout.__aexit__(kind, exc, at)

    def touch(self) -> None:
        """Restart the timeout."""
        # One timer checks the time: setting one for every piece of a body takes longer.
        self._touched_at = self._loop.time()

    def _end_if_idle(self) -> None:
        ends_at = self._touched_at + self._seconds
        if ends_at <= self._loop.time():
            self._timeout.reschedule(ends_at)
        else:
            self._check = self._loop.call_at(ends_at, self._end_if_idle)


async def tunnel(client: ByteStream, origin: ByteStream, idle: IdleLimit) -> None:
    """Carry bytes both ways until both sides have ended, or one breaks."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_carry(client, origin, idle))
        tasks.create_task(_carry(origin, client, idle))


async def _carry(source: ByteStream, sink: ByteStream, idle: IdleLimit) -> None:
    try:
        while data := await source.read():
            idle.touch()
            await sink.write(data)
        # Only this direction ends: the sink may still send a response.
        sink.end()
    except OSError:
        source.abort()
        sink.abort()


RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
Head: TypeAlias = h11.Request | h11.InformationalResponse | h11.Response

# Transfer-Encoding is hop-by-hop too, but h11 frames bodies by it.
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade"})
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class HttpStream:
    """One end of an HTTP exchange.

    h11 limits the size of heads: a head may exceed the limit by the bytes of one read.
    """

    def __init__(self, stream: ByteStream, http: h11.Connection) -> None:
        self.stream = stream
        self._http = http

    async def receive(self) -> h11.Event:
        """Return the peer's next event, up to the end of its message.

        Raises:
            h11.RemoteProtocolError: it is not HTTP.
        """
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self.stream.read())
        if isinstance(event, h11.Event):
            return event
        raise h11.RemoteProtocolError("There is more than one message")

    async def send(self, event: h11.Event) -> None:
        """Send an event to the peer."""
        if data := self._http.send(event):
            await self.stream.write(data)

    def keep(self, data: bytes) -> None:
        """Buffer bytes that belong to no message yet."""
        self._http.receive_data(data)

    @property
    def beyond(self) -> bytes:
        """The bytes that came in after the peer's message."""
        return self._http.trailing_data[0]

    @property
    def can_answer(self) -> bool:
        """Whether no response has started."""
        return self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def is_mid_message(self) -> bool:
        """Whether the peer has not finished its message."""
        return self._http.their_state in (h11.SEND_BODY, h11.ERROR)


def is_websocket_request(request: h11.Request) -> bool:
    """Whether the client requests an upgrade to WebSocket, the only upgrade that is relayed."""
    return (
        request.method == b"GET"
        and header_tokens(request, b"upgrade") == {b"websocket"}
        and b"upgrade" in header_tokens(request, b"connection")
    )


def request_for_origin(request: h11.Request, url: PlainUrl) -> h11.Request:
    """Return the request to send to the origin.

    Its Host is the URL's, so that the origin is asked for exactly the URL that was checked.
    """
    dropped = {b"host"}
    if header_tokens(request, b"transfer-encoding"):
        # With both headers, the origin might see the body end elsewhere (request smuggling).
        dropped.add(b"content-length")
    return h11.Request(
        method=request.method,
        target=url.path,
        headers=[
            (b"Host", url.authority.encode()),
            *end_to_end(request, dropped),
            *_connection_headers(is_switching=is_websocket_request(request)),
        ],
    )


def response_for_client(response: h11.Response) -> h11.Response:
    """Return the origin's response as sent to the client, whose connection it closes."""
    headers = [*end_to_end(response), *_connection_headers(is_switching=False)]
    return h11.Response(status_code=response.status_code, reason=response.reason, headers=headers)


def informational_for_client(response: h11.InformationalResponse) -> h11.InformationalResponse:
    """Return an interim response of the origin as sent to the client."""
    headers = end_to_end(response)
    if response.status_code == 101:
        headers += _connection_headers(is_switching=True)
    return h11.InformationalResponse(
        status_code=response.status_code, reason=response.reason, headers=headers
    )


def end_to_end(head: Head, dropped: Set[bytes] = frozenset()) -> RawHeaders:
    """Return the end-to-end headers as they were written, without the dropped ones."""
    dropped = dropped | _HOP_BY_HOP | (header_tokens(head, b"connection") - _FRAMING)
    return [
        (name, value)
        for name, value in head.headers.raw_items()
        if (lowered := name.lower()) not in dropped and not lowered.startswith(b"proxy-")
    ]


def header_tokens(head: Head, name: bytes) -> set[bytes]:
    """Return the comma-separated words of a header, in lower case."""
    return {
        word.strip().lower()
        for found, value in head.headers
        if found == name
        for word in value.split(b",")
        if word.strip()
    }


def _connection_headers(*, is_switching: bool) -> RawHeaders:
    if is_switching:
        return [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    return [(b"Connection", b"close")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Relays one request, whose head has been read, and its response."""

    client: HttpStream
    origin: HttpStream
    idle: IdleLimit
    max_informational: int

    async def run(self, request: h11.Request) -> bool:
        """Relay the request and its response; return whether the protocol was switched.

        Raises:
            RequestRefused: the origin did not respond, or not with HTTP.
            OSError: the client is gone.
        """
        try:
            await self.origin.send(request)
        except OSError as exc:
            raise _connection_lost() from exc
        failure: Exception | None = None
        is_switched = False
        async with asyncio.TaskGroup() as tasks:
            body = tasks.create_task(self._relay_body())
            # Raised after the group, which would wrap it.
            try:
                head = await self._receive_final_head()
                is_switched = isinstance(head, h11.InformationalResponse)
                if isinstance(head, h11.InformationalResponse):
                    await self.client.send(informational_for_client(head))
                else:
                    await self.client.send(response_for_client(head))
                    while not isinstance(
                        event := await self._receive_from_origin(), h11.EndOfMessage
                    ):
                        await self.client.send(event)
                    # A bare end: some clients treat trailers as headers, and they are not checked.
                    await self.client.send(h11.EndOfMessage())
            except (OSError, RequestRefused) as exc:
                failure = exc
            body.cancel()
        if failure:
            raise failure
        return is_switched

    async def _relay_body(self) -> None:
        try:
            while not isinstance(event := await self.client.receive(), h11.EndOfMessage):
                self.idle.touch()
                await self._send_to_origin(event)
            # A bare end: trailers would reach the origin unchecked.
            await self._send_to_origin(h11.EndOfMessage())
            # Wait for the client to disconnect, so that the origin is released early.
            if data := await self.client.stream.read():
                self.client.keep(data)
            else:
                self.origin.stream.abort()
        except (OSError, h11.RemoteProtocolError):
            self.origin.stream.abort()

    async def _send_to_origin(self, event: h11.Event) -> None:
        # The origin may respond early and close; its response is relayed then.
        with suppress(OSError):
            await self.origin.send(event)

    async def _receive_final_head(self) -> h11.Response | h11.InformationalResponse:
        for _ in range(self.max_informational + 1):
            event = await self._receive_from_origin()
            if isinstance(event, h11.Response):
                # A browser would take a 407 for this proxy's, and forget its credentials.
                if event.status_code == 407:
                    message = "The origin asks for a proxy's credentials"
                    raise RequestRefused(RefusalCode.BAD_RESPONSE, message)
                return event
            if not isinstance(event, h11.InformationalResponse):
                break
            if event.status_code == 101:
                return event
            await self.client.send(informational_for_client(event))
        raise RequestRefused(
            RefusalCode.BAD_RESPONSE, "The origin sent interim answers without end"
        )

    async def _receive_from_origin(self) -> h11.Event:
        try:
            event = await self.origin.receive()
        except OSError as exc:
            raise _connection_lost() from exc
        except h11.RemoteProtocolError as exc:
            if exc.error_status_hint == 431:
                code = RefusalCode.RESPONSE_HEAD_TOO_LARGE
                raise RequestRefused(code, "The origin's headers are too large") from exc
            message = "The origin's answer is not complete HTTP/1.1"
            raise RequestRefused(RefusalCode.BAD_RESPONSE, message) from exc
        self.idle.touch()
        return event


def _connection_lost() -> RequestRefused:
    return RequestRefused(RefusalCode.CONNECTION_LOST, "The origin broke the connection off")
