import struct
from io import BytesIO
from random import Random

import pytest
from PIL import Image

from cinder.surfaces.mcp.image_scaling import MAX_PIXELS, Picture, read_png, scale_png
from tests.surfaces.documents import a_png


def noise(width: int, height: int) -> bytes:
    """Return a PNG that does not compress."""
    file = BytesIO()
    pixels = Random(0).randbytes(width * height * 3)
    Image.frombytes("RGB", (width, height), pixels).save(file, "PNG")
    return file.getvalue()


def test_a_small_picture_stays_as_it_is() -> None:
    data = a_png(100, 80).data
    assert scale_png(data, 100) == Picture(data, 100, 80)


@pytest.mark.parametrize(
    ("size", "scaled"), [((200, 100), (100, 50)), ((50, 400), (12, 100)), ((4000, 1), (100, 1))]
)
def test_the_longest_edge_is_scaled_to_the_limit(
    size: tuple[int, int], scaled: tuple[int, int]
) -> None:
    picture = scale_png(a_png(*size).data, 100)
    assert picture is not None
    assert (picture.width, picture.height) == scaled
    assert read_png(picture.data) == picture
    with Image.open(BytesIO(picture.data)) as image:
        assert image.getpixel((0, 0)) == (255, 165, 0)


def test_a_picture_of_too_many_bytes_is_made_smaller_until_it_fits() -> None:
    picture = scale_png(noise(300, 300), 1_000, max_bytes=50_000)
    assert picture is not None
    assert len(picture.data) <= 50_000
    assert 50 < picture.width < 300


def test_a_picture_that_cannot_be_made_to_fit_is_not_shown() -> None:
    assert scale_png(noise(300, 300), 1_000, max_bytes=100) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"<p>Not found</p>", a_png(200, 200).data[:20], a_png(200, 200).data[:60], noise(9, 9)],
)
def test_what_is_no_whole_png_is_not_shown(data: bytes) -> None:
    broken = data.replace(b"IDAT", b"IDOT")
    assert scale_png(broken, 4) is None


def test_a_decompression_bomb_is_not_unpacked() -> None:
    small = a_png().data
    edge = int(MAX_PIXELS**0.5) + 1
    bomb = small[:16] + struct.pack(">II", edge, edge) + small[24:]
    assert scale_png(bomb, 100) is None
