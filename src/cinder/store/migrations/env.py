"""The Alembic environment, used by cinder and by the alembic command line."""

import sqlite3

from alembic import context
from alembic.util import CommandError
from sqlalchemy import URL, NullPool, create_engine, event
from sqlalchemy.engine import Connection

from cinder.store.schema import POSTGRESQL_SCHEMA, build_metadata, is_described
from cinder.store.sqlite import BUSY_SECONDS, path_of

# CREATE SCHEMA IF NOT EXISTS asks for the right to create it even where it exists.
CREATE_SCHEMA = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{POSTGRESQL_SCHEMA}') THEN
        CREATE SCHEMA {POSTGRESQL_SCHEMA};
    END IF;
END $$
"""


def database_url() -> str:
    """Return the database that cinder, or `-x url=…` on the command line, names."""
    url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True).get(
        "url"
    )
    if not url:
        raise CommandError("Name the database: -x url=sqlite:///path or -x url=postgresql://")
    return str(url)


def write_postgresql_script() -> None:
    """Write the SQL that migrates PostgreSQL, as one transaction."""
    context.configure(
        dialect_name="postgresql",
        target_metadata=build_metadata("postgresql"),
        version_table_schema=POSTGRESQL_SCHEMA,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.execute(CREATE_SCHEMA)
        context.run_migrations()


def migrate_sqlite(url: str) -> None:
    """Migrate a SQLite database, alone: who comes second finds it done."""
    path = path_of(url)
    # Not the connections that cinder works with: where they check foreign keys, a table that is
    # rebuilt takes the rows along that refer to it.
    engine = create_engine(
        URL.create("sqlite"),
        creator=lambda: sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None),
        poolclass=NullPool,
    )
    event.listen(engine, "begin", begin_exclusively)
    with engine.begin() as connection:
        context.configure(
            connection=connection,
            target_metadata=build_metadata("sqlite"),
            include_name=is_described,
            render_as_batch=True,
            transactional_ddl=True,
        )
        context.run_migrations()


def begin_exclusively(connection: Connection) -> None:
    """Take the whole database, waiting for others who have it."""
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


url = database_url()
if url.startswith("sqlite"):
    migrate_sqlite(url)
elif context.is_offline_mode():
    write_postgresql_script()
else:
    raise CommandError("PostgreSQL is migrated by cinder when it starts; write a script with --sql")
