"""A webhook's receiver on loopback, which checks signatures as the documents say."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.egress.loopback import Origin, Reader, Writer, answer_of, open_origin, read_request

SECRET = "a secret of the tests"


@dataclass(frozen=True)
class Message:
    """A message as it arrived."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:  # Any: whatever JSON holds
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def is_genuine(self) -> bool:
        made = hmac.new(SECRET.encode(), self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(f"sha256={made}", self.headers["x-cinder-signature"])


@dataclass
class Receiver:
    """Answers with one status after the other, and with the last one ever after."""

    statuses: list[int] = field(default_factory=lambda: [200])
    headers: tuple[bytes, ...] = ()
    body: bytes = b""
    messages: list[Message] = field(default_factory=list)
    port: int = 0
    _arrival: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}/hook?token=hidden"

    @property
    def ids(self) -> list[str]:
        return [message.event["id"] for message in self.messages]

    async def received(self, count: int) -> None:
        """Wait until so many messages have come."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.messages) >= count)

    async def answer(self, origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        self.messages.append(Message(_read_headers(origin.heads[-1]), origin.bodies[-1]))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        headers = (b"Connection: close", *self.headers)
        writer.write(answer_of(self.body, *headers, status=b"%d Status" % status))
        await writer.drain()
        async with self._arrival:
            self._arrival.notify_all()


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[Receiver]:
    """Listen, on the port where the receiver listened before."""
    async with open_origin(receiver.answer, port=receiver.port) as origin:
        receiver.port = origin.port
        yield receiver


def _read_headers(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:-2]
    pairs = (line.split(": ", 1) for line in lines)
    return {name.lower(): value for name, value in pairs}
