"""Scaling screenshots down to what a model can view and a result can carry."""

import struct
from dataclasses import dataclass
from io import BytesIO

PNG = "image/png"
MAX_BYTES = 1024 * 1024

# A picture of so many pixels takes 160 MB once it is unpacked; browsers make none larger.
MAX_PIXELS = 40_000_000
_SMALLEST_EDGE = 32
_SHRINK = 0.75

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SIZE = struct.Struct(">II")
_SIZE_AT = 16


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG and its size in pixels."""

    data: bytes
    width: int
    height: int


def read_png(data: bytes) -> Picture | None:
    """Return a PNG with the size that its header tells; None where it is no PNG."""
    if not data.startswith(_SIGNATURE) or len(data) < _SIZE_AT + _SIZE.size:
        return None
    return Picture(data, *_SIZE.unpack_from(data, _SIZE_AT))


def scale_png(data: bytes, max_edge: int, max_bytes: int = MAX_BYTES) -> Picture | None:
    """Return a PNG no edge of which is longer than `max_edge` and that has at most `max_bytes`.

    One that fits already comes back as it is; None where it is no PNG that can be scaled. It takes
    up to a second: call it off the event loop.
    """
    picture = read_png(data)
    if picture is None or not 0 < picture.width * picture.height <= MAX_PIXELS:
        return None
    edge = min(max_edge, max(picture.width, picture.height))
    if _fits(picture, edge, max_bytes):
        return picture
    return _shrink(data, edge, max_bytes)


def _fits(picture: Picture, max_edge: int, max_bytes: int) -> bool:
    return max(picture.width, picture.height) <= max_edge and len(picture.data) <= max_bytes


def _shrink(data: bytes, edge: int, max_bytes: int) -> Picture | None:
    # Imported here: most processes never scale a picture, and `cinder mcp` must start quickly.
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(BytesIO(data), formats=("PNG",)) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, struct.error):
        return None
    while edge >= _SMALLEST_EDGE:
        image.thumbnail((edge, edge), Image.Resampling.LANCZOS)
        file = BytesIO()
        image.save(file, "PNG")
        if file.tell() <= max_bytes:
            return Picture(file.getvalue(), image.width, image.height)
        edge = int(edge * _SHRINK)
    return None
