"""How long texts are compressed, in the database and where pages are parsed."""

import sys
import threading

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Level 3 takes half as long again and saves a twentieth.
COMPRESSION_LEVEL = 1


class _Compressor(threading.local):
    """One for each thread: to make one takes longer than to compress a short text."""

    def __init__(self) -> None:
        self.zstd = zstd.ZstdCompressor(COMPRESSION_LEVEL)


_COMPRESSOR = _Compressor()


def compress(data: bytes) -> bytes:
    """Return data compressed."""
    return _COMPRESSOR.zstd.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress(data: bytes) -> bytes:
    """Return the data that `compress` compressed."""
    return zstd.decompress(data)


def is_compressed(data: bytes, size: int) -> bool:
    """Whether data is a single frame that declares to hold so many bytes."""
    try:
        is_one_frame = zstd.get_frame_size(data) == len(data)
        return is_one_frame and zstd.get_frame_info(data).decompressed_size == size
    except zstd.ZstdError:
        return False
