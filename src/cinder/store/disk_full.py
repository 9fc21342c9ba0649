"""The guard that refuses writes while the disk is full, and probes for free space."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from cinder.errors import CacheFailed, DatabaseDamaged, StorageFull
from cinder.store.database import Database, Query, SqlDialect, Statement

T = TypeVar("T")

# As much as a page may well take: the few bytes left on a full disk are no room.
_PROBE_BYTES = 256 * 1024

# No host has such a name, and none of a job's will be looked for under it.
_PROBE_HOST = "room for a page"
_MARK_HOST = "readiness"

_WRITE_PROBE = """
INSERT INTO webhook.hosts (host, robots_failures, robots) VALUES ($1, 0, $2)
ON CONFLICT (host) DO UPDATE SET robots = excluded.robots
"""
_REMOVE_PROBE = "DELETE FROM webhook.hosts WHERE host = $1"

log = structlog.get_logger()


class DiskFullGuard:
    """Passes everything on, and notes where there was no room. See `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_full = False
        """Whether there was no room the last time, and none was found since."""
        self.damage: DatabaseDamaged | None = None
        """What was found to be damaged since the start, if anything was."""

    @property
    def dialect(self) -> SqlDialect:
        """How the database writes values."""
        return self._database.dialect

    async def open(self) -> None:
        """Connect, and bring the schema up to date."""
        await self._database.open()

    async def close(self) -> None:
        """Finish what was begun and disconnect."""
        await self._database.close()

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a procedure that only reads."""
        with self._noting_damage():
            return await self._database.read(start, measure=measure, is_small=is_small)

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a procedure in a transaction."""
        try:
            with self._noting_damage():
                return await self._database.write(start, together=together)
        except StorageFull as error:
            if not self.is_full:
                self.is_full = True
                log.error("there is no room to keep anything", error=error.message)  # noqa: TRY400 - a full disk is no fault of the code
            raise

    async def inspect(self) -> None:
        """Return unless a short look through what is kept finds damage."""
        with self._noting_damage():
            await self._database.inspect()

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except DatabaseDamaged as error:
            if self.damage is None:
                log.error("the database is damaged", error=error.message)  # noqa: TRY400 - no fault of the code
            self.damage = error
            raise

    async def probe(self) -> None:
        """Try whether there is room again for as much as a page takes."""
        try:
            await self._database.write(_write_probe)
            await self._database.write(_remove_probe)
        except CacheFailed:
            return
        self.is_full = False
        log.info("there is room again")


def write_mark(mark: bytes) -> Query[None]:
    """Write a few bytes that were never there before, which a database cannot leave out."""
    yield Statement(_WRITE_PROBE, (_MARK_HOST, mark))


def _write_probe() -> Query[None]:
    # Of chance, since a database may compress it.
    yield Statement(_WRITE_PROBE, (_PROBE_HOST, os.urandom(_PROBE_BYTES)))


def _remove_probe() -> Query[None]:
    yield Statement(_REMOVE_PROBE, (_PROBE_HOST,))
