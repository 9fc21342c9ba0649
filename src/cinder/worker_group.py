"""The processes of one server (`cinder serve --workers`) and the sockets between them.

Each process listens on a Unix socket in a directory that only their user can open.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

# A process that has just died answers once its replacement listens.
_ANSWER_SECONDS = 2
_MAX_ANSWER_BYTES = 4 * 1024 * 1024

Handler = Callable[[bytes], Awaitable[bytes]]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The worker processes of one server, seen from one of them."""

    number: int
    """The number of this process, from 0."""
    size: int
    directory: Path
    """The directory they share; it is removed when the server stops."""
    _handlers: dict[str, Handler] = field(default_factory=dict)

    def socket_path(self, number: int) -> Path:
        """Return the socket on which a worker listens for the others."""
        return self.directory / str(number)

    @property
    def metrics_directory(self) -> Path:
        """The directory of the workers' metrics."""
        return self.directory / "metrics"

    def handle(self, name: str, handler: Handler) -> None:
        """Register the handler of the other workers' requests of this name."""
        self._handlers[name] = handler

    async def answer(self, name: str, question: bytes) -> bytes | None:
        """Return the answer to another worker; None where no handler has this name."""
        handler = self._handlers.get(name)
        return None if handler is None else await handler(question)

    async def ask_others(self, name: str, question: bytes = b"") -> list[bytes]:
        """Return the answers of the other workers; those that do not answer are left out."""
        others = (number for number in range(self.size) if number != self.number)
        answers = await asyncio.gather(*(self._ask(number, name, question) for number in others))
        return [answer for answer in answers if answer is not None]

    async def _ask(self, number: int, name: str, question: bytes) -> bytes | None:
        path = self.socket_path(number)
        head = f"POST /{name} HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n"
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(path, limit=_MAX_ANSWER_BYTES)
                try:
                    writer.write(
                        f"{head}Content-Length: {len(question)}\r\n\r\n".encode() + question
                    )
                    status, *fields = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                    if b" 200 " not in status:
                        raise OSError(f"it answered {status.decode('latin-1')}")
                    lengths = (f for f in fields if f.startswith(b"content-length:"))
                    return await reader.readexactly(int(next(lengths).partition(b":")[2]))
                finally:
                    writer.close()
        except (OSError, EOFError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            log.warning("another worker did not answer", other=number, asked=name, reason=reason)
            return None
