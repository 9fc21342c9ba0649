"""Bodies packed as several gzip members one after the other, of which curl unpacks only one."""

import zlib

from cinder.errors import ContentTooLarge

# What is packed piece by piece has hundreds; each takes as long as kilobytes do.
MAX_MEMBERS = 20_000

_MEMBER_START = b"\x1f\x8b\x08"
_GZIP = 31
# What a member leaves over is copied, and no step unpacks to more than a thousand times its size.
_STEP_BYTES = 4_096


def unpack_members(packed: bytes, max_bytes: int) -> bytes:
    """Return what all members hold; bytes after the last one are left out, as browsers do.

    Raises:
        ContentTooLarge: they hold more than `max_bytes`, or are too many.
        zlib.error: one of them is damaged.
    """
    unpacked = bytearray()
    place = 0
    for _ in range(MAX_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        while place < len(packed) and not member.eof:
            step = packed[place : place + _STEP_BYTES]
            unpacked += member.decompress(step)
            place += len(step) - len(member.unused_data)
            if len(unpacked) > max_bytes:
                raise ContentTooLarge(
                    f"It is larger than {max_bytes} bytes (setting scrape.max-body-bytes)"
                )
        if not packed.startswith(_MEMBER_START, place):
            return bytes(unpacked)
    raise ContentTooLarge(f"It is packed in more than {MAX_MEMBERS} gzip members")
