"""`cinder serve` and `cinder worker` as processes: start, stop, and what survives their death."""

import asyncio
import os
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.running import RunningServer, run_server
from tests.cli.commands import Commands, finish, free_port
from tests.faults.asking import until
from tests.site import Site

SCRAPES = 200


async def test_the_server_prints_where_it_listens_and_its_token(tmp_path: Path) -> None:
    async with run_server(tmp_path / "data") as server, server.client() as client:
        assert (await client.get("/readyz")).json()["status"] == "ready"
        assert server.token == (tmp_path / "data" / "api-token").read_text().strip()


async def test_a_port_in_use_is_told_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = await Commands(tmp_path, "", port).run("serve")
    advice = "Stop what listens there, or choose another with --port"
    assert (done.code, done.out) == (1, "")
    assert done.err == f"cinder: 127.0.0.1:{port} is in use. {advice}\n"


async def test_an_address_of_another_machine_is_told_in_one_sentence(tmp_path: Path) -> None:
    commands = Commands(tmp_path, "", 1)
    done = await commands.run(
        "serve", "--host", "192.0.2.1", "--port", "0", CINDER_SERVER__API_TOKEN="T" * 40
    )
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("cinder: Cannot listen on 192.0.2.1:0: ")
    assert done.err.count("\n") == 1


async def test_a_told_stop_is_a_clean_one(tmp_path: Path) -> None:
    async with run_server(tmp_path / "data") as server:
        server.process.terminate()
        async with asyncio.timeout(60):
            await server.process.wait()
    with sqlite3.connect(tmp_path / "data" / "cinder.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


async def test_a_request_that_a_stop_cuts_off_is_told_to_come_back(
    tmp_path: Path, site: Site
) -> None:
    variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SERVER__SHUTDOWN_SECONDS": "1"}
    async with (
        run_server(tmp_path / "data", **variables) as server,
        server.client() as client,
        asyncio.TaskGroup() as requests,
    ):
        body = {"url": site.url("/silent")}
        waiting = requests.create_task(client.post("/v1/scrape", json=body))
        await site.asked("/silent")
        server.process.terminate()
        response = await waiting
    assert (response.status_code, response.json()["error"]["code"]) == (503, "OVERLOADED")
    assert response.headers["Retry-After"] == "5"


async def test_what_was_answered_survives_the_servers_sudden_death(
    tmp_path: Path, site: Site
) -> None:
    data_dir = tmp_path / "data"
    async with run_server(data_dir, CINDER_EGRESS__ALLOW=site.address) as server:
        uris = await _scrape_until_killed(server, site)
    assert 0 < len(uris) < 2 * SCRAPES
    async with run_server(data_dir, CINDER_EGRESS__ALLOW=site.address) as server:
        await _read_all(server, uris)
    with sqlite3.connect(data_dir / "cinder.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


async def _scrape_until_killed(server: RunningServer, site: Site) -> list[str]:
    """Kill the server in the middle of many scrapes; return the URIs it had answered by then."""
    answered: list[str] = []
    half_done = asyncio.Event()

    async def scrape(client: httpx2.AsyncClient, number: int) -> None:
        body = {"url": site.url(f"/numbered?n={number}"), "formats": ["markdown"]}
        try:
            response = await client.post("/api/v2/scrape", json=body)
        except httpx2.TransportError:
            return
        if response.status_code == 503:
            return  # a slow machine takes fewer at once
        data: dict[str, Any] = response.json()["data"]
        answered.extend(data["savedUris"].values())
        if len(answered) >= SCRAPES // 8:
            half_done.set()

    async with server.client() as client, asyncio.TaskGroup() as scrapes:
        for number in range(SCRAPES):
            scrapes.create_task(scrape(client, number))
        await half_done.wait()
        await server.kill()
    return answered


async def _read_all(server: RunningServer, uris: list[str]) -> None:
    async with (
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        for uri in uris:
            result = await client.read_resource(uri)
            assert "Ember" in str(result.contents)


async def test_beyond_so_many_requests_under_way_more_are_refused(tmp_path: Path) -> None:
    async with run_server(tmp_path / "data", CINDER_SERVER__MAX_CONNECTIONS="10") as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        unfinished = (
            "POST /v1/scrape HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Length: 9\r\n\r\n{{"
        )
        held = [await asyncio.open_connection(host, int(port)) for _ in range(10)]
        for _, writer in held:
            writer.write(unfinished.encode())
        async with server.client() as client:

            async def is_refused() -> bool:
                answer = await client.get("/readyz")
                return answer.status_code == 503 and "server.max-connections" in answer.text

            await until(is_refused)
            assert (await client.get("/healthz")).status_code == 200
            for _, writer in held:
                writer.close()
                await writer.wait_closed()

            async def is_answered() -> bool:
                return (await client.get("/readyz")).status_code == 200

            await until(is_answered)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may raise it")
async def test_the_server_runs_before_its_parsers_and_browsers(tmp_path: Path, site: Site) -> None:
    variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SERVER__NICE": "-2"}
    async with run_server(tmp_path / "data", **variables) as server, server.client() as client:
        body = {"url": site.url("/article"), "mode": "dynamic"}
        assert (await client.post("/api/v2/scrape", json=body)).status_code == 200
        process = psutil.Process(server.process.pid)
        own = os.getpriority(os.PRIO_PROCESS, process.pid)
        others = {os.getpriority(os.PRIO_PROCESS, child.pid) for child in process.children()}
    assert own in (-2, os.getpriority(os.PRIO_PROCESS, 0))  # without the right it stays as it is
    assert others
    assert min(others) >= max(own, 0)


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


async def ready(worker: asyncio.subprocess.Process) -> None:
    """Wait until a worker works."""
    assert worker.stdout is not None
    async with asyncio.timeout(60):
        assert (await worker.stdout.readline()).startswith(b"cinder worker: works on up to ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stopped_worker_ends_cleanly(commands: Commands, number: signal.Signals) -> None:
    async with commands.running("worker") as worker:
        await ready(worker)
        worker.send_signal(number)
        done = await finish(worker)
    assert (done.code, done.out) == (0, "cinder worker: stopped\n")
    assert "postgresql://" in done.err
    assert "Traceback" not in done.err


async def test_a_worker_takes_up_what_waits_and_gives_back_what_it_leaves(
    commands: Commands, site: Site
) -> None:
    crawl_id = (
        await commands.run("crawl", site.url("/silent"), "--max-depth", "1", "--detach")
    ).out.strip()
    async with commands.running("worker") as worker:
        await ready(worker)
        await site.asked("/silent")
        worker.terminate()
        done = await finish(worker)
    assert done.code == 0, done.err
    site.release()
    back = await commands.run("crawl", "--attach", crawl_id)
    assert back.out.startswith(f"{crawl_id} completed: 1 page fetched")


async def test_a_worker_that_cannot_open_its_database_says_so_in_one_line(
    commands: Commands,
) -> None:
    (commands.folder / "broken.db").write_bytes(b"not a database" * 100)
    store = f"sqlite:///{commands.folder / 'broken.db'}"
    done = await commands.run("worker", CINDER_STORE__URL=store)
    assert done.code == 1
    assert "CACHE_ERROR" in done.err
    assert "Traceback" not in done.err
