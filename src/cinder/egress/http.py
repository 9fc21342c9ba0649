"""HTTP/1.1 on a byte stream, and which headers may pass from one to the next."""

from collections.abc import Set
from typing import TypeAlias

import h11

from cinder.egress.stream import ByteStream
from cinder.egress.target import PlainUrl

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
Head: TypeAlias = h11.Request | h11.InformationalResponse | h11.Response

# Transfer-Encoding is hop-by-hop too, but h11 reads and writes bodies by it.
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade"})
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class HttpStream:
    """One end of an exchange.

    The limit on heads is h11's: a head may be over it by what a single read brings.
    """

    def __init__(self, stream: ByteStream, http: h11.Connection) -> None:
        self.stream = stream
        self._http = http

    async def receive(self) -> h11.Event:
        """Return what the peer says next, up to the end of its message.

        Raises:
            h11.RemoteProtocolError: it is not HTTP.
        """
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self.stream.read())
        if isinstance(event, h11.Event):
            return event
        raise h11.RemoteProtocolError("There is more than one message")

    async def send(self, event: h11.Event) -> None:
        """Say something to the peer."""
        if data := self._http.send(event):
            await self.stream.write(data)

    def keep(self, data: bytes) -> None:
        """Put away bytes that belong to no message yet."""
        self._http.receive_data(data)

    @property
    def beyond(self) -> bytes:
        """The bytes that came in after the peer's message."""
        return self._http.trailing_data[0]

    @property
    def can_answer(self) -> bool:
        """Whether no answer to the request has begun."""
        return self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def is_mid_message(self) -> bool:
        """Whether the peer is not through with its message."""
        return self._http.their_state in (h11.SEND_BODY, h11.ERROR)


def is_websocket_request(request: h11.Request) -> bool:
    """Whether the client wants to go on with WebSocket frames; no other upgrade is let through."""
    return (
        request.method == b"GET"
        and header_tokens(request, b"upgrade") == {b"websocket"}
        and b"upgrade" in header_tokens(request, b"connection")
    )


def request_for_origin(request: h11.Request, url: PlainUrl) -> h11.Request:
    """Return the request to send to the origin.

    Its Host is the URL's, so that the origin is asked for exactly what was judged.
    """
    dropped = {b"host"}
    if header_tokens(request, b"transfer-encoding"):
        # With both, the origin might see the body end elsewhere than we do.
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
    """Return the origin's answer as the client gets it: the last one on its connection."""
    return h11.Response(
        status_code=response.status_code,
        reason=response.reason,
        headers=[
            *end_to_end(response),
            *_connection_headers(is_switching=False),
        ],
    )


def informational_for_client(response: h11.InformationalResponse) -> h11.InformationalResponse:
    """Return an interim answer of the origin as the client gets it."""
    headers = end_to_end(response)
    if response.status_code == 101:
        headers += _connection_headers(is_switching=True)
    return h11.InformationalResponse(
        status_code=response.status_code, reason=response.reason, headers=headers
    )


def end_to_end(head: Head, dropped: Set[bytes] = frozenset()) -> RawHeaders:
    """Return the headers that are for the other end, as they were written, less the dropped."""
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
