"""Request bodies that may be neither too large nor too slow."""

import asyncio
from dataclasses import dataclass

from starlette.types import Message, Receive

from cinder.errors import CinderError, ContentTooLarge, ScrapeTimeout


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """What a request's body may take."""

    max_bytes: int
    timeout_seconds: float

    def require_size(self, size: int) -> None:
        """Return if a body may have this size.

        Raises:
            ContentTooLarge: it may not.
        """
        if size > self.max_bytes:
            raise ContentTooLarge(
                f"A request may have at most {self.max_bytes} bytes (setting "
                "server.max-request-bytes)"
            )


class BodyRefused(Exception):
    """Nothing more is read of a request, for this reason."""

    def __init__(self, error: CinderError) -> None:
        super().__init__(error.message)
        self.error = error


class BoundedBody:
    """Hands the messages of one request on, for as long as its body keeps to the limits."""

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._received = 0
        # None once the body is whole: what comes then is only the news that the caller has gone.
        self._deadline: float | None = asyncio.get_running_loop().time() + limits.timeout_seconds

    async def receive(self) -> Message:
        """Return the next message.

        Raises:
            BodyRefused: the body is beyond the limits.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
            self._received += len(message.get("body", b""))
            self._limits.require_size(self._received)
        except TimeoutError:
            seconds = self._limits.timeout_seconds
            late = f"The request's body did not arrive within {seconds:g} s"
            error = ScrapeTimeout(f"{late} (setting server.body-timeout-seconds)")
            raise BodyRefused(error) from None
        except ContentTooLarge as error:
            raise BodyRefused(error) from None
        if not message.get("more_body", False):
            self._deadline = None
        return message
