"""A database whose operations are timed."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cinder.store.base import QueryObserver
from cinder.store.database import Database
from cinder.store.dialect import Dialect
from cinder.store.procedure import Procedure

T = TypeVar("T")


class TimedDatabase:
    """Runs procedures under a name, and tells how long each took."""

    def __init__(self, database: Database, observe: QueryObserver) -> None:
        self._database = database
        self._observe = observe

    @property
    def dialect(self) -> Dialect:
        """How the database writes values."""
        return self._database.dialect

    async def read(self, operation: str, start: Callable[[], Procedure[T]]) -> T:
        """Run a procedure that only reads."""
        return await self._timed(operation, self._database.read(start))

    async def write(
        self, operation: str, start: Callable[[], Procedure[T]], *, together: str | None = None
    ) -> T:
        """Run a procedure in a transaction."""
        return await self._timed(operation, self._database.write(start, together=together))

    async def _timed(self, operation: str, work: Awaitable[T]) -> T:
        start = time.perf_counter()
        try:
            return await work
        finally:
            self._observe(operation, time.perf_counter() - start)
