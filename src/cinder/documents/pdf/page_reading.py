"""Reads a page of a PDF: its glyphs as words, its fonts, links and images."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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


_MAX_LINKS = 2_000
_MAX_ADDRESS_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class PageLink:
    """A place on a page, and the address behind it as the file has it."""

    box: Box
    address: str


def read_links(document: Handle, page: Handle, turned: PageRotation) -> list[PageLink]:
    """Return a page's links to other documents."""
    found: list[PageLink] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page, position, link):
            break
        address = _address_of(document, link)
        rectangle = raw.FS_RECTF()
        if address and raw.FPDFLink_GetAnnotRect(link, rectangle):
            edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            found.append(PageLink(turned.box(*edges), address))
    return found


def _address_of(document: Handle, link: Handle) -> str:
    action = raw.FPDFLink_GetAction(link)
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return ""
    buffer = ctypes.create_string_buffer(_MAX_ADDRESS_BYTES)
    size = raw.FPDFAction_GetURIPath(document, action, buffer, _MAX_ADDRESS_BYTES)
    return buffer.value.decode("utf-8", "replace") if size <= _MAX_ADDRESS_BYTES else ""


MAX_CHARS_PER_PAGE = 200_000
# Smaller than this nobody can read it.
_MIN_SIZE = 1.5
_WORD_GAP = 0.22
_BROKEN_HYPHENS = ("\x02", "\ufffe", "\u00ad")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufffc")
# Stands for a drawn letter of which the file does not say what it is.
UNKNOWN = "\ufffd"
_BULLET_REACH = 2.0
_BULLET = "\u2022"
# Where the fonts Symbol and Wingdings have their bullets.
_SYMBOL_BULLETS = frozenset("\uf0b7\uf0a7\uf0d8\uf076\uf02d")


class _Glyph(NamedTuple):
    """One character as the page has it, y upwards; `turn` is how its line runs."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    style: Style
    turn: int


def read_page(document: Handle, index: int) -> PageLayout | None:
    """Return what stands on a page; None where the file has no readable page there."""
    page = raw.FPDF_LoadPage(document, index)
    if not page:
        return None
    try:
        return _read_loaded(document, page, index + 1)
    finally:
        raw.FPDF_ClosePage(page)


def _read_loaded(document: Handle, page: Handle, number: int) -> PageLayout:
    with _text_of(page) as text_page:
        count = raw.FPDFText_CountChars(text_page) if text_page else 0
        runs = _Runs(text_page, min(count, MAX_CHARS_PER_PAGE)).read()
    turn = _main_turn(runs, raw.FPDFPage_GetRotation(page))
    turned = PageRotation.of_page(page, turn)
    drawing = read_drawing(page, turned)
    links = read_links(document, page, turned)
    words, dropped = _to_words([run for run in runs if run[0].turn == turn], turned)
    return PageLayout(
        number=number,
        width=turned.width,
        height=turned.height,
        words=(*_with_links(words, links), *_drawn_bullets(words, drawing.dots)),
        level_rules=drawing.level,
        upright_rules=drawing.upright,
        sideways=_sideways([run for run in runs if run[0].turn != turn]),
        image_count=drawing.image_count,
        dropped_chars=dropped,
        is_cut=count > MAX_CHARS_PER_PAGE,
    )


@contextmanager
def _text_of(page: Handle) -> Iterator[Handle]:
    text_page = raw.FPDFText_LoadPage(page)
    try:
        yield text_page
    finally:
        if text_page:
            raw.FPDFText_ClosePage(text_page)


class _Runs:
    """Takes a page's characters in the order of the file, cut into words."""

    def __init__(self, text_page: Handle, count: int) -> None:
        self._page = text_page
        self._count = count
        self._fonts = Fonts(text_page)
        self._box = raw.FS_RECTF()

    def read(self) -> list[list[_Glyph]]:
        runs: list[list[_Glyph]] = []
        run: list[_Glyph] = []
        for index in range(self._count):
            glyph = self._read_glyph(index)
            if run and (glyph is None or _begins_word(run[-1], glyph)):
                runs.append(run)
                run = []
            if glyph is not None and glyph.text:
                run.append(glyph)
        return [*runs, run] if run else runs

    def _read_glyph(self, index: int) -> _Glyph | None:
        """Return a character; None for a space or the end of a line."""
        code = raw.FPDFText_GetUnicode(self._page, index)
        text = chr(code) if 0 < code < 0x110000 else UNKNOWN
        if text.isspace():
            return None
        font = self._fonts.at(index)
        if not raw.FPDFText_GetLooseCharBox(self._page, index, self._box):
            return None
        box = self._box
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


def _main_turn(runs: list[list[_Glyph]], page_turn: int) -> int:
    counts: Counter[int] = Counter()
    for run in runs:
        counts[run[0].turn] += len(run)
    # Without any text there is nothing to go by but the page itself.
    return counts.most_common(1)[0][0] if counts else int(page_turn)


def _to_words(runs: list[list[_Glyph]], turned: PageRotation) -> tuple[list[Word], int]:
    """Return the words that can be seen, and how many characters cannot."""
    words: list[Word] = []
    dropped = 0
    page = Box(-1, -1, turned.width + 1, turned.height + 1)
    for run in runs:
        word = _to_word(run, turned)
        if word.size < _MIN_SIZE or not page.holds(word.box.middle):
            dropped += len(word.text)
        else:
            words.append(word)
    return words, dropped


def _to_word(run: list[_Glyph], turned: PageRotation) -> Word:
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
    return Word(text, box, baseline, round(run[0].size, 1), run[0].style)


def _pair_surrogates(text: str) -> str:
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _with_links(words: list[Word], links: list[PageLink]) -> Iterator[Word]:
    for word in words:
        middle = word.box.middle if links else (0.0, 0.0)
        link = next((link.address for link in links if link.box.holds(middle)), None)
        yield replace(word, link=link) if link else word


def _drawn_bullets(words: list[Word], dots: Sequence[Box]) -> Iterator[Word]:
    """Yield a bullet for each dot that stands just before a line, and nothing else before it."""
    for dot in dots:
        middle = dot.middle[1]
        beside = [word for word in words if word.box.top <= middle <= word.box.bottom]
        after = [word for word in beside if word.box.left > dot.left]
        first = min(after, key=lambda word: word.box.left, default=None)
        if first is None or first.box.left - dot.right > _BULLET_REACH * first.size:
            continue
        if not any(dot.left - first.size < word.box.right <= dot.right for word in beside):
            yield Word(_BULLET, dot, first.baseline, first.size, first.style)


def _sideways(runs: list[list[_Glyph]]) -> tuple[str, ...]:
    """Return what runs up or down the page, as lines; they have no place in the text."""
    lines: list[list[str]] = []
    before: _Glyph | None = None
    for run in runs:
        glyph = run[0]
        across = (glyph.left, glyph.bottom)[glyph.turn % 2 == 0]
        is_same = before is not None and glyph.turn == before.turn
        if (
            before is None
            or not is_same
            or not math.isclose(
                across, (before.left, before.bottom)[before.turn % 2 == 0], abs_tol=1
            )
        ):
            lines.append([])
        lines[-1].append(_pair_surrogates("".join(g.text for g in run)))
        before = glyph
    return tuple(" ".join(line) for line in lines)
