"""Workers that are killed lose nothing; a server that stops, or cannot start, leaves nothing."""

import asyncio
import signal
import socket
from pathlib import Path

import httpx2
import psutil

from cinder.server.local_access import is_port_locked
from tests.api.running import RunningServer
from tests.api.working import Answer, is_over, until
from tests.cli.commands import Commands
from tests.server.workers.group import (
    DEADLINE_SECONDS,
    open_clients,
    run_group,
    start_crawl,
    until_replaced,
    workers_of,
)
from tests.site import Site

BOOKS = 30


async def test_a_crawl_outlives_each_of_its_workers(
    tmp_path: Path, site: Site, stored: dict[str, str]
) -> None:
    variables = {**stored, "CINDER_JOBS__LEASE_SECONDS": "2"}
    async with run_group(tmp_path, site, **variables) as server:
        async with server.client() as client:
            crawl_id = await start_crawl(client, site.url(f"/shelf?books={BOOKS}&lent=1"))
        await site.asked("/lent")
        for worker in workers_of(server):
            worker.kill()
            await until_replaced(server, worker)
        site.release()
        async with server.client() as client:

            async def read() -> Answer:
                answer: Answer = (await client.get(f"/v1/crawl/{crawl_id}?limit=100")).json()
                return answer

            crawl = await until(read, is_over)
            ledger = (await client.get(f"/v1/crawl/{crawl_id}/ledger?limit=100")).json()
    assert crawl["status"] == "completed"
    urls = [page["url"] for page in crawl["pages"]]
    books = {site.url(f"/book?n={number}") for number in range(BOOKS)}
    shelf = site.url(f"/shelf?books={BOOKS}&lent=1")
    assert sorted(urls) == sorted({shelf, site.url("/lent?n=99"), *books})
    # The page that robots may not read, and the one that is not there.
    assert len(ledger["urls"]) == len(urls) + 2


async def test_a_new_worker_takes_part_in_what_is_under_way(tmp_path: Path, site: Site) -> None:
    # One page at a time for each worker, and no page ends before the test lets go.
    variables = {"CINDER_JOBS__CONCURRENCY": "2", "CINDER_JOBS__LEASE_SECONDS": "300"}
    async with run_group(tmp_path, site, **variables) as server, server.client() as client:
        urls = [site.url(f"/silent?n={number}") for number in range(4)]
        batch = {"urls": urls, "timeout": 300_000}
        assert (await client.post("/api/v2/scrape", json=batch)).status_code == 200
        await until_asked(site, "/silent", 2)
        for killed in workers_of(server):
            before = site.hits("/silent")
            killed.kill()
            await until_replaced(server, killed)
            await until_asked(site, "/silent", before + 1)
        site.release()


async def until_asked(site: Site, path: str, times: int) -> None:
    """Wait until a page was asked for so often."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            if site.hits(path) >= times:
                return
            await asyncio.sleep(0.05)  # the site counts in another thread


async def test_requests_go_on_while_a_worker_is_killed(tmp_path: Path, site: Site) -> None:
    broken = 0

    async def ask(client: httpx2.AsyncClient, number: int) -> None:
        """Scrape pages one after another, again where the connection broke."""
        nonlocal broken
        for page in range(15):
            body = {"url": site.url(f"/numbered?n={number}x{page}")}
            while True:
                try:
                    response = await client.post("/api/v2/scrape", json=body)
                    break
                except httpx2.TransportError:
                    broken += 1
            assert response.status_code == 200, response.text

    async with (
        run_group(tmp_path, site) as server,
        open_clients(server) as clients,
        asyncio.TaskGroup() as asking,
    ):
        for number, client in enumerate(clients):
            asking.create_task(ask(client, number))
        await site.asked("/numbered")
        killed = workers_of(server)[0]
        killed.kill()
        await until_replaced(server, killed)
    # Those alone that the killed one was answering: a connection has one request at a time.
    assert 0 < broken <= len(clients)


async def test_a_stop_is_clean_and_leaves_no_process(tmp_path: Path, site: Site) -> None:
    async with run_group(tmp_path, site) as server:
        body = {"url": site.url("/article"), "mode": "dynamic"}
        async with open_clients(server) as clients:
            for client in (clients[0], clients[-1]):
                await client.post("/v1/scrape", json=body)
        # By this the command line knows its own server.
        assert is_port_locked(tmp_path / "data", int(server.url.rpartition(":")[2]))
        family = psutil.Process(server.process.pid).children(recursive=True)
        server.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(DEADLINE_SECONDS):
            code = await server.process.wait()
    assert code == 0, (tmp_path / "server.log").read_text()[-5_000:]
    assert left_of(family) == []
    assert list((tmp_path / "data").glob("workers-*")) == []


async def test_a_second_signal_ends_all_of_them_at_once(tmp_path: Path, site: Site) -> None:
    variables = {"CINDER_SERVER__SHUTDOWN_SECONDS": "300"}
    async with run_group(tmp_path, site, **variables) as server, server.client() as client:
        asking = asyncio.gather(
            client.post("/v1/scrape", json={"url": site.url("/silent")}), return_exceptions=True
        )
        await site.asked("/silent")
        family = psutil.Process(server.process.pid).children(recursive=True)
        server.process.terminate()
        await until_refused(server)
        server.process.terminate()
        async with asyncio.timeout(DEADLINE_SECONDS):
            code = await server.process.wait()
        assert [type(answer) for answer in await asking] != [httpx2.Response]
    assert code == 128 + signal.SIGTERM
    assert left_of(family) == []


async def until_refused(server: RunningServer) -> None:
    """Wait until a server that was told to stop takes no more connections."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection(host, int(port))
            except ConnectionError:
                return
            writer.close()
            await asyncio.sleep(0.05)  # it tells by refusing, and only then


async def test_workers_end_when_their_parent_is_killed(tmp_path: Path, site: Site) -> None:
    async with run_group(tmp_path, site) as server:
        family = psutil.Process(server.process.pid).children(recursive=True)
        await server.kill()
        assert left_of(family) == []
    # What it could not remove, the next one does.
    assert len(list((tmp_path / "data").glob("workers-*"))) == 1
    async with run_group(tmp_path, site) as server, server.client() as client:
        assert (await client.get("/healthz")).status_code == 200
    assert list((tmp_path / "data").glob("workers-*")) == []


def left_of(family: list[psutil.Process]) -> list[str]:
    """Return who of them still runs, some moments after the end."""
    _, alive = psutil.wait_procs(family, timeout=DEADLINE_SECONDS)
    return [str(process) for process in alive]


async def test_a_server_whose_workers_cannot_start_says_why_once(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    store = f"sqlite:///{tmp_path / 'broken.db'}"
    done = await Commands(tmp_path, "", 0).run(
        "serve", "--port", "0", "--workers", "3", CINDER_STORE__URL=store
    )
    assert (done.code, done.out) == (1, "")
    assert done.err.count("CACHE_ERROR") == 1
    assert "Traceback" not in done.err


async def test_a_port_in_use_is_told_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = await Commands(tmp_path, "", port).run("serve", "--workers", "2")
    advice = "Stop what listens there, or choose another with --port"
    assert (done.code, done.out) == (1, "")
    assert done.err == f"cinder: 127.0.0.1:{port} is in use. {advice}\n"


async def test_a_worker_that_cannot_be_replaced_ends_the_server(tmp_path: Path, site: Site) -> None:
    database = tmp_path / "data" / "cinder.db"
    async with run_group(tmp_path, site) as server:
        for file in database.parent.glob("cinder.db*"):
            file.unlink()
        database.write_bytes(b"not a database" * 100)
        family = workers_of(server)
        family[0].kill()
        async with asyncio.timeout(DEADLINE_SECONDS):
            code = await server.process.wait()
    told = (tmp_path / "server.log").read_text()
    assert code == 1
    assert "could not be started 5 times in a row (exit code 1), so the server stops" in told
    assert left_of(family) == []
