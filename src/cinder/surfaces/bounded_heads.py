"""Request heads within bounds: the server's parser knows no limit of size or time of its own."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class BoundedHeads(HttpToolsProtocol):
    """The server's HTTP protocol, which gives up on heads that are too long or too slow."""

    timeout_seconds: ClassVar[float] = 30
    # A read may hold a short head and much of a body, and counts whole.
    max_bytes: ClassVar[int] = 1024 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: handed on as it comes
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._is_in_head = True
        self._deadline: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head, and hand it on to be parsed."""
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.max_bytes:
                self.send_400_response(
                    f"The request's head has more than {self.max_bytes} bytes "
                    "(setting server.max-head-bytes)."
                )
                return
            self._start_clock()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Note that the head is whole."""
        self._is_in_head = False
        self._head_bytes = 0
        self._stop_clock()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the next head may begin."""
        self._is_in_head = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that there is nothing left to wait for."""
        self._stop_clock()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        if self._deadline is None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self.timeout_seconds, self.transport.abort)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def protocol_with_bounded_heads(timeout_seconds: float, max_bytes: int) -> type[BoundedHeads]:
    """Return the protocol with these limits; the server takes a class and no arguments."""
    limits = {"timeout_seconds": timeout_seconds, "max_bytes": max_bytes}
    return type("BoundedHeads", (BoundedHeads,), limits)
