"""The rules of a page's own style sheets: their selectors, declarations and conditions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cinder.extract.elements import Elements
from cinder.extract.visibility.declarations import without_comments

_MAX_STYLES = 100_000
_STATEMENT = re.compile(r"@(?:import|charset|namespace|layer)\b[^;{}]*;", re.IGNORECASE)
# What holds for everybody with a screen.
_FOR_ALL = re.compile(
    r"@media\s*(?:only\s+)?(?:all|screen)?\s*(?:and\s*)?(?:\(\s*min-(?:width|height)\s*:\s*"
    r"(?:[0-2]?\d{1,2}(?:\.\d+)?px|0)\s*\))?\s*"
    r"|@supports(?!\s*not\b)[^{}]*|@layer[^{}]*|@scope\s*",
    re.IGNORECASE,
)
_NAMED_BLOCKS = ("@keyframes", "@-", "@font", "@page", "@property", "@starting", "@counter")
_FRAMES = re.compile(r"@(?:-[a-z]+-)?keyframes\s+([\w-]{1,100})\s*$", re.IGNORECASE)


class Rule(NamedTuple):
    """Selectors, what is declared for them, and whether it holds for everybody."""

    selectors: str
    style: str
    holds_for_all: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """A block that is not closed yet: what its inner rules are within."""

    selectors: str
    holds_for_all: bool
    frames: str = ""
    is_described: bool = False
    """Whether it holds descriptions of something rather than rules."""


_OUTSIDE = _Block("", holds_for_all=True)


@dataclass(frozen=True, slots=True)
class StyleSheets:
    """All rules of a page that may tell something, and the ends of its animations."""

    rules: tuple[Rule, ...] = ()
    text: str = ""
    """All of the sheets, without comments."""
    last_frames: tuple[tuple[str, str], ...] = ()
    """The names of animations, each with what its last frame declares."""
    has_imports: bool = False


class Sheet(NamedTuple):
    """The text of one `style` element, and whether it holds for everybody."""

    text: str
    holds_for_all: bool


def find_sheets(elements: Elements) -> tuple[Sheet, ...]:
    """Return a page's `style` elements, of very long ones the first part."""
    sheets: list[Sheet] = []
    left = _MAX_STYLES
    for place in elements.tagged("style"):
        medium = (elements.attributes(place).get("media") or "").strip().lower()
        for_all = not medium or _FOR_ALL.fullmatch(f"@media {medium}") is not None
        text = elements.node(place).text(deep=True)[:left]
        left -= len(text)
        sheets.append(Sheet(text, for_all))
    return tuple(sheets)


def read_style_sheets(sheets: Iterable[Sheet]) -> StyleSheets:
    """Return the rules of a page's style sheets."""
    rules: list[Rule] = []
    frames: list[tuple[str, str]] = []
    texts: list[str] = []
    for text, holds_for_all in sheets:
        plain = without_comments(text.replace("<!--", "").replace("-->", ""))
        texts.append(plain)
        reading = _Reading(plain, for_all=holds_for_all)
        rules += reading.rules()
        frames += reading.last_frames
    whole = "\n".join(texts)
    return StyleSheets(tuple(rules), whole, tuple(frames), has_imports="@import" in whole)


class _Reading:
    """One sheet, read from bracket to bracket."""

    def __init__(self, text: str, *, for_all: bool) -> None:
        self._text = _STATEMENT.sub("", text) if "@" in text else text
        self._for_all = for_all
        self.last_frames: list[tuple[str, str]] = []

    def rules(self) -> Iterator[Rule]:
        """Yield the rules; what is open at the end is closed there, as browsers do."""
        open_blocks: list[_Block] = []
        for part in self._text.split("}"):
            head, bracket, style = part.rpartition("{")
            if not open_blocks and "{" not in head:
                # Nearly all rules of nearly all pages.
                if bracket and "@" not in head:
                    yield Rule(head, style, self._for_all)
                continue
            yield from self._nested(head, bracket, style, open_blocks)

    def _nested(
        self, head: str, bracket: str, style: str, open_blocks: list[_Block]
    ) -> Iterator[Rule]:
        if not bracket:
            # The end of a block, with what is declared after the rules within it.
            block = open_blocks.pop() if open_blocks else _OUTSIDE
            yield from self._rule(block, style)
            return
        *outer, selectors = head.split("{")
        for opening in outer:
            # Declarations of the block around stand before the selectors of the one within.
            before, _, name = opening.rpartition(";")
            around = open_blocks[-1] if open_blocks else _OUTSIDE
            if before:
                yield from self._rule(around, before)
            open_blocks.append(_opened(name, around))
        around = open_blocks[-1] if open_blocks else _OUTSIDE
        before, _, name = selectors.rpartition(";")
        if before:
            yield from self._rule(around, before)
        yield from self._rule(_opened(name, around), style)

    def _rule(self, block: _Block, style: str) -> Iterator[Rule]:
        if block.frames:
            if block.selectors.strip().lower() in ("to", "100%") or "100%" in block.selectors:
                self.last_frames.append((block.frames, style))
        elif block.selectors and not block.is_described and style.strip():
            yield Rule(block.selectors, style, self._for_all and block.holds_for_all)


def _opened(name: str, around: _Block) -> _Block:
    name = name.strip()
    if around.frames or around.is_described:
        frames = around.frames
        return _Block(name, holds_for_all=False, frames=frames, is_described=not frames)
    if not name.startswith("@"):
        selectors = _within(around.selectors, name) if around.selectors else name
        return _Block(selectors, holds_for_all=around.holds_for_all)
    if found := _FRAMES.match(name):
        return _Block("", holds_for_all=False, frames=found[1])
    if name.lower().startswith(_NAMED_BLOCKS):
        return _Block("", holds_for_all=False, is_described=True)
    is_for_all = around.holds_for_all and _FOR_ALL.fullmatch(name) is not None
    return _Block(around.selectors, holds_for_all=is_for_all)


def _within(outer: str, inner: str) -> str:
    """Return the selectors of a rule that stands within another."""
    around = f":is({outer.strip()})" if "," in outer else outer.strip()
    pieces = (piece.strip() for piece in inner.split(","))
    return ", ".join(
        piece.replace("&", around) if "&" in piece else f"{around} {piece}" for piece in pieces
    )[:1_000]
