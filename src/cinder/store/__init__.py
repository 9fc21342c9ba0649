"""Opens the store: documents, jobs, index and tokens, on SQLite or PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime

from cinder.store.base import Embedder, EntryKey, EntrySummary, QueryObserver, Store
from cinder.store.database import Database, StoreLimits
from cinder.store.documents import DocumentStore

__all__ = ["EntryKey", "EntrySummary", "QueryObserver", "Store", "StoreLimits", "open_store"]


def open_store(
    url: str,
    *,
    pool_size: int,
    limits: StoreLimits | None = None,
    observe: QueryObserver,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    embedder: Embedder | None = None,
) -> Store:
    """Return the store in the database that `url` names; entering it connects and migrates.

    With an embedder, the index ranks pages by their meaning as well.

    Raises:
        ValueError: the URL names no database that cinder knows; the message says which it does.
    """
    limits = limits or StoreLimits()
    database = _database(url, pool_size, limits)
    return DocumentStore(
        database, observe=observe, clock=clock, embedder=embedder, memory_bytes=limits.memory_bytes
    )


def _database(url: str, pool_size: int, limits: StoreLimits) -> Database:
    # Each driver is imported only where it is used: start-up pays for one of them.
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        from cinder.store.sqlite import SqliteDatabase, path_of  # noqa: PLC0415

        return SqliteDatabase(path_of(url), pool_size=pool_size, limits=limits)
    if scheme in ("postgresql", "postgres"):
        from cinder.store.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(url, pool_size=pool_size)
    raise ValueError(
        f"store.url: Unknown kind of database {scheme!r}: use sqlite:///path or "
        "postgresql://user@host/name"
    )
