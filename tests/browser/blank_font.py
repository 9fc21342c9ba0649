"""A font in which no letter is seen, made on the spot."""

import io

# The library has no types.
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.ttLib.tables._g_l_y_f import Glyph  # type: ignore[import-untyped]


def blank_font() -> bytes:
    """Return a font whose letters are as wide as any and have no ink."""
    builder = FontBuilder(1_000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "blank"])
    builder.setupCharacterMap(dict.fromkeys(range(0x20, 0x250), "blank"))
    builder.setupGlyf({".notdef": Glyph(), "blank": Glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "blank": (500, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Blank", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    file = io.BytesIO()
    builder.save(file)
    return file.getvalue()
