"""Requests sent to a server by the clock, from a process of their own, and how they were answered.

`python -m tests.faults.load_client` reads a plan as JSON from standard input and prints what came
of it. A process of its own keeps the delays of the sender out of what is measured.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count

# A client that gives up closes its connection, as real ones do.
_PATIENCE_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to send: a rate of a mix of scrapes, or with `is_health` of health checks alone."""

    port: int
    token: str
    site: str
    per_second: float
    seconds: float
    first_page: int = 0
    at_once: int | None = None
    """Send as fast as answers come on this many connections, instead of by the clock."""
    is_health: bool = False


@dataclass(slots=True)
class Sent:
    """What came of a load."""

    statuses: list[int] = field(default_factory=list)
    """0 where the client gave up, -1 where the connection was refused or broken."""
    seconds: list[float] = field(default_factory=list)
    wall_seconds: float = 0.0

    def of(self, *statuses: int) -> list[float]:
        """Return how long the answers with these statuses took, in order of length."""
        pairs = zip(self.statuses, self.seconds, strict=True)
        return sorted(seconds for status, seconds in pairs if status in statuses)

    def count(self, status: int) -> int:
        return self.statuses.count(status)


def scrape_body(plan: Plan, number: int) -> bytes:
    """Return a request of the mix: half cached, 40 % fresh, 10 % rendered."""
    kind = number % 10
    page = plan.first_page + number
    if kind in (0, 2, 4, 6, 8):
        return json.dumps({"url": f"http://{plan.site}/1"}).encode()
    if kind == 9:
        return json.dumps({"url": f"http://{plan.site}/{page}", "mode": "dynamic"}).encode()
    return json.dumps({"url": f"http://{plan.site}/{page}"}).encode()


class Client:
    """Sends the requests of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sent = Sent()

    async def run(self) -> Sent:
        began = time.monotonic()
        await (self._run_closed() if self._plan.at_once else self._run_by_clock())
        self._sent.wall_seconds = time.monotonic() - began
        return self._sent

    async def _run_by_clock(self) -> None:
        plan, began = self._plan, time.monotonic()
        async with asyncio.TaskGroup() as requests:
            for number in range(round(plan.per_second * plan.seconds)):
                await asyncio.sleep(max(0.0, began + number / plan.per_second - time.monotonic()))
                requests.create_task(self._ask(number))

    async def _run_closed(self) -> None:
        until, numbers = time.monotonic() + self._plan.seconds, count()

        async def connection() -> None:
            while time.monotonic() < until:
                await self._ask(next(numbers))

        async with asyncio.TaskGroup() as connections:
            for _ in range(self._plan.at_once or 0):
                connections.create_task(connection())

    async def _ask(self, number: int) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                status = await self._exchange(self._request(number))
        except TimeoutError:
            status = 0
        except (OSError, IndexError, ValueError):
            status = -1
        self._sent.statuses.append(status)
        self._sent.seconds.append(time.monotonic() - began)

    def _request(self, number: int) -> bytes:
        plan = self._plan
        if plan.is_health:
            head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{plan.port}\r\n"
            return f"{head}Connection: close\r\n\r\n".encode()
        body = scrape_body(plan, number)
        head = (
            f"POST /api/v2/scrape HTTP/1.1\r\nHost: 127.0.0.1:{plan.port}\r\n"
            f"Authorization: Bearer {plan.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body

    async def _exchange(self, request: bytes) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._plan.port)
        try:
            writer.write(request)
            return int((await reader.read(-1)).split(b" ", 2)[1])
        finally:
            writer.close()


async def send(plan: Plan) -> Sent:
    """Send the requests of a plan from a process of their own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.load_client",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        printed, _ = await process.communicate(json.dumps(asdict(plan)).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Sent(**json.loads(printed))


if __name__ == "__main__":
    # Clients run on other machines: their own wait for the CPU is not the server's.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    outcome = asyncio.run(Client(Plan(**json.load(sys.stdin))).run())
    sys.stdout.write(json.dumps(asdict(outcome)))
