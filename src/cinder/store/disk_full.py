"""The guard that refuses writes while the disk is full, and probes for free space."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from cinder.errors import CacheFailed, DatabaseDamaged, StorageFull
from cinder.store.database import Database, Query, SqlDialect, execute

T = TypeVar("T")

# The size of a large page: a few free bytes on a full disk are not enough.
_PROBE_BYTES = 256 * 1024

# Rows of this table that are the name of no host.
_PROBE_HOST = "room for a page"
_MARK_HOST = "readiness"

_WRITE_MARK = """
INSERT INTO webhook.hosts (host, robots_failures, robots) VALUES ($1, 0, $2)
ON CONFLICT (host) DO UPDATE SET robots = excluded.robots
"""
_REMOVE_MARK = "DELETE FROM webhook.hosts WHERE host = $1"

log = structlog.get_logger()


class DiskFullGuard:
    """Wraps a database, and records when its disk is full. See `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_full = False
        """Whether the disk was full at the last write, and no space was found since."""
        self.damage: DatabaseDamaged | None = None
        """The damage found since the start, if any."""

    @property
    def dialect(self) -> SqlDialect:
        """How the database stores values."""
        return self._database.dialect

    async def open(self) -> None:
        """Connect, and upgrade the schema."""
        await self._database.open()

    async def close(self) -> None:
        """Finish pending writes and disconnect."""
        await self._database.close()

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a query that only reads."""
        with self._recording_damage():
            return await self._database.read(start, measure=measure, is_small=is_small)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a query in a transaction."""
        try:
            with self._recording_damage():
                return await self._database.write(start, together=together)
        except StorageFull as error:
            if not self.is_full:
                self.is_full = True
                log.error("there is no space to store anything", error=error.message)  # noqa: TRY400 - a full disk is no fault of the code
            raise

    async def inspect(self) -> None:
        """Look for damage for a short time, and raise if there is any."""
        with self._recording_damage():
            await self._database.inspect()

    @contextmanager
    def _recording_damage(self) -> Iterator[None]:
        try:
            yield
        except DatabaseDamaged as error:
            if self.damage is None:
                log.error("the database is damaged", error=error.message)  # noqa: TRY400 - no fault of the code
            self.damage = error
            raise

    async def probe(self) -> None:
        """Test whether there is space for a page again."""
        # Random, because a database may compress it.
        data = os.urandom(_PROBE_BYTES)
        try:
            await self._database.write(lambda: execute(_WRITE_MARK, _PROBE_HOST, data))
            await self._database.write(lambda: execute(_REMOVE_MARK, _PROBE_HOST))
        except CacheFailed:
            return
        self.is_full = False
        log.info("there is space again")

    async def write_mark(self) -> None:
        """Write a few new random bytes, so that the database cannot skip the write."""
        mark = os.urandom(8)
        await self.write(lambda: execute(_WRITE_MARK, _MARK_HOST, mark))
