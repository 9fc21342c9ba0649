"""Marks elements with the colours that a page's own style sheets give them."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice, product

from selectolax.lexbor import LexborNode, SelectolaxError

from cinder.extract.branding.colours import Colour, parse_colour
from cinder.extract.elements import Elements
from cinder.extract.visibility.declarations import declarations
from cinder.extract.visibility.marks import BACKGROUND, COLOUR, mark
from cinder.extract.visibility.selectors import can_be_looked_up, split_selectors
from cinder.extract.visibility.shades import (
    are_alike,
    background_colour,
    has_background,
    may_be_alike,
    text_colour,
)
from cinder.extract.visibility.style_sheet import Rule, StyleSheets

_MAX_RULES = 100
_TELLING = re.compile(r"(?<![\w-])color|background(?!-(?:size|repeat|position))|\\", re.IGNORECASE)
_MAX_MARKED = 3_000
# A background that is a picture or shines through: something lies there, and nobody knows what.
_UNKNOWN = "?"
_PAGE = ("html", "body", ":root")
_ID = re.compile(r"#")
_NAME = re.compile(r"[.\[:]")
_TAG = re.compile(r"(?:^|[\s>+~(])[a-zA-Z]")
_BESIDE_THE_ELEMENT = re.compile(r":{1,2}(?:before|after)\b", re.IGNORECASE)
_STYLED = '[style*="color" i], [style*="background" i], [style*="\\\\"]'
_FONTS = "font[color], [bgcolor]"
_MAX_STYLED = 300
_MAX_PAIRS = 2_000
_TEXT_COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;}!]{1,60})", re.IGNORECASE)
_GROUND_COLOUR = re.compile(r"background(?:-color)?\s*:\s*([^;}!]{1,200})", re.IGNORECASE)
_EXTERNAL = 'link[rel~="stylesheet" i][href]'

_Ranked = tuple[tuple[int, int, int], int, str, str, str]


def is_closed(elements: Elements, *, has_imports: bool) -> bool:
    """Whether all style sheets of a page are in it."""
    if has_imports:
        return False
    links = map(elements.attributes, elements.tagged("link"))
    if not any("stylesheet" in (link.get("rel") or "").lower() for link in links):
        return True
    return elements.root.css_first(_EXTERNAL) is None


def mark_colours(
    elements: Elements, sheets: StyleSheets, variables: Mapping[str, str], *, may_blend: bool
) -> bool:
    """Mark elements with the colours that rules give them, the strongest rule last.

    Returns whether that was done: where no text has the colour of any background there is nothing
    to find, and rules beyond a number are not worth the time.
    """
    root = elements.root
    if not may_blend and not _have_colours(elements):
        return False
    telling = [rule for rule in sheets.rules if _TELLING.search(rule.style)]
    if len(telling) > _MAX_RULES:
        return False
    coloured = _coloured(telling, variables)
    if not _could_blend([*coloured, *_inline(root, variables)]):
        return False
    left = _MAX_MARKED
    for _, _, selector, text, background in sorted(coloured):
        try:
            nodes = root.css(selector)[:left]
        except SelectolaxError:
            continue
        left -= len(nodes)
        for node in nodes:
            if text:
                mark(node, COLOUR, text)
            if background:
                mark(node, BACKGROUND, background)
    return True


def _have_colours(elements: Elements) -> bool:
    """Whether elements themselves say what colours they have."""
    if not (elements.have_attribute("style", "bgcolor") or elements.have_tag("font")):
        return False
    return elements.root.css_first(f"{_STYLED}, {_FONTS}") is not None


def _coloured(rules: Iterable[Rule], variables: Mapping[str, str]) -> list[_Ranked]:
    found: list[_Ranked] = []
    for selectors, style, holds_for_all in rules:
        declared = declarations(style, variables)
        text, behind = text_colour(declared), background_colour(declared)
        background = (behind.hex if behind else _UNKNOWN) if has_background(declared) else ""
        if not holds_for_all:
            # It may be so or not: what is sure without it is not any more.
            background = _UNKNOWN if background else ""
        if text is None and not background:
            continue
        for selector in split_selectors(selectors):
            # What a rule draws beside an element's text lies behind it as often as not.
            meant, count = _BESIDE_THE_ELEMENT.subn("", selector)
            shade = _UNKNOWN if count and background else background
            if meant and (meant in _PAGE or can_be_looked_up(meant)):
                colour = text.hex if text and holds_for_all and not count else ""
                found.append((_weight(meant), len(found), meant, colour, shade))
    return found


def names_like_colours(text: str) -> bool:
    """Whether any colour of a text that the sheets name is like any of a background, or white."""
    if "\\" in text or "var(" in text:
        return True
    texts = {value.strip().lower() for value in _TEXT_COLOUR.findall(text)}
    grounds = {value.strip().lower() for value in _GROUND_COLOUR.findall(text)} | {"#fff"}
    pairs = product((*texts, "#000"), grounds)
    return any(may_be_alike(one, other) for one, other in islice(pairs, _MAX_PAIRS))


def _inline(root: LexborNode, variables: Mapping[str, str]) -> list[_Ranked]:
    """Return the colours of elements' own styles, as if they were rules."""
    styles = {node.attributes.get("style") or "" for node in root.css(_STYLED)[:_MAX_STYLED]}
    rules = [Rule("i", style, holds_for_all=True) for style in styles if style]
    fonts = [node.attributes for node in root.css(_FONTS)[:_MAX_STYLED]]
    given = [
        ((0, 0, 0), 0, "", font.get("color") or "", font.get("bgcolor") or "") for font in fonts
    ]
    return [*_coloured(rules, variables), *given]


def _could_blend(coloured: Iterable[_Ranked]) -> bool:
    """Whether a text without a background of its own has the colour of another's, or of none."""
    free_texts, bare_grounds, grounds = {"#000000"}, set[str](), {"#ffffff"}
    for _, _, selector, text, background in coloured:
        if text and (not background or selector in _PAGE):
            free_texts.add(text)
        if background:
            grounds.add(background)
            if not text:
                bare_grounds.add(background)
    texts = [found for value in free_texts if (found := parse_colour(value))]
    alone = {value for value in free_texts if value != "#000000"}
    return _any_alike([parse_colour(value) for value in alone], grounds) or _any_alike(
        texts, bare_grounds
    )


def _any_alike(texts: Iterable[Colour | None], grounds: Iterable[str]) -> bool:
    behind = [parse_colour(value) for value in grounds]
    return any(are_alike(text, ground) for text in texts for ground in behind)


def _weight(selector: str) -> tuple[int, int, int]:
    """Return how strongly a selector holds against others."""
    ids, names = len(_ID.findall(selector)), len(_NAME.findall(selector))
    return ids, names, len(_TAG.findall(selector))
