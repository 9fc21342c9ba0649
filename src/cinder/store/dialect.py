"""How each database writes a text and a moment, and which texts neither of them can hold."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import zstandard

# Level 3 takes half as long again for a twentieth less.
COMPRESSION_LEVEL = 1

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Dialect:
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


def _write_moment(moment: datetime) -> str:
    """Return a moment in a form of fixed width, which sorts as the moments do."""
    return moment.astimezone(UTC).isoformat(" ", "microseconds")


# SQLite compresses nothing by itself and has no type for moments.
SQLITE = Dialect(
    pack_text=_compress_text,
    unpack_text=_decompress_text,
    pack_moment=_write_moment,
    unpack_moment=datetime.fromisoformat,
)

# PostgreSQL compresses long texts by itself, and operators read plain ones with SQL.
POSTGRESQL = Dialect(
    pack_text=lambda text: text,
    unpack_text=lambda text: text,
    pack_moment=lambda moment: moment,
    unpack_moment=lambda moment: moment,
)
