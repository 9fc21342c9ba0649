"""Contrast of text and background: finds text in the colour of its background.

An external style sheet may recolour any element with a class or id. On pages that link to one, only
elements without either are judged, below an ancestor whose own attributes set the background.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from itertools import chain, islice, product

from selectolax.lexbor import LexborNode

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.css.selectors import (
    Specificity,
    is_queryable,
    select_all,
    specificity,
    split_selectors,
)
from cinder.html.css.sheet import StyleRule, StyleSheets
from cinder.html.css.values import (
    WHITE,
    Colour,
    are_indistinguishable,
    background_colour,
    find_colour,
    has_background,
    is_cut_out,
    may_be_indistinguishable,
    parse_colour,
    text_colour,
)
from cinder.html.tree import BACKGROUND_MARK, COLOUR_MARK, Elements, set_mark

_MAX_COLOUR_RULES = 100
_COLOUR_PROPERTY = re.compile(
    r"(?<![\w-])color|background(?!-(?:size|repeat|position))|\\", re.IGNORECASE
)
_MAX_MARKED = 3_000
# A background that is a picture or translucent: its colour is not known.
_UNKNOWN = "?"
_PAGE = ("html", "body", ":root")
_PSEUDO_ELEMENT = re.compile(r":{1,2}(?:before|after)\b", re.IGNORECASE)
_LAYERED = '[style*="mix-blend-mode" i], [style*="z-index" i]'
_STYLED = f'[style*="color" i], [style*="background" i], [style*="\\\\"], {_LAYERED}'
_FONTS = "font[color], [bgcolor]"
_MAX_STYLED = 300
_MAX_PAIRS = 2_000
_TEXT_COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;}!]{1,60})", re.IGNORECASE)
_GROUND_COLOUR = re.compile(r"background(?:-color)?\s*:\s*([^;}!]{1,200})", re.IGNORECASE)
_EXTERNAL = 'link[rel~="stylesheet" i][href]'

_BLACK = Colour(0, 0, 0)
_MAX_ANCESTORS = 60
_MAX_CHECKED = 200
# How many levels up a picture may be the background of a text.
_PICTURE_LEVELS = 3
_PICTURES = (
    'img, picture, video, canvas, svg, amp-img, [style*="absolute" i][style*="background" i]'
)
_FRAMES = frozenset(("html", "body", "main", "article"))
_NEVER_JUDGED = frozenset(("html", "body", "main", "article", "option", "select", "input", "mark"))
_OUTLINES = ("text-shadow", "-webkit-text-stroke")
# What a blend mode makes of a level of the background and of the text, both from 0 to 1.
_BLENDS: Mapping[str, Callable[[float, float], float]] = {
    "multiply": lambda behind, text: behind * text,
    "screen": lambda behind, text: behind + text - behind * text,
    "darken": min,
    "lighten": max,
    "color-dodge": lambda behind, text: behind and min(1.0, behind / max(1 - text, 1e-6)),
    "color-burn": lambda behind, text: 1 - min(1.0, (1 - behind) / max(text, 1e-6)),
    "difference": lambda behind, text: abs(behind - text),
    "exclusion": lambda behind, text: behind + text - 2 * behind * text,
    "plus-lighter": lambda behind, text: min(1.0, behind + text),
    # Only the lightness differs where there is no colour.
    "hue": lambda behind, _: behind,
    "saturation": lambda behind, _: behind,
    "color": lambda behind, _: behind,
}
# Any of them makes an element the layer of what is in it.
_LAYERING = ("transform", "filter", "opacity", "isolation", "will-change", "contain")

# Specificity, order, selector, text colour, background colour.
_Ranked = tuple[Specificity, int, str, str, str]


def has_only_inline_sheets(elements: Elements, *, has_imports: bool) -> bool:
    """Whether a page links to no style sheets."""
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

    Returns whether elements were marked: not if no text has the colour of any background, nor if
    there are too many rules.
    """
    root = elements.root
    if not may_blend:
        has_colours = elements.have_attribute("style", "bgcolor") or elements.have_tag("font")
        if not has_colours or root.css_first(f"{_STYLED}, {_FONTS}") is None:
            return False
    rules = [rule for rule in sheets.rules if _COLOUR_PROPERTY.search(rule.style)]
    if len(rules) > _MAX_COLOUR_RULES:
        return False
    coloured = _rank_colours(rules, variables)
    styles = {node.attributes.get("style") or "" for node in root.css(_STYLED)[:_MAX_STYLED]}
    inline = [StyleRule("i", style, holds_for_all=True) for style in styles if style]
    fonts = [node.attributes for node in root.css(_FONTS)[:_MAX_STYLED]]
    by_attribute = [
        ((0, 0, 0), 0, "", font.get("color") or "", font.get("bgcolor") or "") for font in fonts
    ]
    is_layered = root.css_first(_LAYERED) is not None
    known = (*coloured, *_rank_colours(inline, variables), *by_attribute)
    if not is_layered and not _could_blend(known):
        return False
    left = _MAX_MARKED
    for _, _, selector, text, background in sorted(coloured):
        nodes = select_all(root, selector)[:left]
        left -= len(nodes)
        for node in nodes:
            if text:
                set_mark(node, COLOUR_MARK, text)
            if background:
                set_mark(node, BACKGROUND_MARK, background)
    return True


def has_indistinguishable_colours(text: str) -> bool:
    """Whether any text colour in style sheets looks like any background colour, or white."""
    if "\\" in text or "var(" in text:
        return True
    texts = {value.strip().lower() for value in _TEXT_COLOUR.findall(text)}
    grounds = {value.strip().lower() for value in _GROUND_COLOUR.findall(text)} | {"#fff"}
    pairs = product((*texts, "#000"), grounds)
    return any(may_be_indistinguishable(one, other) for one, other in islice(pairs, _MAX_PAIRS))


def _rank_colours(rules: Iterable[StyleRule], variables: Mapping[str, str]) -> list[_Ranked]:
    found: list[_Ranked] = []
    for selectors, style, holds_for_all in rules:
        declared = read_declarations(style, variables)
        text, behind, has_one = _declared_colours(declared)
        background = (behind.hex if behind else _UNKNOWN) if has_one else ""
        if background and not holds_for_all:
            background = _UNKNOWN
        if text is None and not background:
            continue
        for selector in split_selectors(selectors):
            # A pseudo-element often lies behind the element's text.
            target, count = _PSEUDO_ELEMENT.subn("", selector)
            if target and (target in _PAGE or is_queryable(target)):
                colour = text.hex if text and holds_for_all and not count else ""
                ground = _UNKNOWN if count and background else background
                found.append((specificity(target), len(found), target, colour, ground))
    return found


def _could_blend(coloured: Iterable[_Ranked]) -> bool:
    """Whether a text without a background of its own has the colour of some background."""
    free_texts, bare_grounds, grounds = set[str](), set[str](), {"#ffffff"}
    for _, _, selector, text, background in coloured:
        if text and (not background or selector in _PAGE):
            free_texts.add(text)
        if background:
            grounds.add(background)
            if not text:
                bare_grounds.add(background)
    known = {value: parse_colour(value) for value in (*free_texts, *grounds, "#000000")}
    pairs = chain(
        product(free_texts - {"#000000"}, grounds), product(free_texts | {"#000000"}, bare_grounds)
    )
    return any(are_indistinguishable(known[one], known[other]) for one, other in pairs)


@dataclass(frozen=True, slots=True)
class _OwnColours:
    """The colours that an element itself sets; None if it sets none or an unknown one."""

    text: Colour | None
    background: Colour | None
    has_background: bool
    is_plain: bool
    blend: str = "normal"
    is_layer: bool = False
    is_below: bool = False
    """Whether its z-index is negative."""


def sets_colour(tag: str | None, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element sets a text or background colour."""
    if COLOUR_MARK in attributes or BACKGROUND_MARK in attributes:
        return True
    if tag == "font" or "bgcolor" in attributes:
        return True
    style = attributes.get("style") or ""
    return any(word in style for word in ("color", "background", "\\", "blend-mode", "z-index"))


def blends_in(node: LexborNode, variables: Mapping[str, str], *, is_closed: bool) -> bool:
    """Whether the text of an element has the colour of its background.

    Args:
        node: an element that sets a colour.
        variables: the custom properties that apply to the whole page.
        is_closed: whether the page links to no style sheets.
    """
    if node.tag in _NEVER_JUDGED:
        return False
    text: Colour | None = None
    background: Colour | None = None
    blend = "normal"
    is_below = False
    level = 0
    above: LexborNode | None = node
    while above is not None and level < _MAX_ANCESTORS and (text is None or background is None):
        own = _own_colours(above, variables)
        is_named = "class" in above.attributes or "id" in above.attributes
        if not own.is_plain or (is_named and not is_closed):
            return False
        text = text or own.text
        if background is None and own.has_background:
            # What an element paints itself is blended too.
            if own.background is None or own.blend != "normal":
                return False
            background = own.background
        if is_below and not own.is_layer and own.background and above.tag not in _FRAMES:
            return True
        blend = own.blend if blend == "normal" else blend
        is_below = (is_below and not own.is_layer) or own.is_below
        # A picture in an ancestor may be the background.
        may_be_behind = background is None and 0 < level <= _PICTURE_LEVELS
        has_picture = may_be_behind and above.tag not in _FRAMES and above.css_first(_PICTURES)
        if has_picture and node.css_first(_PICTURES) is None:
            return False
        above, level = above.parent, level + 1
    if not is_closed and (text is None or background is None):
        return False
    is_alike = _are_alike(text or _BLACK, background or WHITE, blend)
    return is_alike and not is_mostly_recoloured(node, variables, is_closed=is_closed)


def _are_alike(text: Colour, background: Colour, blend: str) -> bool:
    if blend == "normal":
        return are_indistinguishable(text, background)
    mix = _BLENDS.get(blend)
    if mix is None:
        return False
    pairs = zip(astuple(background), astuple(text), strict=True)
    mixed = Colour(*(round(255 * mix(behind / 255, level / 255)) for behind, level in pairs))
    return are_indistinguishable(mixed, background)


def is_mostly_recoloured(
    node: LexborNode, variables: Mapping[str, str], *, is_closed: bool
) -> bool:
    """Whether most of an element's text is in inner elements with colours of their own."""
    whole = len(node.text())
    recoloured = 0
    inside = (inner for inner in node.traverse() if inner.is_element_node)
    for inner in islice(inside, _MAX_CHECKED):
        if inner.mem_id == node.mem_id:
            continue
        is_named = not is_closed and ("class" in inner.attributes or "id" in inner.attributes)
        if is_named or _is_readable(inner, node, variables):
            recoloured += len(inner.text())
            if 2 * recoloured >= whole:
                return True
    return False


def _is_readable(inner: LexborNode, outer: LexborNode, variables: Mapping[str, str]) -> bool:
    """Whether an inner element sets a colour that differs from its background."""
    if not sets_colour(inner.tag, inner.attributes):
        return False
    own, around = _own_colours(inner, variables), _own_colours(outer, variables)
    if not own.is_plain or (own.has_background and own.background is None):
        return True
    text = own.text or around.text
    background = own.background if own.has_background else around.background
    return not are_indistinguishable(text or _BLACK, background or WHITE)


def _own_colours(node: LexborNode, variables: Mapping[str, str]) -> _OwnColours:
    attributes = node.attributes
    style = attributes.get("style")
    declared: Declarations = read_declarations(style, variables) if style else {}
    text, background, has_one = _declared_colours(declared)
    if text is None:
        font_colour = attributes.get("color") if node.tag == "font" else None
        colour = attributes.get(COLOUR_MARK) or font_colour
        text = parse_colour(colour) if colour else None
    ground = attributes.get(BACKGROUND_MARK) or attributes.get("bgcolor")
    if not has_one and ground:
        has_one, background = True, parse_colour(ground)
    outlines = (find_colour(declared[name]) for name in _OUTLINES if name in declared)
    is_plain = all(are_indistinguishable(outline, text) for outline in outlines)
    is_placed = declared.get("position", "static") != "static"
    depth = declared.get("z-index", "auto")
    return _OwnColours(
        text,
        background,
        has_one,
        is_plain and not attributes.get("background"),
        blend=declared.get("mix-blend-mode", "normal"),
        is_layer=(is_placed and depth != "auto") or any(name in declared for name in _LAYERING),
        is_below=is_placed and depth.startswith("-"),
    )


def _declared_colours(declared: Declarations) -> tuple[Colour | None, Colour | None, bool]:
    """Return the text colour and the background that a style sets, and whether it sets one."""
    text, background = text_colour(declared), background_colour(declared)
    if is_cut_out(declared):
        text = text or background
        return text, None, text is None
    return text, background, has_background(declared)
