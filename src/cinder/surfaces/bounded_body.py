"""Request bodies that may be neither too large, nor too slow, nor of too many values."""

import asyncio
from dataclasses import dataclass

from starlette.types import Message, Receive

from cinder.errors import (
    CinderError,
    ContentTooLarge,
    FieldProblem,
    InvalidRequest,
    ScrapeTimeout,
)
from cinder.surfaces.json_values import JsonValues


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """What a request's body may take."""

    max_bytes: int
    timeout_seconds: float
    max_json_values: int

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

    def require_values(self, count: int) -> None:
        """Return if a body may have so many JSON values.

        Raises:
            InvalidRequest: it may not.
        """
        if count > self.max_json_values:
            message = f"At most {self.max_json_values} values in all (setting limits.json-values)"
            raise InvalidRequest(problems=(FieldProblem("(request)", message),))


class BodyRefused(Exception):
    """The rest of a request is not wanted, for this reason."""

    def __init__(self, error: CinderError) -> None:
        super().__init__(error.message)
        self.error = error


class BoundedBody:
    """Hands the messages of one request on, for as long as its body keeps to the limits."""

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._received = 0
        self._values = JsonValues()
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
            self._take(message.get("body", b""))
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

    def _take(self, piece: bytes) -> None:
        """Count a piece of the body: the parser would hold the event loop until its end.

        Raises:
            ContentTooLarge: there is too much of it.
            InvalidRequest: it has too many values, or an encoding in which they cannot be counted.
        """
        self._received += len(piece)
        self._limits.require_size(self._received)
        if b"\0" in piece:
            problem = FieldProblem("(request)", "Not valid JSON in UTF-8: it has a NUL byte")
            raise InvalidRequest(problems=(problem,))
        self._values.feed(piece)
        self._limits.require_values(self._values.count)
