"""SIGTERM under load: what was begun is answered, nothing is left; a second one ends at once."""

import asyncio
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.api.running import RunningServer, run_server
from tests.cli.commands import Commands, finish, free_port
from tests.faults.asking import scrape
from tests.site import Site

_CLIENTS = 8
_DRAIN_SECONDS = 30
_AT_ONCE_SECONDS = 10


def family_of(pid: int) -> list[psutil.Process]:
    """Return what came of a process."""
    return psutil.Process(pid).children(recursive=True)


def left_of(family: list[psutil.Process]) -> list[str]:
    """Return who of them still runs, some moments after the end."""
    _, alive = psutil.wait_procs(family, timeout=5)
    return [str(process) for process in alive]


async def knock(server: RunningServer, site: Site, answers: Counter[int]) -> None:
    """Scrape one page after another until the server takes no more requests."""
    async with server.client() as client:
        number = 0
        with suppress(httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadError):
            while True:
                number += 1
                url = site.url(f"/numbered?n={number}")
                answers[(await scrape(client, url, forceRescrape=True)).status_code] += 1


async def test_a_server_under_load_drains_and_leaves_nothing(tmp_path: Path, site: Site) -> None:
    answers: Counter[int] = Counter()
    async with (
        run_server(
            tmp_path / "data",
            log=str(tmp_path / "server.log"),
            CINDER_EGRESS__ALLOW=site.address,
            CINDER_SERVER__SHUTDOWN_SECONDS="2",
        ) as server,
        server.client() as client,
        asyncio.TaskGroup() as load,
    ):
        for _ in range(_CLIENTS):
            load.create_task(knock(server, site, answers))
        hanging = load.create_task(scrape(client, site.url("/silent"), mode="dynamic"))
        batch = {"urls": [site.url(f"/silent?n={number}") for number in range(4)]}
        await client.post("/api/v2/scrape", json=batch)
        await site.asked("/silent")
        family = family_of(server.process.pid)
        began = time.monotonic()
        server.process.terminate()
        async with asyncio.timeout(_DRAIN_SECONDS):
            code = await server.process.wait()
        assert (await hanging).status_code == 503
    assert code == 0, (tmp_path / "server.log").read_text()[-5_000:]
    assert time.monotonic() - began < _DRAIN_SECONDS
    assert left_of(family) == []
    assert set(answers) <= {200, 503}
    assert answers[200] > 0


async def test_a_second_signal_ends_a_server_and_its_browsers_at_once(
    tmp_path: Path, site: Site
) -> None:
    async with (
        run_server(
            tmp_path / "data",
            log=str(tmp_path / "server.log"),
            CINDER_EGRESS__ALLOW=site.address,
            CINDER_SERVER__SHUTDOWN_SECONDS="60",
        ) as server,
        server.client() as client,
        asyncio.TaskGroup() as load,
    ):
        load.create_task(_cut_off(client, site.url("/silent")))
        await site.asked("/silent")
        family = family_of(server.process.pid)
        names = [process.name() for process in family]
        server.process.terminate()
        await _until_it_listens_no_more(server)
        assert server.process.returncode is None
        server.process.terminate()
        async with asyncio.timeout(_AT_ONCE_SECONDS):
            code = await server.process.wait()
    assert code == 128 + signal.SIGTERM
    assert any(name.startswith(("chrom", "headless")) for name in names), names
    assert left_of(family) == []


async def test_a_second_signal_ends_a_worker_at_once(tmp_path: Path, site: Site) -> None:
    commands = Commands(tmp_path, site.address, free_port())
    await commands.run("crawl", site.url("/silent"), "--max-depth", "1", "--detach")
    async with commands.running("worker") as worker:
        await site.asked("/silent")
        family = family_of(worker.pid)
        # Both at once: the first has no time to end anything.
        worker.terminate()
        worker.send_signal(signal.SIGINT)
        done = await finish(worker)
    assert done.code in (128 + signal.SIGTERM, 128 + signal.SIGINT), done.err
    assert "stopped at once" in done.err
    assert left_of(family) == []


async def _cut_off(client: httpx2.AsyncClient, url: str) -> None:
    """Render a page that never comes; the connection breaks as the server ends."""
    with pytest.raises(httpx2.TransportError):
        await scrape(client, url, mode="dynamic")


async def _until_it_listens_no_more(server: RunningServer) -> None:
    port = int(server.url.rpartition(":")[2])
    with suppress(ConnectionRefusedError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while True:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
                await asyncio.sleep(0.02)
