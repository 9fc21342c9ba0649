"""A database that goes away and comes back: a clear answer meanwhile, and all is well after it."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.running import RunningServer, run_server
from tests.faults.asking import error_of, scrape, until
from tests.site import Site
from tests.store.postgres import PostgresServer, run_postgres

# How long it may take to say that the database is away, where it does not even refuse.
_ANSWER_SECONDS = 10


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as running:
        yield running


@pytest.fixture
async def server(
    postgres: PostgresServer, tmp_path: Path, site: Site
) -> AsyncIterator[RunningServer]:
    async with run_server(
        tmp_path / "data",
        log=str(tmp_path / "server.log"),
        CINDER_EGRESS__ALLOW=site.address,
        CINDER_STORE__URL=postgres.url("postgres"),
    ) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with server.client() as opened:
        yield opened


async def answers_while_away(client: httpx2.AsyncClient, site: Site) -> list[httpx2.Response]:
    """Ask for one of each kind: cached, fresh, a search, a list of jobs, a new job."""
    return [
        await scrape(client, site.url("/article")),
        await scrape(client, site.url("/numbered?n=1")),
        await client.get("/v1/crawl/crawl_00000000"),
        await client.post("/v1/crawl", json={"url": site.url("/article")}),
    ]


async def is_back(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def test_requests_are_told_to_come_back_and_are_served_once_it_is_there_again(
    postgres: PostgresServer, server: RunningServer, client: httpx2.AsyncClient, site: Site
) -> None:
    assert (await scrape(client, site.url("/article"))).status_code == 200
    await asyncio.to_thread(postgres.stop)
    async with asyncio.timeout(_ANSWER_SECONDS * 3):
        refused = await answers_while_away(client, site)
    assert [error_of(each) for each in refused] == [(503, "CACHE_ERROR")] * len(refused)
    assert {each.headers["Retry-After"] for each in refused} == {"5"}
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/readyz")).status_code == 503
    async with (
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as agent,
    ):
        result = await agent.call_tool("scrape", {"url": site.url("/article")})
        assert result.is_error
        assert "CACHE_ERROR" in str(result.content)
        options = {"forceRescrape": True, "resultHandling": "returnOnly"}
        unkept = await agent.call_tool("scrape", {"url": site.url("/article"), **options})
        assert not unkept.is_error

    await asyncio.to_thread(postgres.start)
    await until(lambda: is_back(client))
    assert (await scrape(client, site.url("/article"))).json()["data"]["cached"] is True
    assert (await scrape(client, site.url("/numbered?n=1"))).status_code == 200


async def test_a_database_that_only_hangs_is_not_waited_for(
    postgres: PostgresServer, client: httpx2.AsyncClient, site: Site
) -> None:
    assert (await scrape(client, site.url("/article"))).status_code == 200
    processes = [postgres.pid, *(p.pid for p in psutil.Process(postgres.pid).children())]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        refused = await scrape(client, site.url("/article"), timeout=1_000)
        assert time.monotonic() - began < _ANSWER_SECONDS
        assert refused.status_code in (408, 503)
        assert (await client.get("/healthz")).status_code == 200
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
    await until(lambda: is_back(client))
    assert (await scrape(client, site.url("/article"))).status_code == 200
