"""Bodies packed by gzip: those of several members, and those that end before their member does.

Of several members curl unpacks only one, and what it unpacked it takes for whole.
"""

import zlib
from dataclasses import dataclass

from cinder.errors import ContentTooLarge

# What is packed piece by piece has hundreds; each takes as long as kilobytes do.
MAX_MEMBERS = 20_000

_MEMBER_START = b"\x1f\x8b\x08"
_GZIP = 31
# What a member leaves over is copied, and no step unpacks to more than a thousand times its size.
_STEP_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """What a body held."""

    data: bytes
    is_whole: bool
    """Whether its last member has an end."""


def is_end_of_member(data: bytes, packed_end: bytes) -> bool:
    """Whether a body that unpacked to this data ends as a whole member does.

    That is with the data's checksum and length, between which marks of chunks may stand.
    """
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    place = 0
    for byte in trailer:
        place = packed_end.find(byte, place) + 1
        if place == 0:
            return False
    return True


def unpack_members(packed: bytes, max_bytes: int) -> Unpacked:
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
            return Unpacked(data=bytes(unpacked), is_whole=member.eof)
    raise ContentTooLarge(f"It is packed in more than {MAX_MEMBERS} gzip members")
