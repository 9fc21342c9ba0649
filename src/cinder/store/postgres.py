"""The PostgreSQL database: a pool of asyncpg connections that retries serialization failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import asyncpg
import structlog
from structlog.typing import FilteringBoundLogger

from cinder.errors import CacheFailed, DatabaseAway, StorageFull
from cinder.store.database import POSTGRESQL, Query, QueryRunner, SqlDialect, WriteConflict
from cinder.store.group_commit import SharedTransactions, run_batched
from cinder.store.migration import is_behind, migration_script

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

T = TypeVar("T")

_log: FilteringBoundLogger = structlog.get_logger()

MIGRATION_SECONDS = 24 * 3600
COMMAND_SECONDS = 60
# Shorter than the timeouts of callers.
CONNECT_SECONDS = 5
ACQUIRE_SECONDS = 30
READ_SECONDS = 20
GIVE_BACK_SECONDS = 2
WRITE_ATTEMPTS = 10
SHARED_ATTEMPTS = 2
# How long a process that hangs in a transaction holds its locks. Its other connections may have
# been next in line, and each of them takes as long again.
_IDLE_MS = 5_000
# Results larger than this are decoded in a thread.
LARGE_RESULT = 256 * 1024
# An arbitrary number that every cinder uses.
MIGRATION_LOCK = 0x63696E646572

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)

# The errors of a server that is stopped, starting, or unreachable.
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    OSError,
)

# The errors that another writer of the same entry, version or body can cause.
_RACES = (
    WriteConflict,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.UniqueViolationError,
    asyncpg.ForeignKeyViolationError,
)

_NO_SCHEMA = (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError)


class PostgresDatabase:
    """A PostgreSQL database. See `cinder.store.database.Database`."""

    dialect: SqlDialect = POSTGRESQL

    def __init__(self, url: str, *, pool_size: int) -> None:
        self._url = url
        self._pool_size = pool_size
        self._pool: Pool | None = None
        self._shared = SharedTransactions(self._write_batch)

    async def open(self) -> None:
        """Connect, and upgrade the schema where it is behind."""
        with translated():
            pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=self._pool_size,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                reset=_keep_session,
                server_settings={"idle_in_transaction_session_timeout": str(_IDLE_MS)},
            )
            try:
                await self._migrate(pool)
            except BaseException:
                pool.terminate()
                raise
        self._pool = pool

    async def inspect(self) -> None:
        """Return at once: the server checks its own files."""

    async def close(self) -> None:
        """Wait for running queries, then disconnect."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            with translated():
                await pool.close()

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,  # noqa: ARG002 - it never blocks the loop
        is_small: bool = False,  # noqa: ARG002 - the same
    ) -> T:
        """Run a query on any connection."""
        with translated():
            async with self._connection() as connection:
                return await _run(connection, start(), timeout_seconds=READ_SECONDS)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a query in a transaction, and retry it after a conflict with another writer.

        Writes of a group share transactions.
        """
        if together is not None:
            return await self._shared.write(start, together)
        return (await self._write_batch([start]))[0]

    async def _write_batch(self, starts: Sequence[Callable[[], Query[T]]]) -> list[T]:
        with translated():
            async with self._connection() as connection:
                # Queries of a batch may conflict with each other; they are retried one by one.
                attempts = WRITE_ATTEMPTS if len(starts) == 1 else SHARED_ATTEMPTS
                for _ in range(attempts - 1):
                    try:
                        return await _run_in_transaction(connection, starts)
                    except _RACES:
                        continue
                return await _run_in_transaction(connection, starts)

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[Connection]":
        pool = self._pool
        if pool is None:
            raise CacheFailed("The store is not open")
        connection = await pool.acquire(timeout=ACQUIRE_SECONDS)
        try:
            yield connection
        finally:
            # A connection that hangs cannot be released, and is closed after a short time.
            with suppress(*DRIVER_ERRORS):
                await pool.release(connection, timeout=GIVE_BACK_SECONDS)

    async def _migrate(self, pool: "Pool") -> None:
        async with pool.acquire() as connection:
            if not is_behind(await _schema_version(connection)):
                return
            # An upgrade, by this process or another, may take hours.
            await connection.execute(
                "SELECT pg_advisory_lock($1)", MIGRATION_LOCK, timeout=MIGRATION_SECONDS
            )
            try:
                version = await _schema_version(connection)
                if is_behind(version):
                    script = migration_script("postgresql", version)
                    async with connection.transaction():
                        await connection.execute(script, timeout=MIGRATION_SECONDS)
            finally:
                await connection.execute("SELECT pg_advisory_unlock($1)", MIGRATION_LOCK)


async def _keep_session(_connection: object) -> None:
    """Skip the reset of a released connection: only the upgrade changes a session's state."""


async def _run_in_transaction(
    connection: "Connection", starts: Sequence[Callable[[], Query[T]]]
) -> list[T]:
    transaction = connection.transaction(isolation="read_committed")
    try:
        await transaction.start()
        results = await _run(connection, run_batched(starts))
    except BaseException:
        try:
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                await transaction.rollback()
        except DRIVER_ERRORS:
            connection.terminate()  # the server does not answer
        raise
    await transaction.commit()
    return results


async def _run(
    connection: "Connection", query: Query[T], *, timeout_seconds: float | None = None
) -> T:
    run = QueryRunner(query)
    while run.statement is not None:
        sql, args = run.statement.sql, run.statement.args
        rows = await connection.fetch(sql, *args, timeout=timeout_seconds)
        sizes = (len(value) for row in rows for value in row if isinstance(value, str | bytes))
        if sum(sizes) > LARGE_RESULT:
            await asyncio.to_thread(run.advance, rows)
        else:
            run.advance(rows)
    return run.result


async def _schema_version(connection: "Connection") -> str | None:
    try:
        version = await connection.fetchval("SELECT version_num FROM webhook.alembic_version")
    except _NO_SCHEMA:
        return None
    return None if version is None else str(version)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the driver's errors as cinder's."""
    try:
        yield
    except asyncpg.DiskFullError as exc:
        raise StorageFull(
            f"PostgreSQL has no room to write ({exc}). Free some on its disk: cinder continues by "
            "itself, and stored pages can be read meanwhile"
        ) from exc
    except DRIVER_ERRORS as exc:
        kind = DatabaseAway if isinstance(exc, _AWAY) else CacheFailed
        reason = str(exc) or type(exc).__name__
        _log.warning("PostgreSQL could not be used", error=reason)
        if isinstance(exc, OSError):
            # The system's message about a connection contains the server's address.
            is_late = isinstance(exc, TimeoutError)
            reason = "it did not answer in time" if is_late else "no connection"
        raise kind(
            f"PostgreSQL could not be used: {reason}. Check that the server of store.url "
            "(CINDER_STORE__URL) runs and accepts cinder; the log has the details"
        ) from exc
