"""The schema: created once, upgraded from 0009, and never downgraded."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path

import asyncpg
import pytest

from cinder.compression import decompress
from cinder.errors import CacheFailed
from cinder.models.document import Document
from cinder.models.job import JobStatus, PageStatus
from cinder.models.recipe import FieldRule, ListRule, Locator, Recipe, RecipePlace
from cinder.models.saved import SavedKind
from cinder.store.migration import SCHEMA_HEAD
from cinder.store.sqlite import path_of
from tests.store.conftest import open_at
from tests.store.golden import GOLDEN, a_file, a_long_url, an_old_document
from tests.store.ledger.samples import HOST, a_page, commit_page, limits, the_job
from tests.store.postgres import PostgresServer
from tests.store.samples import Clock, a_document, a_key

# Everything about the tables that the catalogue has.
CATALOGUE = """
SELECT 'column' AS what, c.relname AS owner, a.attname AS name,
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcompression,
                 c.relpersistence, pg_get_expr(d.adbin, d.adrelid)) AS definition
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relnamespace = 'webhook'::regnamespace AND a.attnum > 0
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'webhook'::regnamespace
UNION ALL
SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'webhook'
UNION ALL
SELECT 'function', '', proname, concat_ws(' ', prosrc, proconfig::text)
  FROM pg_proc WHERE pronamespace = 'webhook'::regnamespace
 ORDER BY 1, 2, 3
"""

SQLITE_CATALOGUE = """
SELECT m.type, m.name, c.name, upper(c.type) IN ('BLOB') AS is_blob, c."notnull", c.dflt_value, c.pk
  FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) c
 WHERE m.name NOT LIKE 'sqlite_%' ORDER BY m.type, m.name, c.name
"""


async def execute(url: str, sql: str) -> list[tuple[object, ...]]:
    """Run a statement with the plain driver."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path_of(url))) as file, file:
            return list(file.execute(sql.replace("webhook.", "")))
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def create_0009(url: str) -> None:
    """Fill a database with what the commit before schema 0010 wrote."""
    if url.startswith("sqlite"):
        data = (GOLDEN / "0009.db.zst").read_bytes()
        path_of(url).write_bytes(decompress(data))
        return
    connection = await asyncpg.connect(url)
    try:
        await connection.execute((GOLDEN / "0009.postgresql.sql").read_text())
        for table, rows in json.loads((GOLDEN / "0009.postgresql.json").read_text()).items():
            name = f"webhook.{table}"
            insert = (
                f"INSERT INTO {name} SELECT * FROM json_populate_recordset(NULL::{name}, $1::json)"
            )
            await connection.execute(insert, json.dumps(rows))
            if rows and isinstance(rows[0].get("id"), int) and table != "page_words":
                sequence = f"pg_get_serial_sequence('{name}', 'id')"
                await connection.execute(f"SELECT setval({sequence}, max(id)) FROM {name}")
    finally:
        await connection.close()


async def test_stores_that_open_at_once_create_the_schema_once(empty_url: str) -> None:
    stores = [open_at(empty_url, Clock()) for _ in range(3)]
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(stack.enter_async_context(store) for store in stores))
        await asyncio.gather(*(store.save(a_document(), a_key()) for store in stores))
        assert len(await stores[0].list_saved("anyone")) == 3
    assert await execute(empty_url, "SELECT version_num FROM webhook.alembic_version") == [
        (SCHEMA_HEAD,)
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


@pytest.mark.parametrize(("version", "advice"), [("9999", "upgrade cinder"), ("0008", "previous")])
async def test_a_database_that_is_newer_or_too_old_is_left_alone(
    store_url: str, version: str, advice: str
) -> None:
    async with open_at(store_url, Clock()):
        pass
    await execute(store_url, f"UPDATE webhook.alembic_version SET version_num = '{version}'")
    with pytest.raises(CacheFailed, match=advice):
        async with open_at(store_url, Clock()):
            pass


async def test_the_check_notices_another_schema(store_url: str) -> None:
    async with open_at(store_url, Clock()) as store:
        await execute(store_url, "UPDATE webhook.alembic_version SET version_num = '0009'")
        with pytest.raises(CacheFailed):
            await store.check()


@pytest.mark.parametrize("table", ["frontier", "saved_versions", "outbox", "recipes"])
async def test_sqlite_gives_no_id_of_these_tables_twice(tmp_path: Path, table: str) -> None:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_at(url, Clock()):
        pass
    ((sql,),) = await execute(url, f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
    assert "AUTOINCREMENT" in str(sql)


@pytest.fixture(params=["sqlite", "postgresql"])
def two_urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new.db'}", f"sqlite:///{tmp_path / 'old.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database(), server.create_database()


async def read_catalogue(url: str) -> Sequence[tuple[object, ...]]:
    return await execute(url, SQLITE_CATALOGUE if url.startswith("sqlite") else CATALOGUE)


async def test_an_upgraded_database_has_the_schema_of_a_new_one(two_urls: tuple[str, str]) -> None:
    new, upgraded = two_urls
    await create_0009(upgraded)
    for url in two_urls:
        async with open_at(url, Clock()) as store:
            await store.check()
    catalogue = await read_catalogue(new)
    assert len(catalogue) > 50
    assert [row for row in await read_catalogue(upgraded) if row not in catalogue] == []
    assert [row for row in catalogue if row not in await read_catalogue(upgraded)] == []


async def test_scrape_cache_has_the_columns_and_indexes_of_its_specification(
    postgres: PostgresServer, postgres_template: str
) -> None:
    url = await asyncio.to_thread(postgres.create_database, postgres_template)
    columns = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
 WHERE a.attrelid = 'webhook.scrape_cache'::regclass AND a.attnum > 0
"""
    assert {
        **dict.fromkeys(("url", "url_hash", "cache_key", "extract_query"), "text"),
        **dict.fromkeys(("raw_content", "cleaned_content", "extracted_content"), "text"),
        **dict.fromkeys(("scraped_at", "expires_at"), "timestamp with time zone"),
        "id": "bigint",
        "source": "character varying(50)",
        "content_type": "character varying(100)",
        "screenshot": "bytea",
        "screenshot_format": "character varying(20)",
        "strategy_used": "character varying(50)",
        "scrape_options": "jsonb",
        "access_count": "integer",
        "last_accessed_at": "timestamp with time zone",
    }.items() <= {str(name): kind for name, kind in await execute(url, columns)}.items()
    indexes = "SELECT indexdef FROM pg_indexes WHERE tablename = 'scrape_cache'"
    found = {str(definition) for (definition,) in await execute(url, indexes)}
    on, is_set = "ON webhook.scrape_cache USING btree", "WHERE (expires_at IS NOT NULL)"
    assert {
        f"CREATE INDEX idx_scrape_cache_url {on} (url)",
        f"CREATE INDEX idx_scrape_cache_scraped_at {on} (scraped_at DESC)",
        f"CREATE INDEX idx_scrape_cache_expires_at {on} (expires_at) {is_set}",
        f"CREATE INDEX idx_scrape_cache_cache_key {on} (cache_key)",
        f"CREATE UNIQUE INDEX scrape_cache_cache_key_unique {on} (cache_key)",
    } <= found


async def test_documents_of_schema_0009_are_read(empty_url: str, clock: Clock) -> None:
    await create_0009(empty_url)
    async with open_at(empty_url, clock) as store:
        found = {name: await store.find(name) for name in ("key", "file", "long")}
        documents: dict[str, Document] = {n: s.document for n, s in found.items() if s}
        assert documents["key"].extracted == "newer"
        assert documents["key"].content == an_old_document().content
        assert documents["key"].actions == an_old_document().actions
        assert documents["file"] == a_file()
        assert documents["long"] == a_document("long address", url=a_long_url())
        first, *_ = reversed(await store.list_versions("example.com/article", "x", limit=10))
        assert (await store.find_versions([first], "x"))[0] is not None
        (archived,) = await store.find_versions([first], "x")
        assert archived is not None
        assert archived.document == an_old_document()
        assert found["file"] is not None
        raw = await store.read(found["file"].version, SavedKind.RAW, "x")
        assert raw is not None
        assert (raw.mime, raw.data) == (a_file().content_type.partition(";")[0], b"PK")
        assert [entry.url for entry in await store.list_entries(a_long_url())] == [a_long_url()]
        # Replaced, it is archived with its whole values.
        await store.save(a_document("newer", url="https://example.com/paper"), a_key("file"))
        (archived,) = await store.find_versions([found["file"].version], "x")
        assert archived is not None
        assert archived.document == a_file()


async def test_recipes_and_tokens_of_schema_0009_are_read(empty_url: str, clock: Clock) -> None:
    await create_0009(empty_url)
    price = Locator(
        selector=".price", attribute="content", label="Price", before="EUR ", after=" net"
    )
    locators = (price, Locator(selector="#p"))
    row = FieldRule(path=("name",), locators=(Locator(selector="td"),))
    recipe = Recipe(
        fields=(FieldRule(path=("price",), locators=locators, format="date"),),
        lists=(ListRule(path=("rows",), selector="tr", fields=(row,), label="Rows", skipped=1),),
    )
    async with open_at(empty_url, clock) as store:
        place = RecipePlace(site="example.com", shape="/lamps/*", wish="w" * 64)
        (kept,) = await store.recipes.find(place, limit=10)
        token = await store.tokens.find("hash")
        (schedule,) = await store.ledger.list_schedules("owner")
    assert kept.recipe == recipe
    assert token is not None
    assert (token.name, token.policy.pages_per_day) == ("robot", 5)
    assert (schedule.name, schedule.spec) == ("nightly", {"url": HOST})


async def test_a_crawl_of_schema_0009_goes_on(empty_url: str, clock: Clock) -> None:
    await create_0009(empty_url)
    async with open_at(empty_url, clock) as store:
        job, counts = await the_job(store), await store.ledger.count_pages("job")
        options = {"formats": ["markdown"]}
        assert job.spec == {"url": HOST, "options": options, "note": "Grüße"}
        assert (counts.queued, counts.leased, job.found) == (2, 1, 5)
        assert job.fates == {PageStatus.FETCHED: 1, PageStatus.OUTSIDE: 1}
        claims = (await store.ledger.lease("job", limits())).claims
        assert {claim.url.removeprefix(HOST) for claim in claims} == {"/c", "/d"}
        for claim in claims:
            await commit_page(store, claim, found=(a_page("/d"), a_page("/e")))
        await store.ledger.finish_job("job", JobStatus.COMPLETED)
        pages = await store.ledger.list_pages("job", None, offset=0, limit=10)
        assert [page.url.removeprefix(HOST) for page in pages] == [
            *("/", "/b", "/c", "/out", "/d", "/e")
        ]
        assert (await the_job(store)).fates[PageStatus.FETCHED] == 3
