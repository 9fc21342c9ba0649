"""Contrast of text and background: finds text in the colour of what lies behind it.

A page with style sheets that are not in it may give any named element another colour: there only
elements without a name, below one whose background its own attributes set, are judged.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, product

from selectolax.lexbor import LexborNode, SelectolaxError

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.css.selectors import is_queryable, split_selectors
from cinder.html.css.sheet import StyleRule, StyleSheets
from cinder.html.css.values import (
    WHITE,
    Colour,
    are_indistinguishable,
    background_colour,
    has_background,
    may_be_indistinguishable,
    parse_colour,
    text_colour,
)
from cinder.html.tree import Elements
from cinder.html.visibility.tricks import BACKGROUND, COLOUR, set_mark

_MAX_COLOUR_RULES = 100
_COLOUR_PROPERTY = re.compile(
    r"(?<![\w-])color|background(?!-(?:size|repeat|position))|\\", re.IGNORECASE
)
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


def has_only_inline_sheets(elements: Elements, *, has_imports: bool) -> bool:
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
    telling = [rule for rule in sheets.rules if _COLOUR_PROPERTY.search(rule.style)]
    if len(telling) > _MAX_COLOUR_RULES:
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
                set_mark(node, COLOUR, text)
            if background:
                set_mark(node, BACKGROUND, background)
    return True


def _have_colours(elements: Elements) -> bool:
    """Whether elements themselves say what colours they have."""
    if not (elements.have_attribute("style", "bgcolor") or elements.have_tag("font")):
        return False
    return elements.root.css_first(f"{_STYLED}, {_FONTS}") is not None


def _coloured(rules: Iterable[StyleRule], variables: Mapping[str, str]) -> list[_Ranked]:
    found: list[_Ranked] = []
    for selectors, style, holds_for_all in rules:
        declared = read_declarations(style, variables)
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
            if meant and (meant in _PAGE or is_queryable(meant)):
                colour = text.hex if text and holds_for_all and not count else ""
                found.append((_specificity(meant), len(found), meant, colour, shade))
    return found


def has_indistinguishable_colours(text: str) -> bool:
    """Whether any colour of a text that the sheets name is like any of a background, or white."""
    if "\\" in text or "var(" in text:
        return True
    texts = {value.strip().lower() for value in _TEXT_COLOUR.findall(text)}
    grounds = {value.strip().lower() for value in _GROUND_COLOUR.findall(text)} | {"#fff"}
    pairs = product((*texts, "#000"), grounds)
    return any(may_be_indistinguishable(one, other) for one, other in islice(pairs, _MAX_PAIRS))


def _inline(root: LexborNode, variables: Mapping[str, str]) -> list[_Ranked]:
    """Return the colours of elements' own styles, as if they were rules."""
    styles = {node.attributes.get("style") or "" for node in root.css(_STYLED)[:_MAX_STYLED]}
    rules = [StyleRule("i", style, holds_for_all=True) for style in styles if style]
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
    return _any_indistinguishable(
        [parse_colour(value) for value in alone], grounds
    ) or _any_indistinguishable(texts, bare_grounds)


def _any_indistinguishable(texts: Iterable[Colour | None], grounds: Iterable[str]) -> bool:
    behind = [parse_colour(value) for value in grounds]
    return any(are_indistinguishable(text, ground) for text in texts for ground in behind)


def _specificity(selector: str) -> tuple[int, int, int]:
    """Return how strongly a selector holds against others."""
    ids, names = len(_ID.findall(selector)), len(_NAME.findall(selector))
    return ids, names, len(_TAG.findall(selector))


_BLACK = Colour(0, 0, 0)
_MAX_ANCESTORS = 60
_MAX_LOOKED_INTO = 200
# How near a picture must be for a text to stand on it.
_PICTURE_LEVELS = 3
_PICTURES = "img, picture, video, canvas, svg, amp-img"
_FRAMES = frozenset(("html", "body", "main", "article"))
_NEVER_JUDGED = frozenset(("html", "body", "main", "article", "option", "select", "input", "mark"))
_SHOWN_OTHERWISE = ("text-shadow", "-webkit-text-stroke", "mix-blend-mode")


@dataclass(frozen=True, slots=True)
class _OwnColours:
    """What an element itself says of its colours; None where it says nothing or nothing plain."""

    text: Colour | None
    background: Colour | None
    has_background: bool
    is_plain: bool = True


def sets_colour(tag: str | None, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element says anything of the colour of its text or of what lies behind."""
    if COLOUR in attributes or BACKGROUND in attributes:
        return True
    if tag == "font" or "bgcolor" in attributes:
        return True
    style = attributes.get("style") or ""
    return "color" in style or "background" in style or "\\" in style


def blends_in(node: LexborNode, variables: Mapping[str, str], *, is_closed: bool) -> bool:
    """Whether the text of an element has the colour of what lies behind it.

    Args:
        node: an element that names a colour.
        variables: the custom properties that hold for the whole page.
        is_closed: whether all style sheets of the page are in it.
    """
    if node.tag in _NEVER_JUDGED:
        return False
    text: Colour | None = None
    background: Colour | None = None
    level = 0
    above: LexborNode | None = node
    while above is not None and level < _MAX_ANCESTORS and (text is None or background is None):
        look = _own_colours(above, variables)
        is_named = "class" in above.attributes or "id" in above.attributes
        if not look.is_plain or (is_named and not is_closed):
            return False
        text = text or look.text
        if background is None and look.has_background:
            if look.background is None:
                return False
            background = look.background
        if background is None and 0 < level <= _PICTURE_LEVELS and _holds_a_picture(above, node):
            return False
        above, level = above.parent, level + 1
    if not is_closed and (text is None or background is None):
        return False
    is_alike = are_indistinguishable(text or _BLACK, background or WHITE)
    return is_alike and not is_mostly_recoloured(node, variables, is_closed=is_closed)


def is_mostly_recoloured(
    node: LexborNode, variables: Mapping[str, str], *, is_closed: bool
) -> bool:
    """Whether most of an element's text stands in parts that have colours of their own."""
    whole = len(node.text())
    own = 0
    inside = (inner for inner in node.traverse() if inner.is_element_node)
    for inner in islice(inside, _MAX_LOOKED_INTO):
        if inner.mem_id == node.mem_id:
            continue
        is_named = not is_closed and ("class" in inner.attributes or "id" in inner.attributes)
        if is_named or _differs(inner, node, variables):
            own += len(inner.text())
            if 2 * own >= whole:
                return True
    return False


def _differs(inner: LexborNode, outer: LexborNode, variables: Mapping[str, str]) -> bool:
    if not sets_colour(inner.tag, inner.attributes):
        return False
    mine, around = _own_colours(inner, variables), _own_colours(outer, variables)
    text = mine.text or around.text
    background = mine.background if mine.has_background else around.background
    return not mine.is_plain or not are_indistinguishable(text or _BLACK, background or WHITE)


def _holds_a_picture(above: LexborNode, node: LexborNode) -> bool:
    if above.tag in _FRAMES:
        return False
    found = above.css_first(_PICTURES)
    return found is not None and node.css_first(_PICTURES) is None


def _own_colours(node: LexborNode, variables: Mapping[str, str]) -> _OwnColours:
    attributes = node.attributes
    style = attributes.get("style")
    declared: Declarations = read_declarations(style, variables) if style else {}
    text = text_colour(declared)
    if text is None:
        given = attributes.get(COLOUR) or (attributes.get("color") if node.tag == "font" else None)
        text = parse_colour(given) if given else None
    has_one = has_background(declared)
    background = background_colour(declared) if has_one else None
    if not has_one and (given := attributes.get(BACKGROUND) or attributes.get("bgcolor")):
        has_one, background = True, parse_colour(given)
    is_plain = not any(name in declared for name in _SHOWN_OTHERWISE)
    if attributes.get("background"):
        is_plain = False
    return _OwnColours(text, background, has_one, is_plain)
