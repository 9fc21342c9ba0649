"""Two workers as one server: whichever answers, the answer is the same and the limits hold."""

import asyncio
import itertools
import re
from functools import partial
from pathlib import Path

import httpx2
import psutil
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.models.caller import EVERYDAY_SCOPES
from tests.api.running import RunningServer
from tests.api.working import Answer, is_over, until
from tests.server.workers.group import (
    CONNECTIONS,
    at_once,
    open_clients,
    run_group,
    start_crawl,
    until_replaced,
    workers_of,
)
from tests.site import Site

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
_IDS = itertools.count(2)
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def open_session(client: httpx2.AsyncClient) -> str:
    response = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert response.status_code == 200, response.text
    return response.headers["mcp-session-id"]


async def use_session(session: str, client: httpx2.AsyncClient) -> int:
    # By its id a session tells requests apart that are under way at once.
    body = {"jsonrpc": "2.0", "id": next(_IDS), "method": "tools/list"}
    headers = {**ACCEPT, "mcp-session-id": session}
    response = await client.post("/mcp", json=body, headers=headers)
    assert response.status_code != 200 or '"tools"' in response.text
    return response.status_code


async def test_an_mcp_session_is_found_by_every_worker_until_its_own_dies(
    tmp_path: Path, site: Site
) -> None:
    async with run_group(tmp_path, site) as server, open_clients(server) as clients:
        sessions = await at_once(clients, open_session)
        # Their ids begin with the worker: both have opened some.
        assert {session.partition("-")[0] for session in sessions} == {"0", "1"}
        for session in (min(sessions), max(sessions)):
            answers = await at_once(clients, partial(use_session, session))
            assert answers == [200] * CONNECTIONS

        # What nobody has opened is nobody's, however it is written.
        for unknown in ("0-nobody", "1-nobody", "7-nobody", "nobody", "-1-nobody"):
            assert set(await at_once(clients, partial(use_session, unknown))) == {404}

    async with run_group(tmp_path, site) as server, open_clients(server, 1) as (client,):
        session = await open_session(client)
        killed = await kill_worker_of(server, client)
        await until_replaced(server, killed)
        async with open_clients(server) as clients:
            assert set(await at_once(clients, partial(use_session, session))) == {404}
            again = await open_session(clients[0])
            assert set(await at_once(clients, partial(use_session, again))) == {200}


async def kill_worker_of(server: RunningServer, client: httpx2.AsyncClient) -> psutil.Process:
    """Kill the worker that a client is connected to; the only one that has a connection."""
    await client.get("/healthz")
    port = int(server.url.rpartition(":")[2])
    (worker,) = [
        each
        for each in workers_of(server)
        for connection in each.net_connections("tcp")
        if connection.laddr.port == port and connection.status == psutil.CONN_ESTABLISHED
    ]
    worker.kill()
    return worker


async def test_an_mcp_client_that_connects_anew_each_time_is_served(
    tmp_path: Path, site: Site
) -> None:
    async with run_group(tmp_path, site) as server:
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {server.token}"},
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=60,
            trust_env=False,
        )
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with http, Client(transport) as client:
            arguments = {"url": site.url("/article")}
            results = await asyncio.gather(
                *(client.call_tool("cinder_scrape", arguments) for _ in range(CONNECTIONS))
            )
    assert [result.is_error for result in results] == [False] * CONNECTIONS


async def test_a_crawl_is_started_watched_and_cancelled_by_any_worker(
    tmp_path: Path, site: Site, stored: dict[str, str]
) -> None:
    async with run_group(tmp_path, site, **stored) as server, open_clients(server) as clients:
        crawls = await at_once(clients, partial(start_crawl, url=site.url("/shelf?books=2")))
        for crawl_id in crawls:
            for client in (clients[0], clients[-1]):
                found = await until(partial(read_crawl, crawl_id, client), is_over)
                assert (found["status"], len(found["pages"])) == ("completed", 3)

        waiting = await start_crawl(clients[0], site.url("/silent"))
        await site.asked("/silent")
        seen = await at_once(clients, partial(read_crawl, waiting))
        assert {each["status"] for each in seen} == {"running"}
        # Of all that cancel it, those who come later find it cancelled.
        watching = asyncio.gather(*(read_events(waiting, client) for client in clients))
        async with open_clients(server, 2) as others:
            cancelled = await at_once(others, lambda client: client.delete(f"/v1/crawl/{waiting}"))
        assert {response.status_code for response in cancelled} <= {200, 409}
        seen = await at_once(clients, partial(read_crawl, waiting))
        assert {each["status"] for each in seen} == {"cancelled"}
        assert all("id: over" in events for events in await watching)
        site.release()


async def read_events(crawl_id: str, client: httpx2.AsyncClient) -> str:
    """Return the stream of a crawl's events, which ends with it."""
    return (await client.get(f"/v1/crawl/{crawl_id}/events")).text


async def read_crawl(crawl_id: str, client: httpx2.AsyncClient) -> Answer:
    response = await client.get(f"/v1/crawl/{crawl_id}")
    assert response.status_code == 200, response.text
    answer: Answer = response.json()
    return answer


async def test_a_rate_limit_holds_over_all_workers(
    tmp_path: Path, site: Site, stored: dict[str, str]
) -> None:
    limit = 11
    settings = read_settings(data_dir=tmp_path / "data", store={"url": stored["CINDER_STORE__URL"]})
    async with open_app(settings) as app:
        made = await app.callers.create("limited", EVERYDAY_SCOPES)
    variables = {**stored, "CINDER_SERVER__RATE_LIMIT": f"{limit}/hour"}
    async with (
        run_group(tmp_path, site, **variables) as server,
        open_clients(server, token=made.secret) as clients,
    ):
        # The greeting of each client was not counted: it is the path that is watched.
        answers = [
            response
            for _ in range(3)
            for response in await at_once(clients, lambda client: client.get("/v1/crawls"))
        ]
    granted = [each for each in answers if each.status_code == 200]
    assert len(granted) == limit
    assert {each.status_code for each in answers} == {200, 429}


async def test_metrics_are_those_of_all_workers_and_outlive_them(
    tmp_path: Path, site: Site
) -> None:
    body = {"url": site.url("/article"), "formats": ["markdown"]}
    async with run_group(tmp_path, site) as server:
        async with open_clients(server) as clients:
            for client in (clients[0], *clients):
                assert (await client.post("/api/v2/scrape", json=body)).status_code == 200
            shown = await at_once(clients, read_metrics)
        assert {requests_in(text) for text in shown} == {CONNECTIONS + 1}
        # A browser pool for each profile, not one for each process.
        gauge = 'cinder_browser_pool{profile="default",state="workers"} 0.0'
        assert [text.count(gauge) for text in shown] == [1] * CONNECTIONS
        assert "pid=" not in shown[0]

        killed = workers_of(server)[0]
        killed.kill()
        await until_replaced(server, killed)
        async with open_clients(server) as clients:
            shown = await at_once(clients, read_metrics)
        assert {requests_in(text) for text in shown} == {CONNECTIONS + 1}


async def read_metrics(client: httpx2.AsyncClient) -> str:
    response = await client.get("/metrics")
    assert response.status_code == 200
    return response.text


def requests_in(text: str) -> float:
    lines = re.findall(r"^cinder_scrape_requests_total\{.*\} (\S+)$", text, re.MULTILINE)
    return sum(map(float, lines))


async def test_jobs_are_spread_over_the_workers(
    tmp_path: Path, site: Site, stored: dict[str, str]
) -> None:
    # One slot for each worker: two crawls are under way at once only if both have one.
    variables = {**stored, "CINDER_JOBS__SLOTS": "2"}
    async with run_group(tmp_path, site, **variables) as server, server.client() as client:
        crawls = [await start_crawl(client, site.url(f"/silent?n={n}")) for n in range(2)]
        for crawl_id in crawls:
            await until(
                partial(read_crawl, crawl_id, client), lambda answer: answer["status"] == "running"
            )
        site.release()
        for crawl_id in crawls:
            await until(partial(read_crawl, crawl_id, client), is_over)


async def test_connections_that_come_at_once_are_shared(tmp_path: Path, site: Site) -> None:
    count = 40
    async with run_group(tmp_path, site) as server, open_clients(server, count):
        port = int(server.url.rpartition(":")[2])
        shares = [
            sum(
                each.laddr.port == port and each.status == psutil.CONN_ESTABLISHED
                for each in worker.net_connections("tcp")
            )
            for worker in workers_of(server)
        ]
    assert sum(shares) == count
    assert min(shares) >= count // 4


async def test_two_processes_write_to_one_sqlite_file(tmp_path: Path, site: Site) -> None:
    async with run_group(tmp_path, site) as server, open_clients(server) as clients:

        async def scrape_many(number: int, client: httpx2.AsyncClient) -> list[int]:
            return [
                (
                    await client.post(
                        "/api/v2/scrape", json={"url": site.url(f"/numbered?n={number}x{n}")}
                    )
                ).status_code
                for n in range(10)
            ]

        answers = await asyncio.gather(
            *(scrape_many(number, client) for number, client in enumerate(clients))
        )
    assert {status for part in answers for status in part} == {200}
    assert "locked" not in (tmp_path / "server.log").read_text()
