"""Serving an engine on loopback, by HTTP/1.1 on asyncio's streams alone."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from tests.egress.loopback import Origin, Reader, Writer, answer_of, open_origin, read_request


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def parameters(self) -> dict[str, str]:
        """What stands in the URL or in the form."""
        sent = self.body.decode() if self.method == "POST" else urlsplit(self.target).query
        return dict(parse_qsl(sent, keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to be sent."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class SearchServer:
    """An engine: answers, or has the troubles that a test gives it."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self._troubles: list[Reply] = []
        self._is_stalled = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def fail_with(self, *replies: Reply) -> None:
        """Answer the next requests with these instead."""
        self._troubles.extend(replies)

    def stall(self) -> None:
        """Answer nothing from now on."""
        self._is_stalled = True

    def answer(self, asked: Asked) -> Reply:
        raise NotImplementedError

    async def behave(self, origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        asked = _read_head(origin.heads[-1], origin.bodies[-1])
        self.asked.append(asked)
        if self._is_stalled:
            await reader.read()
            return
        reply = self._troubles.pop(0) if self._troubles else self.answer(asked)
        headers = {"Content-Type": reply.content_type, "Connection": "close", **reply.headers}
        lines = [f"{name}: {value}".encode() for name, value in headers.items()]
        status = f"{reply.status} {HTTPStatus(reply.status).phrase}".encode()
        writer.write(answer_of(reply.body, *lines, status=status))
        await writer.drain()


Engine = TypeVar("Engine", bound=SearchServer)


@asynccontextmanager
async def serving(engine: Engine) -> AsyncIterator[Engine]:
    """Serve an engine until the exit."""
    async with open_origin(engine.behave) as origin:
        engine.port = origin.port
        yield engine


def _read_head(head: bytes, body: bytes) -> Asked:
    request, *lines = head.decode().split("\r\n")
    method, target, _ = request.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    return Asked(method, target, {name.lower(): value.strip() for name, _, value in pairs}, body)
