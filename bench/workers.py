"""Worker processes: how much more two of them answer than one, cached and fresh.

A fresh page costs about as much in the parsing processes as in the server, so that one worker uses
more than one core already. How much more two could answer at most is printed beside, and what one
worker answers that is held to one core.
"""

import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.cpu import tree_cpu_seconds
from bench.load_process import Plan, run_load
from bench.website import run_website
from tests.api.running import RunningServer, run_server

DOCUMENT_BYTES = 30_000
CACHED_CONNECTIONS = 32
FRESH_CONNECTIONS = 16
CACHED_REQUESTS = 3_000
FRESH_REQUESTS = 300
ROUNDS = 3
BAR = 1.7
PATH = "/api/v2/scrape"


@dataclass(frozen=True, slots=True)
class Round:
    """What one run of requests came to."""

    per_second: float
    cpu_ms: float
    """Of the server and all its processes, a request."""
    parallelism: float
    """CPU seconds of the server by the clock's."""
    client_share: float
    """CPU seconds of the client by the clock's."""
    refused: int


async def bench_workers() -> None:
    async with run_website(DOCUMENT_BYTES) as website:
        with tempfile.TemporaryDirectory() as folder:
            variables = {"CINDER_EGRESS__ALLOW": website.address, "CINDER_LOG__LEVEL": "warning"}
            async with (
                _on_one_core(Path(folder) / "core", variables) as one_core,
                run_server(Path(folder) / "one", **variables) as one,
                run_server(Path(folder) / "two", CINDER_SERVER__WORKERS="2", **variables) as two,
            ):
                pages = Pages(website.address)
                servers = {"1 worker on 1 core": one_core, "1 worker": one, "2 workers": two}
                for kind in (
                    Kind("cached", CACHED_CONNECTIONS, pages.cached),
                    Kind("fresh", FRESH_CONNECTIONS, pages.fresh),
                ):
                    await _compare(kind, servers)


class Pages:
    """The bodies of requests: for one page, or each for another that nobody has asked for."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._next = 2

    def cached(self) -> list[str]:
        return [self._body(1)] * CACHED_REQUESTS

    def fresh(self) -> list[str]:
        first, self._next = self._next, self._next + FRESH_REQUESTS
        return [self._body(number) for number in range(first, self._next)]

    def _body(self, number: int) -> str:
        url = f"http://{self._address}/{number}"
        return json.dumps({"url": url, "formats": ["markdown"]})


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of requests."""

    name: str
    connections: int
    bodies: Callable[[], list[str]]


@asynccontextmanager
async def _on_one_core(data_dir: Path, variables: dict[str, str]) -> AsyncIterator[RunningServer]:
    """Run a server that has one core, which all its processes inherit from this one."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        running = run_server(data_dir, **variables)
        server = await running.__aenter__()
    finally:
        os.sched_setaffinity(0, cores)
    try:
        yield server
    finally:
        await running.__aexit__(None, None, None)


async def _compare(kind: Kind, servers: dict[str, RunningServer]) -> None:
    for server in servers.values():
        await _measure(server, kind.connections, kind.bodies()[: kind.connections * 4])
    # In turns, so that whatever else the machine does falls on all of them.
    rounds = [
        [await _measure(each, kind.connections, kind.bodies()) for each in servers.values()]
        for _ in range(ROUNDS)
    ]
    for name, measured in zip(servers, zip(*rounds, strict=True), strict=True):
        print(
            f"{kind.name}, {name}: {median(r.per_second for r in measured):.0f} requests/s, "
            f"{median(r.cpu_ms for r in measured):.2f} ms CPU a request, "
            f"{median(r.parallelism for r in measured):.2f} cores, "
            f"client {median(r.client_share for r in measured):.2f} cores, "
            f"{sum(r.refused for r in measured)} refused"
        )
    one_core, ratio = (median(r[2].per_second / r[n].per_second for r in rounds) for n in (0, 1))
    ceiling = len(os.sched_getaffinity(0)) / median(r[1].parallelism for r in rounds)
    print(
        f"{kind.name}: 2 workers answer {ratio:.2f} times as much as one (bar {BAR}; at most "
        f"{ceiling:.2f} with these cores), {one_core:.2f} times as much as one on one core"
    )


async def _measure(server: RunningServer, connections: int, bodies: list[str]) -> Round:
    host, _, port = server.url.removeprefix("http://").partition(":")
    before = tree_cpu_seconds(server.process.pid)
    took = await run_load(Plan(host, int(port), PATH, server.token, connections, bodies))
    cpu = tree_cpu_seconds(server.process.pid) - before
    return Round(
        per_second=len(bodies) / took.seconds,
        cpu_ms=cpu / len(bodies) * 1000,
        parallelism=cpu / took.seconds,
        client_share=took.cpu_seconds / took.seconds,
        refused=took.refused,
    )
