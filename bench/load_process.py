"""A client that costs little: POSTs over keep-alive connections, and their answers thrown away.

`python -m bench.load_process` reads a plan as JSON on standard input and prints what it took. It is
a process of its own, so that its CPU seconds can be told apart from the server's.
"""

import asyncio
import json
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send."""

    host: str
    port: int
    path: str
    token: str
    connections: int
    bodies: list[str]


@dataclass(frozen=True, slots=True)
class Took:
    """What it took."""

    seconds: float
    """By the clock."""
    cpu_seconds: float
    """Of the client."""
    refused: int
    """Answers 503, after which the request was sent again."""


async def run_load(plan: Plan) -> Took:
    """Send everything from another process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.load_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(json.dumps(asdict(plan)).encode())
    assert process.returncode == 0, "the client failed"
    return Took(**json.loads(out))


class _Connection:
    def __init__(self, plan: Plan, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection((plan.host, plan.port))
        self._requests = requests
        self._buffer = bytearray(1 << 20)
        self._length = 0
        self._whole = 0
        self._request: bytes | None = None
        self.refused = 0

    def send_next(self) -> bool:
        """Send the next request, or again the one that was refused; False where there are none."""
        self._length = self._whole = 0
        self._request = self._request or next(self._requests, None)
        if self._request is not None:
            self.socket.sendall(self._request)
        return self._request is not None

    def read(self) -> bool:
        """Read what has come; return whether the answer is whole."""
        received = self.socket.recv_into(memoryview(self._buffer)[self._length :])
        assert received, "the server closed a connection"
        self._length += received
        if not self._whole:
            end = self._buffer.find(b"\r\n\r\n", 0, self._length)
            if end < 0:
                return False
            head = bytes(self._buffer[:end]).lower()
            assert head.startswith((b"http/1.1 200", b"http/1.1 503")), head
            if head.startswith(b"http/1.1 503"):
                self.refused += 1
            else:
                self._request = None
            self._whole = end + 4 + int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        return self._length >= self._whole


def _requests(plan: Plan) -> Iterator[bytes]:
    for body in plan.bodies:
        yield (
            f"POST {plan.path} HTTP/1.1\r\nHost: {plan.host}:{plan.port}\r\n"
            f"Authorization: Bearer {plan.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def _run(plan: Plan) -> Took:
    requests = _requests(plan)
    connections = [_Connection(plan, requests) for _ in range(plan.connections)]
    cpu, started = time.process_time(), time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            if connection.send_next():
                selector.register(connection.socket, selectors.EVENT_READ, connection)
        while selector.get_map():
            for key, _ in selector.select():
                if key.data.read() and not key.data.send_next():
                    selector.unregister(key.fileobj)
    took = Took(
        seconds=time.perf_counter() - started,
        cpu_seconds=time.process_time() - cpu,
        refused=sum(connection.refused for connection in connections),
    )
    for connection in connections:
        connection.socket.close()
    return took


if __name__ == "__main__":
    print(json.dumps(asdict(_run(Plan(**json.loads(sys.stdin.read()))))))
