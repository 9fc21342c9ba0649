"""Relays HTTP/1.1 exchanges and tunnels between a client and an origin, within an idle limit."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

import h11

from cinder.egress.base import ByteStream, PlainUrl
from cinder.egress.refusals import RefusalCode, RequestRefused


class IdleLimit:
    """Ends its block with a TimeoutError once so many seconds pass without a touch."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._timeout.__aexit__(exc_type, exc, traceback)

    def touch(self) -> None:
        """Start counting anew."""
        if not self._timeout.expired():
            self._timeout.reschedule(self._loop.time() + self._seconds)


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
        # Only this direction is over: the sink may still have an answer to send.
        sink.end()
    except OSError:
        source.abort()
        sink.abort()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request whose head has been read, and the connection to its origin."""

    client: HttpStream
    origin: HttpStream
    idle: IdleLimit
    max_informational: int

    async def run(self, request: h11.Request) -> bool:
        """Pass the request and its answer on; return whether they agreed to switch protocols.

        Raises:
            Refused: the origin did not answer, or not with HTTP.
            OSError: the client is gone.
        """
        try:
            await self.origin.send(request)
        except OSError as exc:
            raise _connection_lost() from exc
        async with _beside(self._pass_body_on()):
            return await self._pass_answer_back()

    async def _pass_body_on(self) -> None:
        try:
            while not isinstance(event := await self.client.receive(), h11.EndOfMessage):
                self.idle.touch()
                await self._offer(event)
            # A bare end: trailers would reach the origin without having been looked at.
            await self._offer(h11.EndOfMessage())
            await self._wait_for_departure()
        except (OSError, h11.RemoteProtocolError):
            self.origin.stream.abort()

    async def _offer(self, event: h11.Event) -> None:
        try:
            await self.origin.send(event)
        except OSError:
            # It may have answered early and closed; its answer tells.
            return

    async def _wait_for_departure(self) -> None:
        """Free the origin as soon as nobody waits for its answer any more."""
        if data := await self.client.stream.read():
            self.client.keep(data)
        else:
            self.origin.stream.abort()

    async def _pass_answer_back(self) -> bool:
        head = await self._first_final_head()
        if isinstance(head, h11.InformationalResponse):
            await self.client.send(informational_for_client(head))
            return True
        await self.client.send(response_for_client(head))
        while not isinstance(event := await self._hear_origin(), h11.EndOfMessage):
            await self.client.send(event)
        # A bare end: some clients take trailers for headers, which were looked at and these not.
        await self.client.send(h11.EndOfMessage())
        return False

    async def _first_final_head(self) -> h11.Response | h11.InformationalResponse:
        for _ in range(self.max_informational + 1):
            event = await self._hear_origin()
            if isinstance(event, h11.Response):
                return _reject_proxy_challenge(event)
            if not isinstance(event, h11.InformationalResponse):
                break
            if event.status_code == 101:
                return event
            await self.client.send(informational_for_client(event))
        raise RequestRefused(
            RefusalCode.BAD_RESPONSE, "The origin sent interim answers without end"
        )

    async def _hear_origin(self) -> h11.Event:
        try:
            event = await self.origin.receive()
        except OSError as exc:
            raise _connection_lost() from exc
        except h11.RemoteProtocolError as exc:
            raise _bad_response(exc) from exc
        self.idle.touch()
        return event


def _reject_proxy_challenge(response: h11.Response) -> h11.Response:
    # A browser takes it for this proxy's, and forgets the credentials it has for it.
    if response.status_code == 407:
        raise RequestRefused(RefusalCode.BAD_RESPONSE, "The origin asks for a proxy's credentials")
    return response


def _connection_lost() -> RequestRefused:
    return RequestRefused(RefusalCode.CONNECTION_LOST, "The origin broke the connection off")


def _bad_response(exc: h11.RemoteProtocolError) -> RequestRefused:
    if exc.error_status_hint == 431:
        code, message = RefusalCode.RESPONSE_HEAD_TOO_LARGE, "The origin's headers are too large"
    else:
        code, message = RefusalCode.BAD_RESPONSE, "The origin's answer is not complete HTTP/1.1"
    return RequestRefused(code, message)


@asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` for as long as the block runs; the block's own error comes out unwrapped."""
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        try:
            yield
        except (OSError, RequestRefused) as exc:
            failure = exc
        task.cancel()
    if failure:
        raise failure
