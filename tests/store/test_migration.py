"""Migrations: run once, by whoever comes first, and never backwards."""

import asyncio
import sqlite3
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from cinder.errors import CacheFailed
from cinder.store.migration import MIGRATIONS, SCHEMA_HEAD
from cinder.store.sqlite import path_of
from tests.store.conftest import open_at
from tests.store.postgres import PostgresServer
from tests.store.samples import Clock, a_document, a_key


async def execute(url: str, sql: str) -> list[str]:
    """Run a statement with the plain driver; return the first column."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url))) as file, file:
            return [row[0] for row in file.execute(sql.replace("webhook.", ""))]
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def test_the_head_that_cinder_knows_is_alembics() -> None:
    script = ScriptDirectory.from_config(Config(MIGRATIONS / "alembic.ini"))
    assert script.get_current_head() == SCHEMA_HEAD


async def test_stores_that_open_at_once_migrate_once(empty_url: str) -> None:
    stores = [open_at(empty_url, Clock()) for _ in range(3)]
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(stack.enter_async_context(store) for store in stores))
        await asyncio.gather(*(store.save(a_document(), a_key()) for store in stores))
        assert len(await stores[0].list_saved("anyone")) == 3
    assert await execute(empty_url, "SELECT version_num FROM webhook.alembic_version") == [
        SCHEMA_HEAD
    ]


async def test_long_texts_are_compressed_with_lz4_where_the_server_can(
    postgres: PostgresServer, postgres_template: str
) -> None:
    url = await asyncio.to_thread(postgres.create_database, postgres_template)
    can = "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
    chosen = """
SELECT attcompression = 'l' FROM pg_attribute
 WHERE attrelid = 'webhook.scrape_cache'::regclass AND attname = 'raw_content'
"""
    assert await execute(url, chosen) == await execute(url, can)


async def test_a_database_newer_than_the_code_is_left_alone(store_url: str) -> None:
    async with open_at(store_url, Clock()):
        pass
    await execute(store_url, "UPDATE webhook.alembic_version SET version_num = '9999'")
    with pytest.raises(CacheFailed, match="upgrade cinder"):
        async with open_at(store_url, Clock()):
            pass


async def test_the_check_notices_another_schema(store_url: str) -> None:
    async with open_at(store_url, Clock()) as store:
        await execute(store_url, "UPDATE webhook.alembic_version SET version_num = '0000'")
        with pytest.raises(CacheFailed):
            await store.check()


@pytest.mark.parametrize("table", ["frontier", "saved_versions", "outbox"])
async def test_sqlite_gives_no_id_of_these_tables_twice(tmp_path: Path, table: str) -> None:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_at(url, Clock()):
        pass
    (sql,) = await execute(url, f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
    assert "AUTOINCREMENT" in sql


async def test_the_command_line_migrates_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    for command in ("upgrade head", "check", "downgrade base", "upgrade head"):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "alembic", "-c", MIGRATIONS / "alembic.ini"),
            *("-x", f"url={url}", *command.split()),
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await process.wait() == 0
    async with open_at(url, Clock()) as store:
        await store.check()
