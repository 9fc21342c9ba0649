"""The SQLite database: a pool of reader threads and one writer, on the standard driver."""

import asyncio
import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from cinder.errors import CacheFailed
from cinder.store.database import SQLITE, Query, QueryRunner, SqlDialect, Statement, StoreLimits
from cinder.store.group_commit import run_batched
from cinder.store.migration import is_behind, upgrade_sqlite
from cinder.store.sqlite_errors import damage_of, failure_of, is_locked, require_whole_pages
from cinder.store.sqlite_writer import QueuedWrite, SharedWrite, SqliteWriter, WriteBatcher

T = TypeVar("T")

# How long to wait for another process that opens or migrates the same file.
BUSY_SECONDS = 30
# How long a look for damage may take.
INSPECTION_SECONDS = 0.2
_INSPECTION_STEPS = 10_000
IN_PLACE_BYTES = 64 * 1024
WAL_ATTEMPTS = 20
MAX_WAL_BYTES = 64 * 1024 * 1024
# A search goes through some megabytes of the index, more than SQLite keeps in memory by itself.
READER_CACHE_KIB = 8 * 1024

_URL_PREFIX = "sqlite:///"
_ROW_LOCK = re.compile(r" FOR UPDATE(?: OF \w+(?:, \w+)*)?(?: SKIP LOCKED)?")
_PARAMETER = re.compile(r"\$(\d+)")
_BYTES = re.compile(r"CAST\((\$\d+) AS BYTEA\)")
_ANY = re.compile(r"= ANY\((\$\d+)\)")
_UNNEST = re.compile(r"unnest\(CAST\((\$\d+) AS \w+\[\]\)\)")


def path_of(url: str) -> Path:
    """Return the file that a URL names: `sqlite:///relative` or `sqlite:////absolute`.

    Raises:
        ValueError: it names none.
    """
    path = url.removeprefix(_URL_PREFIX)
    if path == url or path in ("", ":memory:"):
        raise ValueError(f"Not a database file: {url!r}. Use sqlite:///path or sqlite:////path")
    return Path(path)


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a connection that leaves transactions to its user."""
    # Threads hand connections over to be closed; no two ever use one at once.
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")
    return connection


class _LockedOut(Exception):
    """Something is not read on the event loop."""


class SqliteDatabase:
    """A database in one file. See `cinder.store.database.Database`."""

    dialect: SqlDialect = SQLITE

    def __init__(self, path: Path, *, pool_size: int, limits: StoreLimits | None = None) -> None:
        self._path = path
        self._limits = limits or StoreLimits()
        self._inspected = 0
        self._connections: list[sqlite3.Connection] = []
        self._local = threading.local()
        self._readers = ThreadPoolExecutor(pool_size, "cinder-reader")
        self._writer: SqliteWriter | None = None
        self._waiting = WriteBatcher(
            lambda starts, connection: _run(connection, run_batched(starts)),
            lambda writes: self._open_writer().submit(writes),
        )

    async def open(self) -> None:
        """Create the file where it is missing, migrate it, and start the writer."""
        with self._translated("opened"):
            await asyncio.to_thread(self._open)

    async def close(self) -> None:
        """Finish the writes that wait, then close every connection."""
        self._waiting.leave()
        writer, self._writer = self._writer, None
        # One step off the loop: a caller that is cancelled leaves it to finish by itself.
        await asyncio.to_thread(self._close, writer)

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a procedure in one of the reading threads, or in place where it reads little.

        A small read is over sooner than the way to a thread and back, on which two threads also
        fight over the interpreter: in place, twice as many cached answers leave a second.
        """
        self._open_writer()
        loop = asyncio.get_running_loop()
        with self._translated("read"):
            if is_small or measure is not None:
                with suppress(_LockedOut):
                    return self._read_in_place(start, measure)
            return await loop.run_in_executor(self._readers, self._read, start)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a procedure in the writing thread; return when it is safe on disk.

        One that goes together with others waits for them for some milliseconds: a commit alone
        costs as much as all else that is written of a page.
        """
        writer = self._open_writer()
        with self._translated("written"):
            if together is not None:
                shared = SharedWrite(start, together)
                self._waiting.add(shared, asyncio.get_running_loop())
                return await asyncio.wrap_future(shared.future)
            write = QueuedWrite(lambda connection: _run(connection, start()))
            writer.submit([write])
            return await asyncio.wrap_future(write.future)

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        require_whole_pages(self._path)
        connection = connect(self._path)
        try:
            _use_write_ahead_log(connection)
            if is_behind(_schema_version(connection)):
                upgrade_sqlite(self._path)
            if self._limits.max_bytes is not None:
                _limit_size(connection, self._limits.max_bytes)
        except BaseException:
            connection.close()
            raise
        self._writer = SqliteWriter(connection, self._limits.busy_seconds)

    def _close(self, writer: SqliteWriter | None) -> None:
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()
        if writer is not None:
            writer.stop()

    def _open_writer(self) -> SqliteWriter:
        if self._writer is None:
            raise CacheFailed("The store is not open")
        return self._writer

    def _read_in_place(
        self, start: Callable[[], Query[T]], measure: Callable[[], Query[int]] | None
    ) -> T:
        """Read on the event loop, which waits for nobody.

        Raises:
            _LockedOut: it is to be read by a thread: there is too much of it, or somebody has
                locked the file.
        """
        try:
            if measure is None or self._read(measure, busy_seconds=0) <= IN_PLACE_BYTES:
                return self._read(start, busy_seconds=0)
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
        raise _LockedOut

    def _read(self, start: Callable[[], Query[T]], *, busy_seconds: float | None = None) -> T:
        if not hasattr(self._local, "connection"):
            wait = self._limits.busy_seconds if busy_seconds is None else busy_seconds
            self._local.connection = self._connect_reader(wait)
        return _run(self._local.connection, start())

    async def inspect(self) -> None:
        """Return unless a short look through one table after the other finds damage.

        Raises:
            DatabaseDamaged: it found some, or the file is gone.
        """
        loop = asyncio.get_running_loop()
        with self._translated("read"):
            await loop.run_in_executor(self._readers, self._inspect)

    def _inspect(self) -> None:
        if not self._path.exists():
            raise damage_of(self._path, "the file is no longer there")
        tables = self._read(_list_tables)
        connection: sqlite3.Connection = self._local.connection
        until = time.monotonic() + INSPECTION_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > until, _INSPECTION_STEPS)
        try:
            while time.monotonic() < until and self._inspected < len(tables):
                table = tables[self._inspected]
                self._inspected += 1
                found = connection.execute(f'PRAGMA quick_check("{table}")').fetchone()[0]
                if found != "ok":
                    raise damage_of(self._path, f"{table}: {found}")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
        finally:
            connection.set_progress_handler(None, 0)
        # The next look goes on from here, and begins again after the last table.
        self._inspected %= len(tables)

    def _connect_reader(self, busy_seconds: float) -> sqlite3.Connection:
        connection = connect(self._path, busy_seconds)
        self._connections.append(connection)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        return connection

    @contextmanager
    def _translated(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            raise failure_of(exc, self._path, done) from exc


def _list_tables() -> Query[list[str]]:
    # FTS5's own table is looked at by the tables that it is made of.
    rows = yield Statement(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        "ORDER BY name"
    )
    return [row["name"] for row in rows]


def _run(connection: sqlite3.Connection, procedure: Query[T]) -> T:
    run = QueryRunner(procedure)
    while run.statement is not None:
        run.advance(_execute(connection, run.statement))
    return run.result


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[sqlite3.Row]:
    sql, order = _to_sqlite(statement.sql)
    args = statement.args if order is None else [statement.args[place] for place in order]
    if list in map(type, args):
        args = [json.dumps(arg) if isinstance(arg, list) else arg for arg in args]
    return connection.execute(sql, args).fetchall()


@lru_cache(maxsize=512)
def _to_sqlite(sql: str) -> tuple[str, Sequence[int] | None]:
    """Return a statement without what SQLite lacks: schemas, row locks, arrays and BYTEA.

    Its parameters have no numbers, which SQLite takes for names: by names they are bound far
    slower. With it come the places of their values, where these are not just in order.
    """
    sql = _BYTES.sub(r"\1", _ROW_LOCK.sub("", sql.replace("webhook.", "")))
    sql = _ANY.sub(r"IN (SELECT value FROM json_each(\1))", sql)
    sql = _UNNEST.sub(r"json_each(\1)", sql)
    order = [int(number) - 1 for number in _PARAMETER.findall(sql)]
    return _PARAMETER.sub("?", sql), None if order == list(range(len(order))) else order


def _limit_size(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Let a connection write no file larger than this; one that is stays as large as it is."""
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute(f"PRAGMA max_page_count = {max(1, max_bytes // page_bytes)}")


def _schema_version(connection: sqlite3.Connection) -> str | None:
    tables = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
    if connection.execute(tables).fetchone() is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row["version_num"] if row else None


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and the writer work at the same time; the file remembers it."""
    for _ in range(WAL_ATTEMPTS - 1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # Two processes that create a database meet here, and SQLite does not wait for a
            # change of this mode; for a lock it does.
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        else:
            return
    connection.execute("PRAGMA journal_mode = WAL")
