"""The seam between what is kept and the database that keeps it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cinder.store.dialect import Dialect
from cinder.store.procedure import Procedure

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """How much room the store takes, and how long it waits."""

    max_bytes: int | None = None
    """How large a database that is one file may become; None for any size."""
    busy_seconds: float = 3
    """How long another process that locks the file is waited for."""
    memory_bytes: int = 0
    """Memory for the documents that were read lately."""


class Database(Protocol):
    """Runs procedures; each is handed over as a function that starts it, so it can be retried.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    @property
    def dialect(self) -> Dialect:
        """How this database writes values."""
        ...

    async def open(self) -> None:
        """Connect, and bring the schema up to date."""
        ...

    async def close(self) -> None:
        """Finish what was begun and disconnect."""
        ...

    async def read(
        self,
        start: Callable[[], Procedure[T]],
        *,
        measure: Callable[[], Procedure[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a procedure that only reads.

        `measure` tells how many bytes it will read, for a database that may choose by it where
        to run the procedure; `is_small` says that it reads a few short columns of one row.
        """
        ...

    async def write(self, start: Callable[[], Procedure[T]], *, together: str | None = None) -> T:
        """Run a procedure in a transaction: all of it is kept for good, or none.

        Those that name the same thing `together` may be kept waiting to be committed together.
        """
        ...

    async def inspect(self) -> None:
        """Return unless a short look through what is kept finds damage."""
        ...
