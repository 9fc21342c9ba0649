"""A SQLite file that another process locks or that is damaged: callers are told soon."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.api.running import RunningServer, run_server
from tests.faults.asking import error_of, scrape, until
from tests.faults.small_disk import mount_small_disk
from tests.site import Site

_PAGE_BYTES = 4096


@pytest.fixture
async def server(tmp_path: Path, site: Site) -> AsyncIterator[RunningServer]:
    async with run_server(
        tmp_path / "data",
        log=str(tmp_path / "server.log"),
        CINDER_EGRESS__ALLOW=site.address,
        CINDER_STORE__BUSY_TIMEOUT_SECONDS="0.5",
    ) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[httpx2.AsyncClient]:
    # A request that waits for a lock as long as SQLite's own timeout would end here.
    async with server.client() as opened:
        yield opened


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with closing(sqlite3.connect(data_dir / "cinder.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_a_locked_file_answers_503_and_reads_go_on(
    client: httpx2.AsyncClient, tmp_path: Path, site: Site
) -> None:
    kept = (await scrape(client, site.url("/article"))).json()["data"]
    with _locked(tmp_path / "data"):
        for number in range(3):
            refused = await scrape(client, site.url(f"/numbered?n={number}"))
            assert error_of(refused) == (503, "CACHE_ERROR")
            assert int(refused.headers["retry-after"]) > 0
            assert "locked" in refused.json()["error"]["message"]
        started = await client.post("/v1/crawl", json={"url": site.url("/article")})
        assert error_of(started) == (503, "CACHE_ERROR")
        again = (await scrape(client, site.url("/article"))).json()["data"]
        assert again["savedUris"] == kept["savedUris"]
        readiness = await client.get("/readyz")
        assert readiness.status_code == 503
        assert "locked" in readiness.json()["parts"]["database"]
        assert (await client.get("/healthz")).status_code == 200
    assert (await scrape(client, site.url("/numbered?n=1"))).status_code == 200

    async def is_ready() -> bool:
        return (await client.get("/readyz")).status_code == 200

    await until(is_ready)


@pytest.mark.parametrize("table", ["scrape_cache", "saved_versions", "job_hosts", "recipes"])
async def test_readiness_tells_of_a_damaged_page(
    client: httpx2.AsyncClient, tmp_path: Path, site: Site, table: str
) -> None:
    await scrape(client, site.url("/article"))
    assert (await client.get("/readyz")).status_code == 200
    _damage(tmp_path / "data" / "cinder.db", table)

    async def is_told() -> bool:
        response = await client.get("/readyz")
        return response.status_code == 503 and "damaged" in response.json()["parts"]["database"]

    await until(is_told)
    assert (await client.get("/healthz")).status_code == 200


async def test_readiness_tells_of_a_file_that_is_gone(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "data" / "cinder.db").unlink()

    async def is_told() -> bool:
        response = await client.get("/readyz")
        return response.status_code == 503 and "no longer" in response.json()["parts"]["database"]

    await until(is_told)


async def test_readiness_finds_a_full_disk_that_nobody_has_written_to(
    tmp_path: Path, site: Site
) -> None:
    with mount_small_disk(tmp_path / "disk", megabytes=16) as disk:
        async with (
            run_server(
                disk.root / "data",
                log=str(tmp_path / "server.log"),
                CINDER_EGRESS__ALLOW=site.address,
            ) as server,
            server.client() as client,
        ):
            disk.fill()

            async def is_told() -> bool:
                response = await client.get("/readyz")
                database = response.json()["parts"]["database"]
                return response.status_code == 503 and "room" in database

            await until(is_told)


def _damage(path: Path, table: str) -> None:
    """Write over the first page of a table, as a failing disk would."""
    with closing(sqlite3.connect(path, timeout=60)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = other.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        (page,) = found.fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * _PAGE_BYTES)
        file.write(b"\xa5" * _PAGE_BYTES)
