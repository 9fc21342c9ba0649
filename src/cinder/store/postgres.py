"""The PostgreSQL database: a pool of asyncpg connections that retries serialization failures."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import asyncpg
import structlog
from asyncpg.transaction import Transaction
from structlog.typing import FilteringBoundLogger

from cinder.errors import CacheFailed, DatabaseAway, StorageFull
from cinder.store.database import POSTGRESQL, Query, QueryRunner, SqlDialect, WriteConflict
from cinder.store.group_commit import SharedTransactions, run_batched
from cinder.store.migration import is_behind, postgresql_script

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

T = TypeVar("T")

_log: FilteringBoundLogger = structlog.get_logger()

MIGRATION_SECONDS = 24 * 3600
COMMAND_SECONDS = 60
# Whoever asks is told sooner than he gives up.
CONNECT_SECONDS = 5
ACQUIRE_SECONDS = 30
READ_SECONDS = 20
GIVE_BACK_SECONDS = 2
WRITE_ATTEMPTS = 10
SHARED_ATTEMPTS = 2
# A process that is frozen in a transaction holds its locks no longer than this; its other
# connections may have been next in line, and each of them takes as long once more.
_IDLE_MS = 5_000
# Answers beyond this are unpacked off the event loop.
LARGE_ANSWER = 256 * 1024
# Any number, as long as every cinder takes the same.
MIGRATION_LOCK = 0x63696E646572

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)

# What is said by a server that is stopped, starts, or is out of reach.
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    OSError,
)

# What another writer at the same entry, version or body can cause.
_RACES = (
    WriteConflict,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.UniqueViolationError,
    asyncpg.ForeignKeyViolationError,
)

_NO_SCHEMA = (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError)


class PostgresDatabase:
    """A PostgreSQL database, named by its URL. See `cinder.store.database.Database`."""

    dialect: SqlDialect = POSTGRESQL

    def __init__(self, url: str, *, pool_size: int) -> None:
        self._url = url
        self._pool_size = pool_size
        self._pool: Pool | None = None
        self._shared = SharedTransactions(self._write_together)

    async def open(self) -> None:
        """Connect, and migrate where the schema is behind."""
        with translated():
            pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=self._pool_size,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                reset=_leave_as_it_is,
                server_settings={"idle_in_transaction_session_timeout": str(_IDLE_MS)},
            )
            try:
                await self._migrate(pool)
            except BaseException:
                pool.terminate()
                raise
        self._pool = pool

    async def inspect(self) -> None:
        """Return at once: the server looks after its own files."""

    async def close(self) -> None:
        """Wait for what is under way, then disconnect."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            with translated():
                await pool.close()

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,  # noqa: ARG002 - waits either way
        is_small: bool = False,  # noqa: ARG002 - the same
    ) -> T:
        """Run a procedure on any connection."""
        with translated():
            async with self._connection() as connection:
                return await _run(connection, start(), timeout_seconds=READ_SECONDS)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a procedure in a transaction, again where another writer got in its way.

        Those that go together share transactions.
        """
        if together is not None:
            return await self._shared.write(start, together)
        return (await self._write_together([start]))[0]

    async def _write_together(self, starts: Sequence[Callable[[], Query[T]]]) -> list[T]:
        with translated():
            async with self._connection() as connection:
                # Those that share it may be in each other's way: each alone, they are not.
                attempts = WRITE_ATTEMPTS if len(starts) == 1 else SHARED_ATTEMPTS
                for _ in range(attempts - 1):
                    try:
                        return await _run_in_transaction(connection, starts)
                    except _RACES:
                        continue
                return await _run_in_transaction(connection, starts)

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[Connection]":
        pool = self._open_pool()
        connection = await pool.acquire(timeout=ACQUIRE_SECONDS)
        try:
            yield connection
        finally:
            # One that hangs cannot be given back, and is closed: nobody waits for it for long.
            with suppress(*DRIVER_ERRORS):
                await pool.release(connection, timeout=GIVE_BACK_SECONDS)

    def _open_pool(self) -> "Pool":
        if self._pool is None:
            raise CacheFailed("The store is not open")
        return self._pool

    async def _migrate(self, pool: "Pool") -> None:
        async with pool.acquire() as connection:
            if not is_behind(await _schema_version(connection)):
                return
            # However long another's migration takes, or this one's.
            await connection.execute(
                "SELECT pg_advisory_lock($1)", MIGRATION_LOCK, timeout=MIGRATION_SECONDS
            )
            try:
                version = await _schema_version(connection)
                if is_behind(version):
                    script = await asyncio.to_thread(postgresql_script, version)
                    await connection.execute(script, timeout=MIGRATION_SECONDS)
            finally:
                await connection.execute("SELECT pg_advisory_unlock($1)", MIGRATION_LOCK)


async def _leave_as_it_is(_connection: object) -> None:
    """Return a connection to the pool: nothing but the migration changes a session's state."""


async def _run_in_transaction(
    connection: "Connection", starts: Sequence[Callable[[], Query[T]]]
) -> list[T]:
    transaction = connection.transaction(isolation="read_committed")
    try:
        await transaction.start()
        results = await _run(connection, run_batched(starts))
    except BaseException:
        await _roll_back(connection, transaction)
        raise
    await transaction.commit()
    return results


async def _roll_back(connection: "Connection", transaction: Transaction) -> None:
    """Undo a transaction, by closing its connection where the server does not answer."""
    try:
        async with asyncio.timeout(GIVE_BACK_SECONDS):
            await transaction.rollback()
    except DRIVER_ERRORS:
        connection.terminate()


async def _run(
    connection: "Connection", procedure: Query[T], *, timeout_seconds: float | None = None
) -> T:
    run = QueryRunner(procedure)
    while run.statement is not None:
        sql, args = run.statement.sql, run.statement.args
        rows = await connection.fetch(sql, *args, timeout=timeout_seconds)
        if _is_large(rows):
            await asyncio.to_thread(run.advance, rows)
        else:
            run.advance(rows)
    return run.result


def _is_large(rows: Sequence[asyncpg.Record]) -> bool:
    sizes = (len(value) for row in rows for value in row if isinstance(value, str | bytes))
    return sum(sizes) > LARGE_ANSWER


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
            f"PostgreSQL has no room to write ({exc}). Free some on its disk: cinder goes on by "
            "itself, and what is kept can be read meanwhile"
        ) from exc
    except DRIVER_ERRORS as exc:
        kind = DatabaseAway if isinstance(exc, _AWAY) else CacheFailed
        _log.warning("PostgreSQL could not be used", error=str(exc) or type(exc).__name__)
        raise kind(
            f"PostgreSQL could not be used: {_describe(exc)}. Check that the server of store.url "
            "(CINDER_STORE__URL) is up and lets cinder in; the log has the details"
        ) from exc


def _describe(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "it did not answer in time"
    # What the system says of a connection has the server's address in it.
    return "no connection" if isinstance(exc, OSError) else str(exc) or type(exc).__name__
