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
from cinder.store.database import SQLITE, Query, QueryRunner, SqlDialect, StoreLimits
from cinder.store.group_commit import run_batched
from cinder.store.migration import migrate_sqlite
from cinder.store.sqlite_writer import (
    QueuedWrite,
    SharedWrite,
    SqliteWriter,
    WriteBatcher,
    damage_of,
    failure_of,
    is_locked,
    require_whole_pages,
)

T = TypeVar("T")

# How long to wait for another process that opens or upgrades the same file.
BUSY_SECONDS = 30
# How long an inspection may take.
INSPECTION_SECONDS = 0.2
_INSPECTION_STEPS = 10_000
IN_PLACE_BYTES = 64 * 1024
WAL_ATTEMPTS = 20
MAX_WAL_BYTES = 64 * 1024 * 1024
# A search reads some megabytes of the index, more than SQLite's default cache.
READER_CACHE_KIB = 8 * 1024

# A virtual table is checked by the tables that it consists of.
_LIST_TABLES = """
SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
 ORDER BY name
"""

_URL_PREFIX = "sqlite:///"
_ROW_LOCK = re.compile(r" FOR UPDATE(?: OF \w+(?:, \w+)*)?(?: SKIP LOCKED)?")
_PARAMETER = re.compile(r"\$(\d+)")
_BYTES = re.compile(r"CAST\((\$\d+) AS BYTEA\)")
_ANY = re.compile(r"= ANY\((\$\d+)\)")
_UNNEST = re.compile(r"unnest\(CAST\((\$\d+) AS \w+\[\]\)\)")


def path_of(url: str) -> Path:
    """Return the file of a URL: `sqlite:///relative` or `sqlite:////absolute`.

    Raises:
        ValueError: the URL has none.
    """
    path = url.removeprefix(_URL_PREFIX)
    if path == url or path in ("", ":memory:"):
        raise ValueError(f"Not a database file: {url!r}. Use sqlite:///path or sqlite:////path")
    return Path(path)


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a connection whose user begins and commits transactions."""
    # Another thread closes the connection; no two threads use it at once.
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")
    return connection


class _NeedsThread(Exception):
    """A query cannot run on the event loop."""


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
        """Create the file where it is missing, upgrade its schema, and start the writer."""
        with self._translated("opened"):
            await asyncio.to_thread(self._open)

    async def close(self) -> None:
        """Finish waiting writes, then close every connection."""
        self._waiting.flush()
        writer, self._writer = self._writer, None
        # In one thread, which finishes even if the caller is cancelled.
        await asyncio.to_thread(self._close, writer)

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a query in a reader thread, or on the event loop where it reads little.

        A small read takes less time than the switch to a thread and back, which also causes GIL
        contention: on the loop, twice as many cached pages are served in a second.
        """
        self._open_writer()
        loop = asyncio.get_running_loop()
        with self._translated("read"):
            if is_small or measure is not None:
                with suppress(_NeedsThread):
                    return self._read_in_place(start, measure)
            return await loop.run_in_executor(self._readers, self._read, start)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a query in the writer thread; return when it is safe on disk.

        A write of a group waits for others for some milliseconds: a commit costs as much as all
        other writing of a page.
        """
        writer = self._open_writer()
        with self._translated("written"):
            if together is not None:
                loop = asyncio.get_running_loop()
                shared: SharedWrite[T] = SharedWrite(start, together, loop.create_future())
                self._waiting.add(shared, loop)
                return await shared.outcome
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
            migrate_sqlite(connection)
            # What a savepoint may have to undo: as a file, that is a third of all that is written.
            connection.execute("PRAGMA temp_store = MEMORY")
            if self._limits.max_bytes is not None:
                # A file that is larger already stays as it is.
                (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
                pages = max(1, self._limits.max_bytes // page_bytes)
                connection.execute(f"PRAGMA max_page_count = {pages}")
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
        """Read on the event loop, without waiting.

        Raises:
            _NeedsThread: there is too much to read, or another process has locked the file.
        """
        try:
            if measure is None or self._read(measure, busy_seconds=0) <= IN_PLACE_BYTES:
                return self._read(start, busy_seconds=0)
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
        raise _NeedsThread

    def _read(self, start: Callable[[], Query[T]], *, busy_seconds: float | None = None) -> T:
        return _run(self._reader(busy_seconds), start())

    def _reader(self, busy_seconds: float | None = None) -> sqlite3.Connection:
        """Return the connection of this thread."""
        if not hasattr(self._local, "connection"):
            wait = self._limits.busy_seconds if busy_seconds is None else busy_seconds
            connection = self._local.connection = connect(self._path, wait)
            self._connections.append(connection)
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        reader: sqlite3.Connection = self._local.connection
        return reader

    async def inspect(self) -> None:
        """Check one table after the other for damage, for a short time.

        Raises:
            DatabaseDamaged: there is damage, or the file is gone.
        """
        loop = asyncio.get_running_loop()
        with self._translated("read"):
            await loop.run_in_executor(self._readers, self._inspect)

    def _inspect(self) -> None:
        if not self._path.exists():
            raise damage_of(self._path, "the file is no longer there")
        connection = self._reader()
        tables = [row["name"] for row in connection.execute(_LIST_TABLES).fetchall()]
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
        # The next inspection continues here, and starts over after the last table.
        self._inspected %= len(tables)

    @contextmanager
    def _translated(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            raise failure_of(exc, self._path, done) from exc


def _run(connection: sqlite3.Connection, query: Query[T]) -> T:
    run = QueryRunner(query)
    while run.statement is not None:
        sql, order = _to_sqlite(run.statement.sql)
        args = run.statement.args
        if order is not None:
            args = tuple(args[index] for index in order)
        if list in map(type, args):
            args = tuple(json.dumps(arg) if isinstance(arg, list) else arg for arg in args)
        run.advance(connection.execute(sql, args).fetchall())
    return run.result


@lru_cache(maxsize=512)
def _to_sqlite(sql: str) -> tuple[str, Sequence[int] | None]:
    """Return a statement without what SQLite lacks: schemas, row locks, arrays and BYTEA.

    Its parameters have no numbers: SQLite treats numbers as names, which are far slower to bind.
    The second value is the order of the parameters' values; None where they are in order.
    """
    sql = _BYTES.sub(r"\1", _ROW_LOCK.sub("", sql.replace("webhook.", "")))
    sql = _ANY.sub(r"IN (SELECT value FROM json_each(\1))", sql)
    sql = _UNNEST.sub(r"json_each(\1)", sql)
    order = [int(number) - 1 for number in _PARAMETER.findall(sql)]
    return _PARAMETER.sub("?", sql), None if order == list(range(len(order))) else order


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and the writer work at the same time; the file keeps this mode."""
    for _ in range(WAL_ATTEMPTS - 1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # Another process creates the same database. SQLite does not wait to change this mode,
            # but it waits for a lock.
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        else:
            return
    connection.execute("PRAGMA journal_mode = WAL")
