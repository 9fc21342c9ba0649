"""Tells text in the colour of what lies behind it, where the page itself says which that is.

A page with style sheets that are not in it may give any named element another colour: there only
elements without a name, below one whose background its own attributes set, are judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from selectolax.lexbor import LexborNode

from cinder.extract.branding.colours import Colour, parse_colour
from cinder.extract.visibility.declarations import Declared, declarations
from cinder.extract.visibility.marks import BACKGROUND, COLOUR
from cinder.extract.visibility.shades import (
    WHITE,
    are_alike,
    background_colour,
    has_background,
    text_colour,
)

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
class _Look:
    """What an element itself says of its colours; None where it says nothing or nothing plain."""

    text: Colour | None
    background: Colour | None
    has_background: bool
    is_plain: bool = True


def names_a_colour(tag: str | None, attributes: Mapping[str, str | None]) -> bool:
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
        look = _look_at(above, variables)
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
    is_alike = are_alike(text or _BLACK, background or WHITE)
    return is_alike and not only_sets_the_stage(node, variables, is_closed=is_closed)


def only_sets_the_stage(node: LexborNode, variables: Mapping[str, str], *, is_closed: bool) -> bool:
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
    if not names_a_colour(inner.tag, inner.attributes):
        return False
    mine, around = _look_at(inner, variables), _look_at(outer, variables)
    text = mine.text or around.text
    background = mine.background if mine.has_background else around.background
    return not mine.is_plain or not are_alike(text or _BLACK, background or WHITE)


def _holds_a_picture(above: LexborNode, node: LexborNode) -> bool:
    if above.tag in _FRAMES:
        return False
    found = above.css_first(_PICTURES)
    return found is not None and node.css_first(_PICTURES) is None


def _look_at(node: LexborNode, variables: Mapping[str, str]) -> _Look:
    attributes = node.attributes
    style = attributes.get("style")
    declared: Declared = declarations(style, variables) if style else {}
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
    return _Look(text, background, has_one, is_plain)
