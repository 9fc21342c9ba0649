import gzip
import zlib

import pytest

from cinder.errors import ContentTooLarge
from cinder.fetch.gzip_members import MAX_MEMBERS, unpack_members

ENOUGH = 1_000_000


def test_members_are_joined_and_what_follows_them_is_left_out() -> None:
    packed = gzip.compress(b"a" * 50_000) + gzip.compress(b"") + gzip.compress(b"b")
    for rest in (b"", b"\0" * 20, b"no member"):
        assert unpack_members(packed + rest, ENOUGH) == b"a" * 50_000 + b"b"


def test_a_last_member_that_breaks_off_gives_what_came_of_it() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"b")[:-8]
    assert unpack_members(packed, ENOUGH) == b"ab"


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
