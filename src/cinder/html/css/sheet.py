"""Style sheets: the rules of a page's `style` elements and of sheets that it links to."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from cinder.html.css.declarations import without_comments
from cinder.html.tree import Elements

_MAX_STYLE_CHARS = 100_000
_STATEMENT = re.compile(r"@(?:import|charset|namespace|layer)\b[^;{}]*;", re.IGNORECASE)
# What holds for everybody with a screen.
_FOR_ALL = re.compile(
    r"@media\s*(?:only\s+)?(?:all|screen)?\s*(?:and\s*)?(?:\(\s*min-(?:width|height)\s*:\s*"
    r"(?:[0-2]?\d{1,2}(?:\.\d+)?px|0)\s*\))?\s*"
    r"|@supports(?!\s*not\b)[^{}]*|@layer[^{}]*|@scope\s*",
    re.IGNORECASE,
)
_NAMED_BLOCKS = ("@keyframes", "@-", "@font", "@page", "@property", "@starting", "@counter")
_KEYFRAMES = re.compile(r"@(?:-[a-z]+-)?keyframes\s+([\w-]{1,100})\s*$", re.IGNORECASE)


class StyleRule(NamedTuple):
    """Selectors, what is declared for them, and whether it holds for everybody."""

    selectors: str
    style: str
    holds_for_all: bool


@dataclass(frozen=True, slots=True)
class _OpenBlock:
    """A block that is not closed yet: what its inner rules are within."""

    selectors: str
    holds_for_all: bool
    frames: str = ""
    is_described: bool = False
    """Whether it holds descriptions of something rather than rules."""


_OUTSIDE = _OpenBlock("", holds_for_all=True)


@dataclass(frozen=True, slots=True)
class StyleSheets:
    """All rules of a page that may tell something, and the ends of its animations."""

    rules: tuple[StyleRule, ...] = ()
    text: str = ""
    """All of the sheets, without comments."""
    last_frames: tuple[tuple[str, str], ...] = ()
    """The names of animations, each with what its last frame declares."""
    has_imports: bool = False


class StyleElement(NamedTuple):
    """The text of one `style` element, and whether it holds for everybody."""

    text: str
    holds_for_all: bool


def find_style_elements(elements: Elements) -> tuple[StyleElement, ...]:
    """Return a page's `style` elements, of very long ones the first part."""
    sheets: list[StyleElement] = []
    left = _MAX_STYLE_CHARS
    for place in elements.tagged("style"):
        medium = (elements.attributes(place).get("media") or "").strip().lower()
        for_all = not medium or _FOR_ALL.fullmatch(f"@media {medium}") is not None
        text = elements.node(place).text(deep=True)[:left]
        left -= len(text)
        sheets.append(StyleElement(text, for_all))
    return tuple(sheets)


def read_style_sheets(sheets: Iterable[StyleElement]) -> StyleSheets:
    """Return the rules of a page's style sheets."""
    rules: list[StyleRule] = []
    frames: list[tuple[str, str]] = []
    texts: list[str] = []
    for text, holds_for_all in sheets:
        plain = without_comments(text.replace("<!--", "").replace("-->", ""))
        texts.append(plain)
        reading = _SheetReader(plain, for_all=holds_for_all)
        rules += reading.rules()
        frames += reading.last_frames
    whole = "\n".join(texts)
    return StyleSheets(tuple(rules), whole, tuple(frames), has_imports="@import" in whole)


class _SheetReader:
    """One sheet, read from bracket to bracket."""

    def __init__(self, text: str, *, for_all: bool) -> None:
        self._text = _STATEMENT.sub("", text) if "@" in text else text
        self._for_all = for_all
        self.last_frames: list[tuple[str, str]] = []

    def rules(self) -> Iterator[StyleRule]:
        """Yield the rules; what is open at the end is closed there, as browsers do."""
        open_blocks: list[_OpenBlock] = []
        for part in self._text.split("}"):
            head, bracket, style = part.rpartition("{")
            if not open_blocks and "{" not in head:
                # Nearly all rules of nearly all pages.
                if bracket and "@" not in head:
                    yield StyleRule(head, style, self._for_all)
                continue
            yield from self._nested(head, bracket, style, open_blocks)

    def _nested(
        self, head: str, bracket: str, style: str, open_blocks: list[_OpenBlock]
    ) -> Iterator[StyleRule]:
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
            open_blocks.append(_open_block(name, around))
        around = open_blocks[-1] if open_blocks else _OUTSIDE
        before, _, name = selectors.rpartition(";")
        if before:
            yield from self._rule(around, before)
        yield from self._rule(_open_block(name, around), style)

    def _rule(self, block: _OpenBlock, style: str) -> Iterator[StyleRule]:
        if block.frames:
            if block.selectors.strip().lower() in ("to", "100%") or "100%" in block.selectors:
                self.last_frames.append((block.frames, style))
        elif block.selectors and not block.is_described and style.strip():
            yield StyleRule(block.selectors, style, self._for_all and block.holds_for_all)


def _open_block(name: str, around: _OpenBlock) -> _OpenBlock:
    name = name.strip()
    if around.frames or around.is_described:
        frames = around.frames
        return _OpenBlock(name, holds_for_all=False, frames=frames, is_described=not frames)
    if not name.startswith("@"):
        selectors = _nested_selectors(around.selectors, name) if around.selectors else name
        return _OpenBlock(selectors, holds_for_all=around.holds_for_all)
    if found := _KEYFRAMES.match(name):
        return _OpenBlock("", holds_for_all=False, frames=found[1])
    if name.lower().startswith(_NAMED_BLOCKS):
        return _OpenBlock("", holds_for_all=False, is_described=True)
    is_for_all = around.holds_for_all and _FOR_ALL.fullmatch(name) is not None
    return _OpenBlock(around.selectors, holds_for_all=is_for_all)


def _nested_selectors(outer: str, inner: str) -> str:
    """Return the selectors of a rule that stands within another."""
    around = f":is({outer.strip()})" if "," in outer else outer.strip()
    pieces = (piece.strip() for piece in inner.split(","))
    return ", ".join(
        piece.replace("&", around) if "&" in piece else f"{around} {piece}" for piece in pieces
    )[:1_000]


MAX_SHEET_CHARS = 1_500_000
MAX_RULES = 40_000
_MAX_SELECTOR_CHARS = 2_000
_MAX_NAME_CHARS = 100
_MAX_VALUE_CHARS = 1_000
_MAX_DEPTH = 50

# A string ends with its line; `url(` may hold semicolons without quotes.
_SHEET_TOKEN = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|url\([^\"')]*\)?|[{};]",
    re.DOTALL | re.IGNORECASE,
)
# What makes a `@media` hold for some visits alone.
_CONDITION = re.compile(r"[(]|\b(?:print|speech|not)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A property and its value."""

    name: str
    value: str
    is_important: bool = False


@dataclass(frozen=True, slots=True)
class CssRule:
    """Declarations, and the selectors of what they are for."""

    selectors: tuple[str, ...]
    declarations: tuple[Declaration, ...]


class _CssBlockKind(Enum):
    GROUP = auto()
    STYLE = auto()
    SKIPPED = auto()


@dataclass(slots=True)
class _CssBlock:
    kind: _CssBlockKind
    prelude: str
    declarations: list[Declaration] = field(default_factory=list)


def parse_stylesheet(text: str) -> list[CssRule]:
    """Return a sheet's rules in order; those under a condition, or for print, are left out."""
    text = _without_comments(text[:MAX_SHEET_CHARS])
    rules: list[CssRule] = []
    blocks: list[_CssBlock] = []
    mark = 0
    for token in _SHEET_TOKEN.finditer(text):
        character = token[0]
        if character not in "{};":
            continue
        piece, mark = text[mark : token.start()], token.end()
        if character == "{":
            blocks.append(_open_css_block(piece.strip(), blocks))
            if len(blocks) > _MAX_DEPTH:
                break
            continue
        if blocks and blocks[-1].kind is _CssBlockKind.STYLE:
            blocks[-1].declarations += filter(None, [_parse_declaration(piece)])
        if character == "}" and blocks:
            rules += _close_css_block(blocks.pop())
            if len(rules) >= MAX_RULES:
                break
    return rules


def parse_declarations(text: str) -> tuple[Declaration, ...]:
    """Return the declarations of a `style` attribute."""
    rules = parse_stylesheet(f"x{{{text[:_MAX_SELECTOR_CHARS]}}}")
    return rules[0].declarations if rules else ()


def _without_comments(text: str) -> str:
    pieces = []
    place = 0
    while (start := text.find("/*", place)) >= 0:
        pieces.append(text[place:start])
        end = text.find("*/", start + 2)
        place = end + 2 if end >= 0 else len(text)
    return "".join([*pieces, text[place:]])


def _open_css_block(prelude: str, blocks: list[_CssBlock]) -> _CssBlock:
    parent = blocks[-1].kind if blocks else _CssBlockKind.GROUP
    if parent is not _CssBlockKind.GROUP:
        # What is nested in a style is for states and parts of it.
        return _CssBlock(_CssBlockKind.SKIPPED, "")
    if prelude.startswith("@"):
        return _CssBlock(
            _CssBlockKind.GROUP if _applies_to_all(prelude) else _CssBlockKind.SKIPPED, ""
        )
    return _CssBlock(_CssBlockKind.STYLE, prelude[:_MAX_SELECTOR_CHARS])


def _applies_to_all(prelude: str) -> bool:
    words = prelude.split(None, 1)
    if words[0].lower() in ("@layer", "@supports"):
        return True
    return words[0].lower() == "@media" and not _CONDITION.search(prelude)


def _close_css_block(block: _CssBlock) -> list[CssRule]:
    if block.kind is not _CssBlockKind.STYLE or not block.declarations:
        return []
    selectors = tuple(part.strip() for part in block.prelude.split(",") if part.strip())
    return [CssRule(selectors, tuple(block.declarations))]


def _parse_declaration(piece: str) -> Declaration | None:
    name, colon, value = piece.partition(":")
    name, value = name.strip(), value.strip()
    is_bounded = len(name) <= _MAX_NAME_CHARS and len(value) <= _MAX_VALUE_CHARS
    if not colon or not name or not value or not is_bounded:
        return None
    important = value.lower().endswith("!important")
    if important:
        value = value[: -len("!important")].rstrip()
    # Custom properties tell capitals apart.
    return Declaration(name if name.startswith("--") else name.lower(), value, important)
