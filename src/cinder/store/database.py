"""What the store needs of a database: SQL dialects, queries as generators, and timed operations.

A query is a generator that yields statements and receives their rows, so that SQLite runs it in a
thread and PostgreSQL on the event loop. `@reads` and `@writes` turn a query into an operation of a
`Repository`.
"""

import re
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from hashlib import sha256
from typing import (
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
)

from cinder.compression import compress, decompress
from cinder.errors import CacheFailed
from cinder.models.document import StoredForm

P = ParamSpec("P")
T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MAX_ID = 2**63 - 1
MAX_LISTED = 1000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def scrub(text: str) -> str:
    """Return text with U+FFFD for what PostgreSQL cannot store: NULs and lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _UNSTORABLE.sub("\ufffd", text)
    return text.replace("\x00", "\ufffd")


def fingerprint(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def to_milliseconds(timestamp: datetime) -> int:
    """Return a timestamp as milliseconds since 1970."""
    return (timestamp - EPOCH) // MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """Return the timestamp of milliseconds since 1970."""
    return EPOCH + milliseconds * MILLISECOND


def clamp_limit(limit: int) -> int:
    """Return the limit of a list within 0 and `MAX_LISTED`."""
    return max(0, min(limit, MAX_LISTED))


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """How a database stores long texts and timestamps."""

    pack_text: Callable[[str], str | bytes]
    unpack_text: Callable[[Any], str]  # Any: what the driver returns for the column
    pack_timestamp: Callable[[datetime], datetime | str]
    unpack_timestamp: Callable[[Any], datetime]  # Any: the same
    stored_form: StoredForm


# SQLite does not compress, and has no type for timestamps: texts of fixed width sort as they do.
SQLITE = SqlDialect(
    pack_text=lambda text: compress(text.encode()),
    unpack_text=lambda data: decompress(data).decode(),
    pack_timestamp=lambda at: at.astimezone(UTC).isoformat(" ", "microseconds"),
    unpack_timestamp=datetime.fromisoformat,
    stored_form=StoredForm.COMPRESSED,
)

# PostgreSQL compresses long texts itself, and operators can read plain ones with SQL.
POSTGRESQL = SqlDialect(
    pack_text=lambda text: text,
    unpack_text=lambda text: text,
    pack_timestamp=lambda at: at,
    unpack_timestamp=lambda at: at,
    stored_form=StoredForm.PLAIN,
)


SqlValue: TypeAlias = (
    str | bytes | int | datetime | Sequence[str] | Sequence[int] | Sequence[float] | None
)


class SqlRow(Protocol):
    """One row of a result, its columns by name."""

    def __getitem__(self, name: str, /) -> Any:  # Any: whatever the column holds
        """Return a column's value."""
        ...


# Any: each batchable statement knows the types of its own.
Arguments: TypeAlias = tuple[Any, ...]


class Statement(NamedTuple):
    """One SQL statement in PostgreSQL's syntax, with the values of its numbered parameters."""

    sql: str
    args: tuple[SqlValue, ...] = ()
    batchable: "BatchableStatement | None" = None
    """Combines it with others of its kind, in queries that run as a batch."""


Query: TypeAlias = Generator[Statement, Sequence[SqlRow], T]


def execute(sql: str, *args: SqlValue) -> Query[None]:
    """Return the query of one statement whose rows do not matter."""
    yield Statement(sql, args)


class BatchableStatement(Protocol):
    """Runs several statements of one kind as one."""

    @property
    def stage(self) -> int:
        """Its order in a batch: it runs after all queries are past the earlier stages."""
        ...

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Run statements with these arguments as one; return the rows of each."""
        ...


class WriteConflict(CacheFailed):
    """Another writer changed the same entry again and again; try once more."""


class QueryRunner(Generic[T]):
    """A running query: the statement it waits for, or, when that is None, its result."""

    __slots__ = ("_query", "result", "statement")

    result: T

    def __init__(self, query: Query[T]) -> None:
        self._query = query
        self.statement: Statement | None = None
        self.advance(None)

    def advance(self, rows: Sequence[SqlRow] | None) -> None:
        """Pass the statement's rows to the query, which moves on to its next statement."""
        try:
            self.statement = self._query.send(rows)  # type: ignore[arg-type] # None starts it
        except StopIteration as end:
            self.statement, self.result = None, end.value


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """Limits of the store's size, waiting time and memory."""

    max_bytes: int | None = None
    """The size limit of a database file; None for no limit."""
    busy_seconds: float = 3
    """How long to wait for another process that locks the file."""
    memory_bytes: int = 0
    """Memory for recently read documents."""


class Database(Protocol):
    """Runs queries; each is passed as a function that starts it, so that it can be retried.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    @property
    def dialect(self) -> SqlDialect:
        """How this database stores values."""
        ...

    async def open(self) -> None:
        """Connect, and upgrade the schema."""
        ...

    async def close(self) -> None:
        """Finish pending writes and disconnect."""
        ...

    async def read(
        self,
        start: Callable[[], Query[T]],
        *,
        measure: Callable[[], Query[int]] | None = None,
        is_small: bool = False,
    ) -> T:
        """Run a query that only reads.

        `measure` returns how many bytes it will read, for a database that chooses by it where to
        run the query; `is_small` means that it reads a few short columns of one row.
        """
        ...

    async def write(self, start: Callable[[], Query[T]], *, together: str | None = None) -> T:
        """Run a query in a transaction.

        Writes with the same `together` may wait for each other, to be committed as a group.
        """
        ...

    async def inspect(self) -> None:
        """Look for damage for a short time, and raise if there is any."""
        ...


# Called after each operation with its name and the seconds it took.
QueryObserver = Callable[[str, float], None]


class Repository:
    """Operations on one database, each timed under its name.

    Every operation may raise `cinder.errors.CacheFailed`.
    """

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._dialect = database.dialect
        self._observe = observe
        self._clock = clock

    def _now(self) -> int:
        return to_milliseconds(self._clock())

    @contextmanager
    def _timed(self, operation: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._observe(operation, time.perf_counter() - start)


R = TypeVar("R", bound=Repository)


class _Operation:
    """Makes a query an operation of its repository, timed under a name."""

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __call__(
        self, query: Callable[Concatenate[R, P], Query[T]]
    ) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
        """Return the operation."""

        @wraps(query)
        async def run(repository: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
            with repository._timed(self._operation):
                start = partial(query, repository, *args, **kwargs)
                return await self._run(repository._database, start)

        return run

    def _run(self, database: Database, start: Callable[[], Query[T]]) -> Coroutine[Any, Any, T]:
        return database.write(start)


class writes(_Operation):  # noqa: N801 - a decorator
    """Makes a query an operation of its repository, in a transaction, timed under a name."""


class reads(_Operation):  # noqa: N801 - a decorator
    """Makes a query that only reads an operation of its repository, timed under a name."""

    def _run(self, database: Database, start: Callable[[], Query[T]]) -> Coroutine[Any, Any, T]:
        return database.read(start)
