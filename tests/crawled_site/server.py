"""Serving the website on loopback, by HTTP/1.1 on asyncio's streams alone."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus

from tests.crawled_site.answers import Answer, Asked, answer
from tests.crawled_site.visits import Visit, VisitorBook, Visits

LOG, FORGET = "/-/log", "/-/forget"
_LOOK_UP_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Manners:
    """How the website treats its visitors."""

    # Without it each answer would be out before the next request is read, and no two at once.
    latency_seconds: float = 0.005
    crawl_delay: float | None = None


@dataclass(frozen=True, slots=True)
class _Head:
    target: str
    host: str
    user_agent: str


class CrawledServer:
    """The website: it answers, and remembers who came."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners
        self._book = VisitorBook()

    async def listen(self, port: int) -> asyncio.Server:
        """Begin to serve on a port, any free one for 0."""
        return await asyncio.start_server(self._converse, "127.0.0.1", port)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = _read_head(await reader.readuntil(b"\r\n\r\n"))
                reply = self._control(head) or await self._visit(head, reader)
                if not reply.status:
                    break
                writer.write(_on_the_wire(reply))
                await writer.drain()
        writer.close()

    def _control(self, head: _Head) -> Answer | None:
        if head.target == FORGET:
            self._book.forget()
            return Answer(200)
        if head.target != LOG:
            return None
        visits = Visits(self._book.visits)
        told = {
            "visits": [asdict(visit) for visit in visits.all],
            "max_at_once": visits.max_at_once(),
            "min_gap_seconds": visits.min_gap_seconds() if len(visits.all) > 1 else None,
        }
        return Answer(200, json.dumps(told).encode(), "application/json")

    async def _visit(self, head: _Head, reader: asyncio.StreamReader) -> Answer:
        book = self._book
        asked = Asked(head.target, head.host, book.times[head.target], self._manners.crawl_delay)
        book.times[head.target] += 1
        book.under_way[head.host] += 1
        at_once, started = book.under_way[head.host], time.monotonic()
        visit = Visit(head.host, head.target, 0, started, started, at_once, head.user_agent)
        try:
            reply = answer(asked)
            await _pause(self._manners.latency_seconds + reply.wait_seconds, reader)
        finally:
            book.under_way[head.host] -= 1
        book.visits.append(replace(visit, status=reply.status, ended=time.monotonic()))
        return reply


async def _pause(seconds: float, reader: asyncio.StreamReader) -> None:
    """Wait, but no longer than the visitor does: one who was killed is not under way any more."""
    until = time.monotonic() + seconds
    # The end of a stream wakes nobody who is not reading it.
    while (left := until - time.monotonic()) > 0 and not reader.at_eof():  # noqa: ASYNC110
        await asyncio.sleep(min(left, _LOOK_UP_SECONDS))


def _read_head(head: bytes) -> _Head:
    request, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    return _Head(request.split(" ")[1], fields.get("host", ""), fields.get("user-agent", ""))


def _on_the_wire(reply: Answer) -> bytes:
    fields = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        **reply.headers,
    }
    head = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return head.encode() + b"\r\n" + reply.body
