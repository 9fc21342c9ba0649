"""The DevTools protocol (CDP): commands, responses and events, and the pipe to a local browser.

Unlike a debugging port, a pipe is closed to other processes, and the browser ends by itself when
the other end of the pipe closes.
"""

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from typing import Any, TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger

_log: FilteringBoundLogger = structlog.get_logger()

# Any: the protocol's JSON; each caller knows the shape of the response to its command.
CdpMessage: TypeAlias = dict[str, Any]
Listener: TypeAlias = Callable[[CdpMessage], None]

_SEPARATOR = b"\0"


class CommandFailed(Exception):
    """The browser refused a command."""


class ConnectionClosed(Exception):
    """The browser or the tab is gone."""


class CdpSession:
    """The session of one target on a connection: a tab's, or the browser's own."""

    def __init__(self, connection: "CdpConnection", session_id: str | None) -> None:
        self._connection = connection
        self.id = session_id or ""
        self._listeners: dict[str, list[Listener]] = {}
        self._pending: set[asyncio.Future[CdpMessage]] = set()
        self._closed_because: str | None = None

    async def send(self, method: str, **params: object) -> CdpMessage:
        """Send a command and wait for its response.

        Raises:
            CommandFailed: the browser refused it.
            ConnectionClosed: the browser or the tab is gone.
        """
        return await self.post(method, **params)

    def post(self, method: str, **params: object) -> asyncio.Future[CdpMessage]:
        """Send a command; its response may be awaited or ignored.

        Raises:
            ConnectionClosed: the browser or the tab is gone.
        """
        if self._closed_because is not None:
            raise ConnectionClosed(self._closed_because)

        def retrieve(response: asyncio.Future[CdpMessage]) -> None:
            self._pending.discard(response)
            if not response.cancelled():
                response.exception()  # retrieved, so that asyncio does not warn about it

        response = self._connection.post(method, params, self.id or None)
        self._pending.add(response)
        response.add_done_callback(retrieve)
        return response

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """Add a listener for the events of a name; return a function that removes it."""
        listeners = self._listeners.setdefault(event, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def dispatch(self, event: str, params: CdpMessage) -> None:
        """Call the listeners of an event, until the session is closed: most send commands."""
        for listener in tuple(self._listeners.get(event, ())):
            if self._closed_because is None:
                listener(params)

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent."""
        return self._closed_because is None

    def close(self, reason: str) -> None:
        """Fail all pending and future commands: the target is gone."""
        if self._closed_because is not None:
            return
        self._closed_because = reason
        for response in list(self._pending):
            if not response.done():
                response.set_exception(ConnectionClosed(reason))


class CdpConnection(ABC):
    """A connection with a browser, on the event loop that opened it."""

    def __init__(self, *, ended: str) -> None:
        self.browser = CdpSession(self, None)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended = ended
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[CdpMessage]] = {}
        self._sessions: dict[str, CdpSession] = {}

    @property
    @abstractmethod
    def _can_write(self) -> bool:
        """Whether messages can be sent."""

    @abstractmethod
    def _write(self, message: bytes) -> None:
        """Send a message."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close what carries the messages."""

    def session(self, session_id: str) -> CdpSession:
        """Return the session of an attached target."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = CdpSession(self, session_id)
        return session

    def forget(self, session_id: str, reason: str) -> None:
        """End a session whose target is gone."""
        if session := self._sessions.pop(session_id, None):
            session.close(reason)

    def post(
        self, method: str, params: CdpMessage, session_id: str | None
    ) -> asyncio.Future[CdpMessage]:
        """Send a command and return the future of its response."""
        number = next(self._numbers)
        response: asyncio.Future[CdpMessage] = asyncio.get_running_loop().create_future()
        message: CdpMessage = {"id": number, "method": method, "params": params}
        if session_id is not None:
            message["sessionId"] = session_id
        if not self._can_write:
            response.set_exception(ConnectionClosed(self._ended))
            return response
        self._pending[number] = response
        response.add_done_callback(lambda _: self._pending.pop(number, None))
        self._write(json.dumps(message).encode())
        return response

    def receive(self, text: bytes) -> None:
        """Handle a message of the browser."""
        try:
            message: CdpMessage = json.loads(text)
            if "id" not in message:
                session_id = message.get("sessionId")
                session = self.browser if session_id is None else self._sessions.get(session_id)
                if session is not None:
                    session.dispatch(message["method"], message.get("params", {}))
                return
            response = self._pending.get(message["id"])
            if response is None or response.done():
                return
            if "error" in message:
                response.set_exception(CommandFailed(str(message["error"].get("message"))))
            else:
                response.set_result(message.get("result", {}))
        except Exception:  # noqa: BLE001 - an unexpected message ends only this browser
            _log.exception("browser not understood")
            self.close()

    def close(self) -> None:
        """Disconnect from the browser, and fail all pending commands."""
        self._disconnect()
        for session in (self.browser, *self._sessions.values()):
            session.close(self._ended)
        self._sessions.clear()
        if not self.closed.done():
            self.closed.set_result(None)


class PipeConnection(CdpConnection, asyncio.Protocol):
    """A local browser's pipe, whose end ends the browser."""

    def __init__(self, max_message_bytes: int) -> None:
        super().__init__(ended="The browser has ended")
        self._max_message_bytes = max_message_bytes
        self._partial = bytearray()
        self._reading: asyncio.BaseTransport | None = None
        self._writing: asyncio.WriteTransport | None = None

    @classmethod
    async def open(cls, read_fd: int, write_fd: int, *, max_message_bytes: int) -> "PipeConnection":
        """Take over the two ends of a browser's pipe."""
        loop = asyncio.get_running_loop()
        connection = cls(max_message_bytes)
        with ExitStack() as on_failure:
            reading = on_failure.enter_context(os.fdopen(read_fd, "rb", 0))
            writing = on_failure.enter_context(os.fdopen(write_fd, "wb", 0))
            on_failure.callback(connection.close)
            connection._reading, _ = await loop.connect_read_pipe(lambda: connection, reading)
            transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writing)
            connection._writing = transport
            on_failure.pop_all()
        return connection

    @property
    def _can_write(self) -> bool:
        return self._writing is not None and not self._writing.is_closing()

    def _write(self, message: bytes) -> None:
        if self._writing is not None:
            self._writing.write(message + _SEPARATOR)

    def _disconnect(self) -> None:
        for transport in (self._reading, self._writing):
            if transport is not None:
                transport.close()

    def data_received(self, data: bytes) -> None:
        """Split the browser's output into messages, each of which ends with a NUL."""
        whole, separator, rest = data.rpartition(_SEPARATOR)
        if not separator:
            self._keep(data)
            return
        messages = (bytes(self._partial) + whole).split(_SEPARATOR)
        self._partial = bytearray()
        self._keep(rest)
        for text in messages:
            self.receive(text)

    def _keep(self, data: bytes) -> None:
        self._partial += data
        if len(self._partial) > self._max_message_bytes:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's
        """Close the connection: the browser has ended."""
        self.close()
