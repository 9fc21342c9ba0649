"""Style sheets: the rules of a page's `style` elements and of the sheets that it links to."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from cinder.html.css.declarations import without_comments
from cinder.html.tree import Elements

MAX_SHEET_CHARS = 1_500_000
_MAX_RULES = 40_000
_MAX_DEPTH = 50
_MAX_NESTED_SELECTOR_CHARS = 1_000
_MAX_STYLE_CHARS = 100_000
# Conditions that every screen meets, and every box but the smallest.
_SIDE = r"(?:width|height|inline-size|block-size)"
_SHORT = r"(?:[0-2]?\d{1,2}(?:\.\d+)?px|\d(?:\.\d+)?r?em|0)"
_LONG = r"(?:\d{4,}(?:\.\d+)?px)"
_SIZE = (
    rf"\(\s*(?:min-{_SIDE}\s*:\s*{_SHORT}|max-{_SIDE}\s*:\s*{_LONG}|{_SIDE}\s*>=?\s*{_SHORT}"
    rf"|{_SHORT}\s*<=?\s*{_SIDE}|{_SIDE}\s*<=?\s*{_LONG})\s*\)"
)
_SIZES = rf"{_SIZE}(?:\s*and\s*{_SIZE}){{0,3}}"
_FOR_ALL = re.compile(
    rf"@media\s*(?:only\s+)?(?:all|screen|not\s+print)?\s*(?:and\s*)?(?:{_SIZES})?\s*"
    rf"|@container\s*(?:[\w-]{{1,60}}\s+)?{_SIZES}"
    r"|@supports(?!\s*not\b)[^{}]*|@layer[^{}]*|@scope\s*",
    re.IGNORECASE,
)
_NAMED_BLOCKS = ("@keyframes", "@-", "@font", "@page", "@property", "@starting", "@counter")
_KEYFRAMES = re.compile(r"@(?:-[a-z]+-)?keyframes\s+([\w-]{1,100})\s*$", re.IGNORECASE)


class StyleRule(NamedTuple):
    """The selectors and declarations of a rule, and whether it applies for every visitor."""

    selectors: str
    style: str
    holds_for_all: bool


class StyleElement(NamedTuple):
    """The text of one style sheet, and whether it applies for every visitor."""

    text: str
    holds_for_all: bool


class StyleSheets(NamedTuple):
    """The rules of a page's style sheets, and the last frames of its animations."""

    rules: tuple[StyleRule, ...] = ()
    text: str = ""
    """All sheets, without comments."""
    last_frames: tuple[tuple[str, str], ...] = ()
    """The names of animations, each with the declarations of its last frame."""
    has_imports: bool = False


class _OpenBlock(NamedTuple):
    """A block that is not closed yet, and what applies to the rules in it."""

    selectors: str
    holds_for_all: bool
    frames: str = ""
    is_ignored: bool = False
    """Whether it contains descriptors instead of rules, or is nested too deeply."""


_OUTSIDE = _OpenBlock("", holds_for_all=True)
_IGNORED = _OpenBlock("", holds_for_all=False, is_ignored=True)


def find_style_elements(elements: Elements) -> tuple[StyleElement, ...]:
    """Return a page's `style` elements; very long text is cut."""
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
    """Return the rules of style sheets, in order."""
    rules: list[StyleRule] = []
    frames: list[tuple[str, str]] = []
    texts: list[str] = []
    for text, holds_for_all in sheets:
        plain = text[:MAX_SHEET_CHARS].replace("<!--", "").replace("-->", "")
        plain = without_comments(plain)
        texts.append(plain)
        rules += islice(_read_rules(plain, frames, for_all=holds_for_all), _MAX_RULES)
    whole = "\n".join(texts)
    return StyleSheets(tuple(rules), whole, tuple(frames), has_imports="@import" in whole)


def _read_rules(text: str, frames: list[tuple[str, str]], *, for_all: bool) -> Iterator[StyleRule]:
    """Yield the rules of a sheet from bracket to bracket, and add its last frames to `frames`.

    Blocks that are open at the end are closed there, as browsers do.
    """
    open_blocks: list[_OpenBlock] = []
    for part in text.split("}"):
        head, bracket, style = part.rpartition("{")
        if not open_blocks and "{" not in head:
            # Nearly all rules of nearly all pages; statements such as `@import` come before.
            selectors = head.rpartition(";")[2] if "@" in head else head
            if bracket and "@" not in selectors:
                yield StyleRule(selectors, style, for_all)
        elif bracket:
            around = open_blocks[-1] if open_blocks else _OUTSIDE
            for opening in head.split("{"):
                # Declarations of the outer block come before the selectors of the inner one.
                before, _, name = opening.rpartition(";")
                if before:
                    yield from _rule(around, before, frames, for_all=for_all)
                is_too_deep = len(open_blocks) >= _MAX_DEPTH
                around = _IGNORED if is_too_deep else _open_block(name.strip(), around)
                open_blocks.append(around)
            yield from _rule(open_blocks.pop(), style, frames, for_all=for_all)
        else:
            # The end of a block, with the declarations after its inner rules.
            block = open_blocks.pop() if open_blocks else _OUTSIDE
            yield from _rule(block, style, frames, for_all=for_all)


def _rule(
    block: _OpenBlock, style: str, frames: list[tuple[str, str]], *, for_all: bool
) -> Iterator[StyleRule]:
    if block.frames:
        if block.selectors.strip().lower() in ("to", "100%") or "100%" in block.selectors:
            frames.append((block.frames, style))
    elif block.selectors and not block.is_ignored and style.strip():
        yield StyleRule(block.selectors, style, for_all and block.holds_for_all)


def _open_block(name: str, around: _OpenBlock) -> _OpenBlock:
    if around.is_ignored:
        return _IGNORED
    if around.frames:
        return _OpenBlock(name, holds_for_all=False, frames=around.frames)
    if not name.startswith("@"):
        if around.selectors:
            outer = around.selectors.strip()
            outer = f":is({outer})" if "," in outer else outer
            pieces = (piece.strip() for piece in name[:_MAX_NESTED_SELECTOR_CHARS].split(","))
            nested = (p.replace("&", outer) if "&" in p else f"{outer} {p}" for p in pieces)
            name = ", ".join(nested)[:_MAX_NESTED_SELECTOR_CHARS]
        return _OpenBlock(name, holds_for_all=around.holds_for_all)
    if found := _KEYFRAMES.match(name):
        return _OpenBlock("", holds_for_all=False, frames=found[1])
    if name.lower().startswith(_NAMED_BLOCKS):
        return _IGNORED
    is_for_all = around.holds_for_all and _FOR_ALL.fullmatch(name) is not None
    return _OpenBlock(around.selectors, holds_for_all=is_for_all)
