import gzip
import zlib

import pytest

from cinder.errors import ContentTooLarge
from cinder.fetch.gzip_members import MAX_MEMBERS, Unpacked, is_end_of_member, unpack_members

ENOUGH = 1_000_000


def test_members_are_joined_and_what_follows_them_is_left_out() -> None:
    packed = gzip.compress(b"a" * 50_000) + gzip.compress(b"") + gzip.compress(b"b")
    for rest in (b"", b"\0" * 20, b"no member"):
        assert unpack_members(packed + rest, ENOUGH) == Unpacked(
            data=b"a" * 50_000 + b"b", is_whole=True
        )


def test_a_last_member_that_breaks_off_gives_what_came_of_it() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"b")[:-8]
    assert unpack_members(packed, ENOUGH) == Unpacked(data=b"ab", is_whole=False)


@pytest.mark.parametrize("chunk", [1, 3, 7, 1_000])
def test_a_member_ends_with_the_checksum_and_length_of_what_it_holds(chunk: int) -> None:
    data = bytes(range(256)) * 40
    packed = gzip.compress(data)
    assert is_end_of_member(data, _in_chunks(packed, chunk)[-128:])
    for cut in (1, 4, 8, 100):
        assert not is_end_of_member(data, _in_chunks(packed[:-cut], chunk)[-128:])


def test_what_ends_before_anything_was_unpacked_is_no_member() -> None:
    packed = gzip.compress(b"a", mtime=0)
    assert not any(is_end_of_member(b"", packed[:count]) for count in range(1, 11))
    assert is_end_of_member(b"", gzip.compress(b""))


def _in_chunks(packed: bytes, size: int) -> bytes:
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_a_damaged_member_is_told() -> None:
    with pytest.raises(zlib.error):
        unpack_members(gzip.compress(b"a") + b"\x1f\x8b\x08\xff" + b"damage" * 9, ENOUGH)


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"a" * 1_000) * 2_000,
        gzip.compress(bytes(64 * ENOUGH)),
        gzip.compress(b"") * (MAX_MEMBERS + 1),
    ],
)
def test_more_than_is_taken_is_refused(packed: bytes) -> None:
    with pytest.raises(ContentTooLarge):
        unpack_members(packed, ENOUGH)
