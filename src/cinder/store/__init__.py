"""The store: documents, jobs, index and tokens, on SQLite or PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime

from cinder.errors import requires_extra
from cinder.store.database import Database, QueryObserver, StoreLimits
from cinder.store.documents import Store
from cinder.store.index.ranking import Embedder


def open_store(
    url: str,
    *,
    pool_size: int,
    limits: StoreLimits | None = None,
    observe: QueryObserver,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    embedder: Embedder | None = None,
) -> Store:
    """Return the store in the database of this URL; entering it connects and upgrades the schema.

    With an embedder, the index ranks pages by meaning as well.

    Raises:
        ValueError: the URL is not that of a supported database.
        Unsupported: the driver of the database is not installed.
    """
    limits = limits or StoreLimits()
    scheme = url.partition(":")[0]
    database: Database
    # Only the driver that is used is imported, to start faster.
    if scheme == "sqlite":
        from cinder.store.sqlite import SqliteDatabase, path_of  # noqa: PLC0415

        database = SqliteDatabase(path_of(url), pool_size=pool_size, limits=limits)
    elif scheme in ("postgresql", "postgres"):
        with requires_extra("postgres"):
            from cinder.store.postgres import PostgresDatabase  # noqa: PLC0415

        database = PostgresDatabase(url, pool_size=pool_size)
    else:
        raise ValueError(
            f"store.url: Unknown kind of database {scheme!r}: use sqlite:///path or "
            "postgresql://user@host/name"
        )
    return Store(
        database,
        observe=observe,
        clock=clock,
        embedder=embedder,
        memory_bytes=limits.memory_bytes,
    )
