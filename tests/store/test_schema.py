"""The schema: what SQLAlchemy describes is what the migrations make."""

from pathlib import Path

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, create_engine, create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement

from cinder.store.schema import POSTGRESQL_SCHEMA, build_metadata, is_described
from tests.store.conftest import open_at
from tests.store.postgres import PostgresServer
from tests.store.samples import Clock

# Everything about the tables that the catalogue can tell.
CATALOGUE = """
SELECT 'column' AS what, c.relname AS owner, a.attname AS name,
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
                 pg_get_expr(d.adbin, d.adrelid)) AS definition
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relnamespace = 'webhook'::regnamespace AND a.attnum > 0
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'webhook'::regnamespace
UNION ALL
SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'webhook'
 ORDER BY 1, 2, 3
"""


async def test_migrated_sqlite_has_the_tables_described(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/cinder.db"
    async with open_at(url, Clock()):
        pass
    engine = create_engine(url)
    with engine.connect() as connection:
        options = {"compare_server_default": True, "include_name": is_described}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, build_metadata("sqlite")) == []
    engine.dispose()


@pytest.fixture
def two_urls(postgres: PostgresServer) -> tuple[str, str]:
    return postgres.create_database(), postgres.create_database()


# By the catalogue, not by Alembic, which would need a synchronous driver; this sees more.
async def test_migrated_postgresql_has_the_tables_described(two_urls: tuple[str, str]) -> None:
    migrated, described = two_urls
    async with open_at(migrated, Clock()):
        pass
    script = f"CREATE SCHEMA {POSTGRESQL_SCHEMA};\n{create_script(build_metadata('postgresql'))}"
    connection = await asyncpg.connect(described)
    try:
        await connection.execute(script)
    finally:
        await connection.close()
    catalogue = await read_catalogue(migrated)
    assert len(catalogue) > 50
    assert catalogue == await read_catalogue(described)


def create_script(metadata: MetaData) -> str:
    statements: list[str] = []

    def note(statement: ExecutableDDLElement, *_: object) -> None:
        statements.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine("postgresql+asyncpg://", note)
    metadata.create_all(engine, checkfirst=False)
    return ";\n".join(statements)


async def read_catalogue(url: str) -> list[tuple[str, ...]]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(CATALOGUE)
    finally:
        await connection.close()
    return [tuple(row) for row in rows if "alembic_version" not in row["owner"]]
