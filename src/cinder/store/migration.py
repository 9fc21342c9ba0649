"""Upgrades a database's schema through Alembic, and tells whether it is current."""

import sqlite3
import threading
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from cinder.errors import CacheFailed
from cinder.store.sqlite_errors import failure_of

if TYPE_CHECKING:
    from alembic.config import Config


SCHEMA_HEAD = "0009"
"""The newest migration, told without importing Alembic; migrations are numbered in order."""

MIGRATIONS = Path(__file__).parent / "migrations"

# Alembic keeps the migration under way in module globals, so a process can run one at a time.
_alembic = threading.Lock()


def is_behind(version: str | None) -> bool:
    """Whether a database at this version needs migrating; None is one without a schema.

    Raises:
        CacheFailed: the database is newer than this code.
    """
    if version is not None and version > SCHEMA_HEAD:
        raise CacheFailed(
            f"The database has schema {version}, but this cinder knows only up to {SCHEMA_HEAD}: "
            "upgrade cinder, or point it at another database"
        )
    return version != SCHEMA_HEAD


def require_current(version: str | None) -> None:
    """Return if a database at this version can be worked with.

    Raises:
        CacheFailed: its schema is older or newer than this code's.
    """
    if is_behind(version):
        raise CacheFailed(
            f"The database has schema {version}, not {SCHEMA_HEAD}: restart cinder to migrate it"
        )


def upgrade_sqlite(path: Path) -> None:
    """Migrate a SQLite database to the newest schema; others who do the same are waited for."""
    with _alembic:
        # Imported only where a migration runs: they cost more than the rest of a start.
        from alembic import command  # noqa: PLC0415
        from alembic.util import CommandError  # noqa: PLC0415
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError  # noqa: PLC0415

        try:
            command.upgrade(_config(f"sqlite:///{path}"), "head")
        except DBAPIError as exc:
            if isinstance(exc.orig, sqlite3.Error):
                raise failure_of(exc.orig, path, "migrated") from exc
            raise CacheFailed(f"The database {path} could not be migrated: {exc}") from exc
        except (CommandError, SQLAlchemyError) as exc:
            raise CacheFailed(f"The database {path} could not be migrated: {exc}") from exc


def postgresql_script(version: str | None) -> str:
    """Return the SQL, a transaction of its own, that takes PostgreSQL from a version to the newest.

    A script, because Alembic itself would need a synchronous driver, or greenlets.
    """
    with _alembic:
        from alembic import command  # noqa: PLC0415 - as above

        script = StringIO()
        span = f"{version}:head" if version else "head"
        command.upgrade(_config("postgresql://", script), span, sql=True)
        return script.getvalue()


def _config(url: str, output: StringIO | None = None) -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config(output_buffer=output)
    # A percent sign would begin an interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["url"] = url
    return config
