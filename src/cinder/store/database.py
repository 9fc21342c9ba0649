"""The protocol of a database, its SQL dialects, and queries that yield statements."""

import re
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import zstandard

from cinder.errors import CacheFailed

# Level 3 takes half as long again for a twentieth less.
COMPRESSION_LEVEL = 1

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """A database's way to write the values that it has no common type for."""

    pack_text: Callable[[str], str | bytes]
    unpack_text: Callable[[Any], str]  # Any: what the driver returns for the column
    pack_moment: Callable[[datetime], datetime | str]
    unpack_moment: Callable[[Any], datetime]  # Any: the same


class _Zstandard(threading.local):
    """Compression contexts: costly to make, and not to be shared by threads."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(COMPRESSION_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_zstandard = _Zstandard()


def compress(data: bytes) -> bytes:
    """Return data compressed."""
    return _zstandard.compressor.compress(data)


def decompress(data: bytes) -> bytes:
    """Return what `compress` was given."""
    return _zstandard.decompressor.decompress(data)


def scrub(text: str) -> str:
    """Return text with U+FFFD for what PostgreSQL cannot store: NULs and lone surrogates."""
    if "\x00" not in text and _is_encodable(text):
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def fingerprint(text: str) -> str:
    """Return the SHA-256 of any text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _compress_text(text: str) -> bytes:
    return compress(text.encode())


def _decompress_text(data: bytes) -> str:
    return decompress(data).decode()


def _write_timestamp(moment: datetime) -> str:
    """Return a moment in a form of fixed width, which sorts as the moments do."""
    return moment.astimezone(UTC).isoformat(" ", "microseconds")


# SQLite compresses nothing by itself and has no type for moments.
SQLITE = SqlDialect(
    pack_text=_compress_text,
    unpack_text=_decompress_text,
    pack_moment=_write_timestamp,
    unpack_moment=datetime.fromisoformat,
)

# PostgreSQL compresses long texts by itself, and operators read plain ones with SQL.
POSTGRESQL = SqlDialect(
    pack_text=lambda text: text,
    unpack_text=lambda text: text,
    pack_moment=lambda moment: moment,
    unpack_moment=lambda moment: moment,
)


T = TypeVar("T")

SqlValue: TypeAlias = (
    str | bytes | int | datetime | Sequence[str] | Sequence[int] | Sequence[float] | None
)


class SqlRow(Protocol):
    """One row of an answer, its columns by name."""

    def __getitem__(self, name: str, /) -> Any:  # Any: whatever the column holds
        """Return a column's value."""
        ...


# Any: a joint knows the types of its own.
Arguments: TypeAlias = tuple[Any, ...]


class Statement(NamedTuple):
    """One SQL statement, in PostgreSQL's words, with its numbered parameters' values."""

    sql: str
    args: tuple[SqlValue, ...] = ()
    batchable: "BatchableStatement | None" = None
    """By which it becomes one with others of its kind, in procedures that run together."""


Query: TypeAlias = Generator[Statement, Sequence[SqlRow], T]


class BatchableStatement(Protocol):
    """Makes one of the statements of a kind."""

    @property
    def stage(self) -> int:
        """When it is its turn: after all procedures are past what comes earlier."""
        ...

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Run statements with these arguments as one; return the rows of each."""
        ...


class WriteConflict(CacheFailed):
    """Another writer changed the same entry again and again; try once more."""


class QueryRunner(Generic[T]):
    """A procedure under way: the statement it waits for, or, when that is None, its result."""

    __slots__ = ("_procedure", "result", "statement")

    result: T

    def __init__(self, procedure: Query[T]) -> None:
        self._procedure = procedure
        self.statement: Statement | None = None
        self._step(None)

    def advance(self, rows: Sequence[SqlRow]) -> None:
        """Hand over the answer to the statement and move on to the next."""
        self._step(rows)

    def _step(self, rows: Sequence[SqlRow] | None) -> None:
        try:
            if rows is None:
                self.statement = next(self._procedure)
            else:
                self.statement = self._procedure.send(rows)
        except StopIteration as end:
            self.statement, self.result = None, end.value


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
    def dialect(self) -> SqlDialect:
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
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a procedure that only reads.

        `measure` tells how many bytes it will read, for a database that may choose by it where
        to run the procedure; `is_small` says that it reads a few short columns of one row.
        """
        ...

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a procedure in a transaction: all of it is kept for good, or none.

        Those that name the same thing `together` may be kept waiting to be committed together.
        """
        ...

    async def inspect(self) -> None:
        """Return unless a short look through what is kept finds damage."""
        ...
