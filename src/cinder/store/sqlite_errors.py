"""SQLite's errors as cinder's: a full disk, a damaged file, a locked file."""

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from cinder.errors import CacheFailed, DatabaseAway, DatabaseDamaged, StorageFull

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
# The last byte of an extended result code is the primary one.
_KIND = 0xFF

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100


def failure_of(exc: sqlite3.Error | OSError, path: Path, done: str) -> CacheFailed:
    """Return the error for a database that could not be `done`: opened, read or written."""
    if _is_full(exc, path):
        return StorageFull(
            f"There is no room to write to the database {path} ({exc}). Free some on its disk, or "
            "raise store.max-bytes: cinder continues by itself, and stored pages can be read "
            "meanwhile"
        )
    if _kind(exc) in _DAMAGED:
        return damage_of(path, str(exc))
    if is_locked(exc):
        return DatabaseAway(
            f"Another process has the database {path} locked, so that it could not be {done}. Try "
            "again in a moment, or end the process that holds it (store.busy-timeout-seconds)"
        )
    return CacheFailed(
        f"The database {path} could not be {done}: {exc}. "
        "Check that the disk has space and the file is cinder's own"
    )


def require_whole_pages(path: Path) -> None:
    """Return unless a file ends within a page; SQLite would read zeros for the rest of it.

    Raises:
        CacheFailed: it does, and there is no write-ahead log that could have the page.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        return  # empty, or SQLite reports that it is not a database
    stated = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if stated == 1 else stated
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if page_bytes and path.stat().st_size % page_bytes and not has_log:
        raise damage_of(path, "it ends within a page")


def is_locked(exc: BaseException) -> bool:
    """Whether it failed because another process has locked the file."""
    return isinstance(exc, sqlite3.Error) and _kind(exc) in _LOCKED


def damage_of(path: Path, reason: str) -> DatabaseDamaged:
    """Return the error for a damaged file, which says what can be done."""
    return DatabaseDamaged(
        f"The database {path} is damaged, or is no database ({reason}). cinder deletes nothing: "
        f"restore a backup, or save what is readable with `sqlite3 {path} .recover`; or move it "
        f"away, with {path.name}-wal and {path.name}-shm, to start with an empty one"
    )


def _is_full(exc: sqlite3.Error | OSError, path: Path) -> bool:
    if isinstance(exc, OSError):
        return exc.errno in _NO_ROOM
    if _kind(exc) == sqlite3.SQLITE_IOERR:
        # SQLite does not report why a file cannot be flushed, or its map not be extended.
        with suppress(OSError):
            return os.statvfs(path.parent).f_bavail == 0
    return _kind(exc) == sqlite3.SQLITE_FULL


def _kind(exc: sqlite3.Error | OSError) -> int:
    code = getattr(exc, "sqlite_errorcode", None)
    return code & _KIND if isinstance(code, int) else 0
