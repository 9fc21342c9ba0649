"""Tricks that hide text: which declarations do, and the marks on elements that are hidden."""

import hashlib
import re
from collections.abc import Sequence
from enum import Enum, auto

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.html.css.declarations import Declarations
from cinder.html.css.values import (
    are_indistinguishable,
    background_colour,
    is_see_through,
    measure_length,
    text_colour,
)
from cinder.html.tree import parse_html
from cinder.models.document import HiddenPart

# With a space: no parser reads such a name off a page.
UNSEEN = "cinder unseen"
# At the end of what a mark says: that a browser has found it so.
COMPUTED = "!"
BACKGROUND = "cinder background"
COLOUR = "cinder colour"
MARKS = frozenset((UNSEEN, BACKGROUND, COLOUR))


def set_mark(node: LexborNode, name: str, value: str) -> None:
    """Set a mark on an element."""
    # The library's own type of a value leaves out what it takes.
    node.attrs[name] = value


def clear_marks(node: LexborNode) -> None:
    """Take all marks off an element."""
    attributes = node.attributes
    for name in MARKS:
        if name in attributes:
            del node.attrs[name]


_SMALL_BOX = 1.0
_SMALL_TEXT = 2.0
_THIN = 0.05
# Of pixels, of a hundredth of the box, or of the window.
_FAR = -100.0
_FAR_MARGIN = -1_000.0
# The tracks of sliders are moved by some widths of the window.
_FAR_MOVED = 3_000.0
_WIDTH_IF_MOVED = 300.0
_FAR_BESIDE = 5_000.0
_EM = 16.0
_CLIPPED = re.compile(r"rect\(\s*(?:[01](?:px)?[\s,]*+){4}\)")
_CLIPPED_AWAY = re.compile(
    r"inset\(\s*(?:[5-9]\d|\d{3,})(?:\.\d+)?%(?:\s+(?:[5-9]\d|\d{3,})(?:\.\d+)?%){0,3}\s*\)"
    r"|(?:circle|ellipse)\(\s*0(?:px|%)?(?:\s+0(?:px|%)?)?\s*(?:at [^)]*)?\)"
    r"|polygon\([\s,0px%]+\)|rect\([\s,0px%]+\)|xywh\([^)]*\s0(?:px|%)?\s+0(?:px|%)?\s*\)"
)
_FUNCTION = re.compile(r"([a-z0-9-]{4,12})\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_SEPARATOR = re.compile(r"\s*,\s*|\s+(?![^()]*\))")
_FONT_SIZE = re.compile(r"(?:^|\s)([-+]?(?:\d+\.?\d*|\.\d+)(?:px|pt|r?em|%|v[wh])?)(?:\s*/|\s|$)")
_BARE_WEIGHT = re.compile(r"[1-9]\d{2}")
_MASKED_AWAY = re.compile(
    r"linear-gradient\((?:\s*(?:transparent|rgba\(0,\s*0,\s*0,\s*0\)|#0000)\s*,?){2,}\)"
)
_ANIMATION_PROPERTIES = ("transition", "animation", "animation-name", "will-change")
_STILL = frozenset(("none", "auto", "initial", "unset", "0s", "all 0s", "all 0s ease 0s"))
_SIDES = ("left", "top", "right", "bottom")
_INSETS = ("inset", "inset-inline-start", "inset-inline", "inset-block-start", "inset-block")
_CUTS = ("hidden", "clip")
# Alone, or beside each other, they hide nothing.
_HARMLESS = frozenset(
    (
        *("width", "height", "max-width", "max-height", "min-width", "min-height", "display"),
        *("background-color", "background-image", "background", "background-size", "float"),
        *("padding", "padding-left", "padding-top", "padding-right", "padding-bottom", "border"),
        *("text-align", "font-weight", "font-family", "font-style", "line-height", "cursor"),
        *(
            "vertical-align",
            "aspect-ratio",
            "background-position",
            "white-space",
            "text-decoration",
        ),
    )
)


class Trick(Enum):
    """How a text is put out of sight other than by not being shown."""

    LABEL = auto()
    """As labels for screen readers are: moved away, clipped, or in a box of a pixel."""
    SEE_THROUGH = auto()
    SHRUNK = auto()
    """By a font size that nobody reads."""
    COLLAPSED = auto()
    """In a box without height or width, which a click may open."""
    BESIDE = auto()
    """A window's width or so to the side, where a slider has its later slides."""
    COLOURED = auto()
    """In the colour of what lies behind it."""
    OTHER = auto()


TrickMatch = tuple[Trick, frozenset[str]]


def find_trick(declared: Declarations) -> TrickMatch | None:
    """Return how declarations put text out of sight, and by which properties; None if not."""
    if _HARMLESS.issuperset(declared):
        return None
    if by := _label_properties(declared):
        return Trick.LABEL, by
    if by := _shrinking_properties(declared):
        return Trick.SHRUNK, by
    if by := _other_properties(declared):
        return Trick.OTHER, by
    if _is_unreadable(declared):
        return Trick.COLOURED, frozenset(("color",))
    if by := _thin_properties(declared):
        return Trick.SEE_THROUGH, by
    if by := _collapsed_properties(declared):
        return Trick.COLLAPSED, by
    if by := _properties_beside(declared):
        return Trick.BESIDE, by
    return None


def is_not_rendered(declared: Declarations) -> bool:
    """Whether a style leaves an element, with all it holds, out of what is drawn."""
    return declared.get("display") == "none" or declared.get("content-visibility") == "hidden"


def is_visibility_hidden(declared: Declarations) -> bool:
    """Whether a style draws an element as if it were not there."""
    return declared.get("visibility") in ("hidden", "collapse")


def starts_animation(declared: Declarations) -> bool:
    """Whether a style says that it is the beginning of some movement."""
    return any(declared.get(name, "none") not in _STILL for name in _ANIMATION_PROPERTIES)


def _label_properties(declared: Declarations) -> frozenset[str]:
    if declared.get("position") in ("absolute", "fixed"):
        if away := [side for side in _SIDES if _is_far(declared.get(side))]:
            return frozenset(("position", *away))
        if away := [name for name in _INSETS if any(map(_is_far, _values(declared, name)))]:
            return frozenset(("position", *away))
        if _CLIPPED.match(declared.get("clip") or ""):
            return frozenset(("position", "clip"))
    if _is_small(declared.get("width")) and _is_small(declared.get("height")):
        is_cut = _is_cut(declared)
        return frozenset(("width", "height", "overflow") if is_cut else ())
    return frozenset()


def _shrinking_properties(declared: Declarations) -> frozenset[str]:
    size = measure_length(declared.get("font-size"), share_of=_EM)
    if size is not None:
        return frozenset(("font-size",) if size <= _SMALL_TEXT else ())
    if "font" in declared and "font-size" not in declared:
        sizes = (found[1] for found in _FONT_SIZE.finditer(declared["font"]))
        plain = [
            measure_length(one, share_of=_EM) for one in sizes if not _BARE_WEIGHT.fullmatch(one)
        ]
        if plain and plain[0] is not None and plain[0] <= _SMALL_TEXT:
            return frozenset(("font",))
    zoom = measure_length(declared.get("zoom"), share_of=1)
    return frozenset(("zoom",) if zoom is not None and 0 < zoom <= _THIN * 2 else ())


def _other_properties(declared: Declarations) -> frozenset[str]:
    # The text of a picture that stands in its place is seen, as a picture.
    if _is_far(declared.get("text-indent")) and "url(" not in "".join(declared.values()):
        return frozenset(("text-indent",))
    spacing = measure_length(declared.get("letter-spacing"))
    if spacing is not None and spacing <= -_EM / 2:
        return frozenset(("letter-spacing",))
    if away := [
        name for name in declared if name.startswith("margin") and _margins_far(declared, name)
    ]:
        return frozenset(away)
    if starts_animation(declared):
        return frozenset()
    if _CLIPPED_AWAY.match(declared.get("clip-path") or declared.get("-webkit-clip-path") or ""):
        return frozenset(("clip-path",))
    for name in ("mask", "mask-image", "-webkit-mask", "-webkit-mask-image"):
        if _MASKED_AWAY.match(declared.get(name) or ""):
            return frozenset((name,))
    return _transforming_properties(declared)


def _transforming_properties(declared: Declarations) -> frozenset[str]:
    if _is_flattened(_values(declared, "scale")):
        return frozenset(("scale",))
    if any(map(_is_very_far, _values(declared, "translate"))):
        return frozenset(("translate",))
    transform = declared.get("transform") or declared.get("-webkit-transform")
    if transform is None:
        return frozenset()
    for name, inside in _FUNCTION.findall(transform):
        parts = _SEPARATOR.split(inside.strip())
        # What is shrunk and see-through at once is about to pop up.
        if name.startswith("scale") and "opacity" not in declared and _is_flattened(parts):
            return frozenset(("transform",))
        if name.startswith("translate") and any(map(_is_very_far, parts)):
            return frozenset(("transform",))
        if name in ("rotatex", "rotatey") and "opacity" not in declared and _stands_on_edge(parts):
            return frozenset(("transform",))
        if name.startswith("matrix") and "opacity" not in declared and _is_flat_matrix(parts):
            return frozenset(("transform",))
    return frozenset()


def _is_flattened(parts: list[str]) -> bool:
    sizes = [measure_length(part, share_of=1) for part in parts]
    return any(size is not None and abs(size) <= _THIN for size in sizes[:2])


def _stands_on_edge(parts: list[str]) -> bool:
    angle = measure_length(parts[0])
    return angle is not None and abs(abs(angle) % 180 - 90) < 2


def _is_flat_matrix(parts: list[str]) -> bool:
    numbers = [measure_length(part) for part in parts]
    if len(numbers) != 6 or None in numbers:
        return False
    across, down, shift, drop, right, under = (number or 0.0 for number in numbers)
    is_flat = abs(across * drop - down * shift) <= _THIN * _THIN
    return is_flat or max(abs(right), abs(under)) >= _FAR_MOVED


def _margins_far(declared: Declarations, name: str) -> bool:
    # Pictures and columns stand out of their box by some hundred pixels.
    far = (measure_length(part, share_of=100, window=100) for part in _values(declared, name))
    return any(amount is not None and amount <= _FAR_MARGIN for amount in far)


def _thin_properties(declared: Declarations) -> frozenset[str]:
    opacity = measure_length(declared.get("opacity"), share_of=1)
    if opacity is not None and opacity <= _THIN:
        return frozenset(("opacity",))
    for name in ("filter", "-webkit-filter"):
        for function, inside in _FUNCTION.findall(declared.get(name) or ""):
            share = measure_length(inside.strip(), share_of=1)
            if function == "opacity" and share is not None and share <= _THIN:
                return frozenset((name,))
    return frozenset()


def _collapsed_properties(declared: Declarations) -> frozenset[str]:
    if not _is_cut(declared) or starts_animation(declared):
        return frozenset()
    # What a ratio of its width gives a height holds a picture.
    if any(name.startswith(("padding", "min-")) for name in declared):
        return frozenset()
    flat = [
        name for name in ("height", "width", "max-height", "max-width") if _is_flat(declared, name)
    ]
    return frozenset(("overflow", *flat) if flat else ())


def _properties_beside(declared: Declarations) -> frozenset[str]:
    if declared.get("position") not in ("absolute", "fixed"):
        return frozenset()
    away = [side for side in ("left", "right", "bottom") if _is_beside(declared.get(side))]
    return frozenset(("position", *away) if away else ())


def _is_beside(value: str | None) -> bool:
    # Two widths of the box, one of the window, or more pixels than any screen has.
    amount = measure_length(value, share_of=_FAR_BESIDE / 2, window=_FAR_BESIDE)
    return amount is not None and amount >= _FAR_BESIDE


def _is_flat(declared: Declarations, name: str) -> bool:
    amount = measure_length(declared.get(name))
    return amount is not None and amount <= 0


def _is_cut(declared: Declarations) -> bool:
    return any(
        word in _CUTS
        for name in ("overflow", "overflow-x", "overflow-y")
        for word in (declared.get(name) or "").split()
    )


def _is_unreadable(declared: Declarations) -> bool:
    colour = declared.get("-webkit-text-fill-color") or declared.get("color")
    if not colour or "background-clip" in declared or "-webkit-background-clip" in declared:
        return False
    if "text-shadow" not in declared and is_see_through(colour):
        return True
    return are_indistinguishable(text_colour(declared), background_colour(declared))


def _values(declared: Declarations, name: str) -> list[str]:
    value = declared.get(name)
    return _SEPARATOR.split(value) if value else []


def _is_far(value: str | None) -> bool:
    amount = measure_length(value, share_of=100, window=100)
    return amount is not None and amount <= _FAR


def _is_very_far(value: str) -> bool:
    amount = measure_length(value, share_of=_WIDTH_IF_MOVED, window=_WIDTH_IF_MOVED)
    return amount is not None and abs(amount) >= _FAR_MOVED


def _is_small(value: str | None) -> bool:
    amount = measure_length(value)
    return amount is not None and amount <= _SMALL_BOX


_MAX_UNSEEN_PARTS = 5_000


def parse_rendered_page(text: str, unseen: Sequence[HiddenPart]) -> LexborHTMLParser:
    """Parse a page; the elements at the places named are marked as out of sight."""
    if not unseen:
        return parse_html(text)
    name = _unique_attribute_name(text)
    tree = parse_html(_with_attributes(text, unseen[:_MAX_UNSEEN_PARTS], name))
    for node in tree.css(f"[{name}]"):
        way = node.attributes.get(name) or ""
        del node.attrs[name]
        set_mark(node, UNSEEN, f"{way if way in Trick.__members__ else ''}{COMPUTED}")
    return tree


def _unique_attribute_name(text: str) -> str:
    """Return the name of an attribute that the page cannot hold: nothing holds its own digest."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16)
    return f"unseen-{digest.hexdigest()}"


def _with_attributes(text: str, unseen: Sequence[HiddenPart], name: str) -> str:
    pieces: list[str] = []
    before = 0
    for place, way in unseen:
        if before <= place <= len(text):
            pieces += (text[before:place], f' {name}="{way}"')
            before = place
    return "".join((*pieces, text[before:]))
