"""Load shedding: who is refused while the event loop is behind, and who never is."""

import asyncio

from starlette.types import Message, Receive, Scope, Send

from cinder.event_loop import LoopMonitor
from cinder.server.load_shedding import LoadShedder, LoadSheddingMiddleware, SheddingLimits


class Lagging(LoopMonitor):
    """A server whose event loop is as late as the test wants; its requests last until released."""

    def __init__(self, *, spared: int) -> None:
        super().__init__()
        self.late_seconds = 0.0
        self.answered: list[str] = []
        self.release = asyncio.Event()
        self.end_streams = asyncio.Event()
        limits = SheddingLimits(max_lag_seconds=0.1, spared_requests=spared)
        shedder = LoadShedder(limits)
        shedder.monitor = self
        self._app = LoadSheddingMiddleware(self._answer, shedder=shedder)

    @property
    def lag_seconds(self) -> float:
        return self.late_seconds

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if scope["path"] not in ("/healthz", "/events"):
            await self.release.wait()
        self.answered.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/events":
            await self.end_streams.wait()
        await send({"type": "http.response.body", "body": b""})

    async def ask(
        self, path: str, address: str = "192.0.2.1"
    ) -> tuple[int, dict[bytes, bytes], bool]:
        """Return the status, the headers, and whether anything of the request was read."""
        sent: list[Message] = []
        reads = 0

        async def receive() -> Message:
            nonlocal reads
            reads += 1
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "path": path,
            "headers": [],
            "method": "POST",
            "client": (address, 1),
        }
        await self._app(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), reads > 0


async def test_a_crowded_server_that_is_behind_refuses_requests_unread() -> None:
    server = Lagging(spared=2)
    async with asyncio.TaskGroup() as tasks:
        taken = [tasks.create_task(server.ask("/api/v2/scrape")) for _ in range(2)]
        await asyncio.sleep(0)
        server.late_seconds = 1
        status, headers, was_read = await server.ask("/api/v2/scrape")
        assert (status, was_read) == (503, False)
        assert headers[b"retry-after"] == b"5"
        server.release.set()
    assert [task.result()[0] for task in taken] == [200, 200]
    assert (await server.ask("/api/v2/scrape"))[0] == 200


async def test_an_address_with_few_requests_is_spared_while_another_has_many() -> None:
    server = Lagging(spared=4)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(8):
            tasks.create_task(server.ask("/api/v2/scrape"))
        await asyncio.sleep(0)
        server.late_seconds = 5
        assert (await server.ask("/api/v2/scrape"))[0] == 503
        other = tasks.create_task(server.ask("/api/v2/scrape", "192.0.2.2"))
        await asyncio.sleep(0)
        server.release.set()
    assert other.result()[0] == 200


async def test_open_streams_do_not_count() -> None:
    server = Lagging(spared=2)
    async with asyncio.TaskGroup() as tasks:
        streams = [tasks.create_task(server.ask("/events")) for _ in range(5)]
        await asyncio.sleep(0)
        server.late_seconds = 5
        server.release.set()
        assert (await server.ask("/api/v2/scrape"))[0] == 200
        server.end_streams.set()
    assert {stream.result()[0] for stream in streams} == {200}


async def test_few_requests_are_never_refused_however_late_the_loop_is() -> None:
    server = Lagging(spared=2)
    server.late_seconds = 5
    server.release.set()
    assert (await server.ask("/api/v2/scrape"))[0] == 200


async def test_health_is_answered_whatever_happens() -> None:
    server = Lagging(spared=1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.ask("/api/v2/scrape"))
        await asyncio.sleep(0)
        server.late_seconds = 5
        assert (await server.ask("/healthz"))[0] == 200
        assert (await server.ask("/api/v2/scrape"))[0] == 503
        server.release.set()


async def test_the_later_the_loop_runs_the_fewer_requests_are_taken_in() -> None:
    server = Lagging(spared=2)
    async with asyncio.TaskGroup() as tasks:
        server.late_seconds = 0.25
        for _ in range(4):
            tasks.create_task(server.ask("/api/v2/scrape"))
            await asyncio.sleep(0)
        assert (await server.ask("/api/v2/scrape"))[0] == 503
        server.late_seconds = 0.15
        tasks.create_task(server.ask("/api/v2/scrape"))
        await asyncio.sleep(0)
        server.release.set()
    assert server.answered == ["/api/v2/scrape"] * 5
