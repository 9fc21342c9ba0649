"""The schema of the database: creates it, upgrades it, and checks its version."""

import sqlite3
from pathlib import Path
from typing import Final

from cinder.errors import CacheFailed

SCHEMA_HEAD: Final = "0012"
OLDEST_UPGRADABLE: Final = "0009"

SCHEMA_FOLDER = Path(__file__).parent / "schema"


def is_behind(version: str | None) -> bool:
    """Whether a database at this version needs an upgrade; None is a database without a schema.

    Raises:
        CacheFailed: the schema is newer than this code, or too old for it to upgrade.
    """
    if version is not None and version > SCHEMA_HEAD:
        raise CacheFailed(
            f"The database has schema {version}, but this cinder knows only up to {SCHEMA_HEAD}: "
            "upgrade cinder, or point it at another database"
        )
    if version is not None and version < OLDEST_UPGRADABLE:
        raise CacheFailed(
            f"The database has schema {version}, and this cinder upgrades only from "
            f"{OLDEST_UPGRADABLE} on: start the previous release of cinder on it once, then this "
            "one, or point it at another database"
        )
    return version != SCHEMA_HEAD


def require_current(version: str | None) -> None:
    """Return if a database at this version can be used.

    Raises:
        CacheFailed: its schema is older or newer than this code's.
    """
    if is_behind(version):
        raise CacheFailed(
            f"The database has schema {version}, not {SCHEMA_HEAD}: restart cinder to upgrade it"
        )


def migration_script(database: str, version: str | None) -> str:
    """Return the SQL that creates the schema on `sqlite` or `postgresql`, or upgrades it."""
    if version is None:
        return (SCHEMA_FOLDER / f"{database}.sql").read_text()
    steps = sorted(SCHEMA_FOLDER.glob(f"[0-9]*.{database}.sql"))
    return "\n".join(step.read_text() for step in steps if step.name[: len(version)] > version)


def migrate_sqlite(connection: sqlite3.Connection) -> None:
    """Create or upgrade the schema of a SQLite database, unless another process just did."""
    if not is_behind(sqlite_version(connection)):
        return
    connection.execute("BEGIN EXCLUSIVE")
    try:
        version = sqlite_version(connection)
        if is_behind(version):
            # `executescript` would commit the transaction that keeps other processes out.
            statement = ""
            for line in migration_script("sqlite", version).splitlines(keepends=True):
                statement += line
                if sqlite3.complete_statement(statement):
                    connection.execute(statement)
                    statement = ""
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def sqlite_version(connection: sqlite3.Connection) -> str | None:
    """Return the version of the schema; None where there is none."""
    tables = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
    if connection.execute(tables).fetchone() is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])
