"""A full disk: writes say STORAGE_FULL, reads go on, jobs wait, and freeing it is all it takes."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from cinder.errors import StorageFull
from cinder.models.document import Media
from cinder.store.database import Query, Statement, StoreLimits
from cinder.store.documents import Store
from cinder.store.postgres import translated
from cinder.store.sqlite import SqliteDatabase
from tests.api.running import RunningServer, run_server
from tests.cli.commands import Commands
from tests.faults.asking import error_of, scrape, until
from tests.faults.small_disk import SmallDisk, mount_small_disk
from tests.site import Site
from tests.store.postgres import PostgresServer, run_postgres
from tests.store.samples import Clock, a_document, a_full_document, a_key

_PAGES = 6
_LARGE = Media("image/png", os.urandom(512 * 1024))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mount_small_disk(tmp_path / "disk", megabytes=16) as mounted:
        yield mounted


@pytest.fixture
async def server(disk: SmallDisk, tmp_path: Path, site: Site) -> AsyncIterator[RunningServer]:
    log = str(tmp_path / "server.log")
    async with run_server(
        disk.root / "data",
        log=log,
        CINDER_EGRESS__ALLOW=site.address,
        CINDER_JOBS__LEASE_SECONDS="2",
    ) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with server.client() as opened:
        yield opened


async def test_writes_are_refused_and_reads_go_on_until_there_is_room(
    disk: SmallDisk, client: httpx2.AsyncClient, site: Site
) -> None:
    kept = (await scrape(client, site.url("/article"))).json()["data"]
    disk.fill()
    refused = await scrape(client, site.url("/numbered?n=1"))
    assert error_of(refused) == (507, "STORAGE_FULL")
    assert str(disk.root) in refused.json()["error"]["message"]
    assert error_of(await client.post("/v1/crawl", json={"url": site.url("/article")})) == (
        507,
        "STORAGE_FULL",
    )
    again = (await scrape(client, site.url("/article"))).json()["data"]
    assert again["savedUris"] == kept["savedUris"]
    found = await client.post("/v1/search", json={"query": "ember care", "providers": ["local"]})
    assert [hit["url"] for hit in found.json()["results"]] == [site.url("/article")]
    unkept = await scrape(client, site.url("/numbered?n=2"), resultHandling="returnOnly")
    assert unkept.status_code == 200
    assert (await client.get("/healthz")).json()["storage"] == "full"
    readiness = await client.get("/readyz")
    assert (readiness.status_code, readiness.json()["status"]) == (503, "not ready")
    assert "storage is full" in readiness.json()["parts"]["database"]

    disk.free()

    async def has_room() -> bool:
        return bool((await client.get("/healthz")).json()["storage"] == "ok")

    await until(has_room)
    assert (await scrape(client, site.url("/numbered?n=1"))).status_code == 200

    async def is_ready() -> bool:
        return (await client.get("/readyz")).status_code == 200

    await until(is_ready)


async def test_mcp_and_the_command_line_say_so_too(
    disk: SmallDisk, server: RunningServer, tmp_path: Path, site: Site
) -> None:
    disk.fill()
    async with (
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as agent,
    ):
        result = await agent.call_tool("scrape", {"url": site.url("/article")})
    assert result.is_error
    assert str(result.content).count("STORAGE_FULL: There is no room") == 1
    port = server.url.rpartition(":")[2]
    commands = Commands(tmp_path, site.address, int(port))
    done = await commands.run(
        "scrape", site.url("/article"), CINDER_DATA_DIR=str(disk.root / "data")
    )
    assert done.code == 1
    assert "[STORAGE_FULL]" in done.err
    assert "Traceback" not in done.err


async def test_a_running_job_waits_for_room_and_loses_no_page(
    disk: SmallDisk, client: httpx2.AsyncClient, site: Site
) -> None:
    urls = [site.url(f"/silent?n={number}") for number in range(_PAGES)]
    started = await client.post("/api/v2/scrape", json={"urls": urls})
    job_id = started.json()["data"]["jobId"]

    async def status() -> dict[str, Any]:
        asked = {"command": "status", "jobId": job_id}
        answer = await client.post("/api/v2/scrape", json=asked)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    async def is_full() -> bool:
        return bool((await client.get("/healthz")).json()["storage"] == "full")

    async def is_over() -> bool:
        return (await status())["status"] in ("completed", "failed")

    await site.asked("/silent")
    disk.fill()
    site.release()
    await until(is_full)
    waiting = await status()
    assert (waiting["status"], waiting["completed"]) == ("scraping", 0)
    disk.free()
    await until(is_over)
    done = await status()
    assert (done["status"], len(done["pages"])) == ("completed", _PAGES)


async def test_a_database_with_a_cap_is_full_there_and_goes_on_above_it(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "cinder.db", pool_size=1)
    async with Store(database, observe=lambda _name, _seconds: None, clock=Clock()) as store:
        await store.save(a_document(), a_key())
        await database.write(lambda: _set_cap(1))  # SQLite takes it for what there is already
        with pytest.raises(StorageFull):
            await store.save(replace(a_full_document(), media=_LARGE), a_key("large"))
        assert store.is_full
        with pytest.raises(StorageFull):
            await store.check()
        assert len(await store.list_saved("anyone")) == 1
        await database.write(lambda: _set_cap(1_000_000))

        async def has_room() -> bool:
            return not store.is_full

        await until(has_room)
        await store.save(replace(a_full_document(), media=_LARGE), a_key("large"))


async def test_a_database_grows_no_larger_than_it_may(tmp_path: Path) -> None:
    database = SqliteDatabase(
        tmp_path / "cinder.db", pool_size=1, limits=StoreLimits(max_bytes=2 * 1024 * 1024)
    )
    async with Store(database, observe=lambda _name, _seconds: None, clock=Clock()) as store:
        await store.save(a_document(), a_key())
        with pytest.raises(StorageFull, match=r"store\.max-bytes"):
            await asyncio.gather(
                *(
                    store.save(replace(a_full_document(), media=_LARGE), a_key(f"{number}"))
                    for number in range(10)
                )
            )
        assert len(await store.list_saved("anyone")) >= 1
    assert (tmp_path / "cinder.db").stat().st_size <= 2 * 1024 * 1024


def _set_cap(pages: int) -> Query[None]:
    yield Statement(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as running:
        yield running


async def test_postgresql_that_has_no_room_is_said_so(postgres: PostgresServer) -> None:
    connection = await asyncpg.connect(postgres.url("postgres"))
    try:
        with pytest.raises(StorageFull), translated():
            await connection.execute("DO $$ BEGIN RAISE SQLSTATE '53100'; END $$")
    finally:
        await connection.close()
