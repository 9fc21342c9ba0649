"""A real server with two workers, and what a test does to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx2
import psutil

from tests.api.running import RunningServer, run_server
from tests.site import Site

T = TypeVar("T")

WORKERS = 2
DEADLINE_SECONDS = 60
# As many connections as make sure that each worker has some.
CONNECTIONS = 8


@asynccontextmanager
async def run_group(folder: Path, site: Site, **variables: str) -> AsyncIterator[RunningServer]:
    """Run `cinder serve` with two workers until the exit; its log is server.log in the folder."""
    chosen = {
        "CINDER_SERVER__WORKERS": str(WORKERS),
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_SERVER__SHUTDOWN_SECONDS": "3",
        **variables,
    }
    async with run_server(folder / "data", log=str(folder / "server.log"), **chosen) as server:
        yield server


def workers_of(server: RunningServer) -> list[psutil.Process]:
    """Return the worker processes."""
    return [
        child for child in psutil.Process(server.process.pid).children() if not _has_ended(child)
    ]


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until_replaced(server: RunningServer, killed: psutil.Process) -> None:
    """Wait until a new worker takes connections in the place of one that was killed."""
    port = int(server.url.rpartition(":")[2])

    def takes_connections(worker: psutil.Process) -> bool:
        return any(
            each.laddr and each.laddr.port == port and each.status == psutil.CONN_LISTEN
            for each in worker.net_connections("tcp")
        )

    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            alive = [worker for worker in workers_of(server) if worker.pid != killed.pid]
            if len(alive) == WORKERS and all(map(takes_connections, alive)):
                return
            await asyncio.sleep(0.05)  # the system says who runs when it is asked, and only then


@asynccontextmanager
async def open_clients(
    server: RunningServer, count: int = CONNECTIONS, token: str | None = None
) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Yield clients with a connection each, which the workers share."""
    async with AsyncExitStack() as opened:
        clients = []
        for _ in range(count):
            client = await opened.enter_async_context(server.client())
            if token is not None:
                client.headers["Authorization"] = f"Bearer {token}"
            clients.append(client)
        await asyncio.gather(*(client.get("/healthz") for client in clients))
        yield clients


async def at_once(
    clients: list[httpx2.AsyncClient], ask: Callable[[httpx2.AsyncClient], Awaitable[T]]
) -> list[T]:
    """Return what each client is answered."""
    return list(await asyncio.gather(*(ask(client) for client in clients)))


async def start_crawl(client: httpx2.AsyncClient, url: str) -> str:
    """Start a crawl of a page and what it links to; return its id."""
    response = await client.post("/v1/crawl", json={"url": url, "maxDepth": 2})
    assert response.status_code == 200, response.text
    crawl_id: str = response.json()["crawlId"]
    return crawl_id
