"""The fonts of a page's characters: how large they are drawn, how they look, how they run."""

import ctypes
import math
import re
from dataclasses import dataclass

import pypdfium2_raw as raw

from cinder.extract.pdf.layout import Style
from cinder.extract.pdf.pdfium import Handle

_MAX_NAME_BYTES = 200
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_MONOSPACED_NAME = re.compile(rb"mono|courier|consol|typewriter|cmtt", re.IGNORECASE)
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18
_BOLD_WEIGHT = 600


@dataclass(frozen=True, slots=True)
class FontUse:
    """How a run of characters is drawn; `turn` is in quarters to the left."""

    size: float
    style: Style
    turn: int


class Fonts:
    """Tells of each character how it is drawn; what belongs to one object is asked once."""

    def __init__(self, text_page: Handle) -> None:
        self._page = text_page
        self._uses: dict[int, FontUse] = {}
        self._styles: dict[int, Style] = {}
        self._last_object: int | None = None
        self._last_use: FontUse | None = None

    def at(self, index: int) -> FontUse:
        """Return how a character is drawn."""
        handle = raw.FPDFText_GetTextObject(self._page, index)
        if not handle:
            return self._last_use or FontUse(0.0, Style(), 0)
        address = ctypes.addressof(handle.contents)
        if address == self._last_object and self._last_use is not None:
            return self._last_use
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self._read(handle, index)
        self._last_object, self._last_use = address, use
        return use

    def _read(self, handle: Handle, index: int) -> FontUse:
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self._page, index, matrix)
        size = raw.FPDFText_GetFontSize(self._page, index) * math.hypot(matrix.c, matrix.d)
        turn = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
        font = raw.FPDFTextObj_GetFont(handle)
        address = ctypes.addressof(font.contents) if font else 0
        if address not in self._styles:
            self._styles[address] = _read_style(font) if address else Style()
        return FontUse(size, self._styles[address], turn)


def _read_style(font: Handle) -> Style:
    buffer = ctypes.create_string_buffer(_MAX_NAME_BYTES)
    raw.FPDFFont_GetBaseFontName(font, buffer, _MAX_NAME_BYTES)
    name, flags = buffer.value, raw.FPDFFont_GetFlags(font)
    is_heavy = raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT or bool(flags & _FORCE_BOLD)
    return Style(
        is_bold=is_heavy or _BOLD_NAME.search(name) is not None,
        is_monospaced=bool(flags & _FIXED_PITCH) or _MONOSPACED_NAME.search(name) is not None,
    )
