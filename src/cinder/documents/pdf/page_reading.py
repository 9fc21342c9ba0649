"""Reads a page of a PDF: its glyphs as words, its fonts, links and images."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pypdfium2_raw as raw

from cinder.documents.pdf.layout import Box, PageLayout, Style, Word
from cinder.documents.pdf.pdfium import Handle, PageRotation, read_drawing

_MAX_NAME_BYTES = 200
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_MONOSPACED_NAME = re.compile(rb"mono|courier|consol|typewriter|cmtt", re.IGNORECASE)
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18
_BOLD_WEIGHT = 600


@dataclass(frozen=True, slots=True)
class FontUse:
    """The font of a run of characters; `turn` is its rotation to the left, in quarters."""

    size: float
    style: Style
    turn: int


class Fonts:
    """The fonts of a page's characters; each text object is read once."""

    def __init__(self, text_page: Handle) -> None:
        self._page = text_page
        self._uses: dict[int, FontUse] = {}
        self._styles: dict[int, Style] = {}
        self._last_object: int | None = None
        self._last_use: FontUse | None = None

    def at(self, index: int) -> FontUse:
        """Return the font of a character."""
        handle = raw.FPDFText_GetTextObject(self._page, index)
        if not handle:
            return self._last_use or FontUse(0.0, Style(), 0)
        address = ctypes.addressof(handle.contents)
        if address == self._last_object and self._last_use is not None:
            return self._last_use
        use = self._uses.get(address)
        if use is None:
            matrix = raw.FS_MATRIX()
            raw.FPDFText_GetMatrix(self._page, index, matrix)
            size = raw.FPDFText_GetFontSize(self._page, index) * math.hypot(matrix.c, matrix.d)
            turn = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
            style = self._style_of(raw.FPDFTextObj_GetFont(handle))
            use = self._uses[address] = FontUse(size, style, turn)
        self._last_object, self._last_use = address, use
        return use

    def _style_of(self, font: Handle) -> Style:
        address = ctypes.addressof(font.contents) if font else 0
        if address not in self._styles:
            self._styles[address] = Style()
            if address:
                buffer = ctypes.create_string_buffer(_MAX_NAME_BYTES)
                raw.FPDFFont_GetBaseFontName(font, buffer, _MAX_NAME_BYTES)
                name, flags = buffer.value, raw.FPDFFont_GetFlags(font)
                is_heavy = raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT or flags & _FORCE_BOLD
                self._styles[address] = Style(
                    is_bold=bool(is_heavy or _BOLD_NAME.search(name)),
                    is_monospaced=bool(flags & _FIXED_PITCH or _MONOSPACED_NAME.search(name)),
                )
        return self._styles[address]


_MAX_LINKS = 2_000
_MAX_ADDRESS_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class PageLink:
    """A rectangle on a page, and the address that it links to, unresolved."""

    box: Box
    address: str


def read_links(document: Handle, page: Handle, turned: PageRotation) -> list[PageLink]:
    """Return a page's links to other documents."""
    found: list[PageLink] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    buffer = ctypes.create_string_buffer(_MAX_ADDRESS_BYTES)
    for _ in range(_MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page, position, link):
            break
        address = ""
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            size = raw.FPDFAction_GetURIPath(document, action, buffer, _MAX_ADDRESS_BYTES)
            address = buffer.value.decode("utf-8", "replace") if size <= len(buffer) else ""
        rectangle = raw.FS_RECTF()
        if address and raw.FPDFLink_GetAnnotRect(link, rectangle):
            edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            found.append(PageLink(turned.box(*edges), address))
    return found


MAX_CHARS_PER_PAGE = 200_000
# Smaller text cannot be read.
_MIN_SIZE = 1.5
_WORD_GAP = 0.22
_BROKEN_HYPHENS = ("\x02", "\ufffe", "\u00ad")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufffc")
# Replaces a glyph that the file does not map to a character.
UNKNOWN = "\ufffd"
_BULLET_REACH = 2.0
_BULLET = "\u2022"
# Where the fonts Symbol and Wingdings have their bullets.
_SYMBOL_BULLETS = frozenset("\uf0b7\uf0a7\uf0d8\uf076\uf02d")


class _Glyph(NamedTuple):
    """One character in the page's coordinates, y upwards; `turn` is the direction of its line."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    style: Style
    turn: int


def read_page(document: Handle, index: int) -> PageLayout | None:
    """Return the layout of a page; None where the file has no readable page there."""
    page = raw.FPDF_LoadPage(document, index)
    if not page:
        return None
    try:
        number = index + 1
        text_page = raw.FPDFText_LoadPage(page)
        try:
            count = raw.FPDFText_CountChars(text_page) if text_page else 0
            runs = _read_runs(text_page, min(count, MAX_CHARS_PER_PAGE))
        finally:
            if text_page:
                raw.FPDFText_ClosePage(text_page)
        turns: Counter[int] = Counter()
        for run in runs:
            turns[run[0].turn] += len(run)
        # The direction of most of the text; a page without text has only its own rotation.
        turn = turns.most_common(1)[0][0] if turns else int(raw.FPDFPage_GetRotation(page))
        turned = PageRotation.of_page(page, turn)
        drawing = read_drawing(page, turned)
        links = read_links(document, page, turned)
        edges = Box(-1, -1, turned.width + 1, turned.height + 1)
        found = [_to_word(run, turned, links) for run in runs if run[0].turn == turn]
        words = [w for w in found if w.size >= _MIN_SIZE and edges.holds(w.box.middle)]
        return PageLayout(
            number=number,
            height=turned.height,
            words=(*words, *_drawn_bullets(words, drawing.dots)),
            level_rules=drawing.level,
            upright_rules=drawing.upright,
            sideways=_sideways([run for run in runs if run[0].turn != turn]),
            image_count=drawing.image_count,
            dropped_chars=sum(len(w.text) for w in found) - sum(len(w.text) for w in words),
            is_cut=count > MAX_CHARS_PER_PAGE,
        )
    finally:
        raw.FPDF_ClosePage(page)


def _read_runs(text_page: Handle, count: int) -> list[list[_Glyph]]:
    """Return a page's characters in the order of the file, cut into words."""
    fonts, box = Fonts(text_page), raw.FS_RECTF()
    runs: list[list[_Glyph]] = []
    run: list[_Glyph] = []
    for index in range(count):
        glyph = _read_glyph(text_page, index, fonts, box)
        if run and (glyph is None or _begins_word(run[-1], glyph)):
            runs.append(run)
            run = []
        if glyph is not None and glyph.text:
            run.append(glyph)
    return [*runs, run] if run else runs


def _read_glyph(text_page: Handle, index: int, fonts: Fonts, box: Handle) -> _Glyph | None:
    """Return a character; None for a space or the end of a line. Its edges are read into `box`."""
    code = raw.FPDFText_GetUnicode(text_page, index)
    text = chr(code) if 0 < code < 0x110000 else UNKNOWN
    if text.isspace():
        return None
    font = fonts.at(index)
    if not raw.FPDFText_GetLooseCharBox(text_page, index, box):
        return None
    return _Glyph(
        _clean(text),
        *(box.left, box.bottom, box.right, box.top),
        *(font.size, font.style, font.turn),
    )


def _clean(text: str) -> str:
    if " " < text < "\x7f":
        return text
    if text in _BROKEN_HYPHENS:
        return "-"
    if text in _INVISIBLE or (text < " " or "\x7f" <= text <= "\x9f"):
        return ""
    if text in _SYMBOL_BULLETS:
        return _BULLET
    return _LIGATURES.get(text, text)


def _begins_word(before: _Glyph, glyph: _Glyph) -> bool:
    if glyph.turn != before.turn:
        return True
    if glyph.turn % 2:
        return abs(glyph.left - before.left) > glyph.size
    gap = glyph.left - before.right if glyph.turn == 0 else before.left - glyph.right
    far = gap > _WORD_GAP * glyph.size or gap < -max(glyph.size, before.right - before.left)
    return far or abs(glyph.bottom - before.bottom) > 0.7 * max(glyph.size, before.size)


def _to_word(run: list[_Glyph], turned: PageRotation, links: list[PageLink]) -> Word:
    box = turned.box(
        min(glyph.left for glyph in run),
        min(glyph.bottom for glyph in run),
        max(glyph.right for glyph in run),
        max(glyph.top for glyph in run),
    )
    first = turned.box(run[0].left, run[0].bottom, run[0].right, run[0].top)
    text = _pair_surrogates("".join(glyph.text for glyph in run))
    # The descent of common fonts is about a fifth of their size.
    baseline = first.bottom - 0.21 * run[0].size
    link = next((link.address for link in links if link.box.holds(box.middle)), None)
    return Word(text, box, baseline, round(run[0].size, 1), run[0].style, link or None)


def _pair_surrogates(text: str) -> str:
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _drawn_bullets(words: list[Word], dots: Sequence[Box]) -> Iterator[Word]:
    """Yield a bullet for each dot right before a line that has no other word before it."""
    for dot in dots:
        middle = dot.middle[1]
        level = [word for word in words if word.box.top <= middle <= word.box.bottom]
        after = [word for word in level if word.box.left > dot.left]
        first = min(after, key=lambda word: word.box.left, default=None)
        if first is None or first.box.left - dot.right > _BULLET_REACH * first.size:
            continue
        if not any(dot.left - first.size < word.box.right <= dot.right for word in level):
            yield Word(_BULLET, dot, first.baseline, first.size, first.style)


def _sideways(runs: list[list[_Glyph]]) -> tuple[str, ...]:
    """Return the lines that run in another direction than the text."""
    lines: list[list[str]] = []
    line: tuple[int, float] | None = None
    for run in runs:
        glyph = run[0]
        across = glyph.left if glyph.turn % 2 else glyph.bottom
        if line is None or glyph.turn != line[0] or not math.isclose(across, line[1], abs_tol=1):
            lines.append([])
        lines[-1].append(_pair_surrogates("".join(g.text for g in run)))
        line = (glyph.turn, across)
    return tuple(" ".join(line) for line in lines)
