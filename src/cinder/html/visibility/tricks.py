"""Tricks that hide text: the declarations that put it out of sight."""

import re
from enum import Enum, auto

from cinder.html.css.declarations import Declarations
from cinder.html.css.values import (
    are_indistinguishable,
    background_colour,
    is_cut_out,
    is_see_through,
    measure_length,
    text_colour,
)

_SMALL_BOX = 1.0
# A narrower box shows no word of a text that is kept on one line.
_NARROW_BOX = 24.0
_LOW_COLUMNS = 40.0
_COLUMNS = ("columns", "column-width", "column-count")
_SMALL_TEXT = 2.0
_THIN = 0.05
# In pixels, or in percent of the box or the window.
_FAR = -100.0
_FAR_MARGIN = -1_000.0
# Sliders move their tracks by a few widths of the window.
_FAR_MOVED = 3_000.0
_WIDTH_IF_MOVED = 300.0
_FAR_ASIDE = 5_000.0
_EM = 16.0
_CLIPPED = re.compile(r"rect\(\s*(?:[01](?:px)?[\s,]*+){4}\)")
_CLIPPED_AWAY = re.compile(
    r"inset\(\s*(?:[5-9]\d|\d{3,})(?:\.\d+)?%(?:\s+(?:[5-9]\d|\d{3,})(?:\.\d+)?%){0,3}\s*\)"
    r"|(?:circle|ellipse)\(\s*0(?:px|%)?(?:\s+0(?:px|%)?)?\s*(?:at [^)]*)?\)"
    r"|inset\([^()]*\b\d{3,}(?:\.\d+)?%[^()]*\)|(?:circle|ellipse)\([^()]*at -\d{2,}[^()]*\)"
    r"|polygon\((?:\s*-?0*(?:px|%)?\s*,?)+\)|polygon\((?:\s*-\d+(?:\.\d+)?(?:px|%)?\s*,?)+\)"
    r"|rect\([\s,0px%]+\)|xywh\([^)]*\s0(?:px|%)?\s+0(?:px|%)?\s*\)"
    # A line has no inside.
    r"|path\([\"']\s*(?:[mlz][\s\d.,-]*){0,2}[\"']\)"
)
_FAR_PATH = re.compile(
    r"(?:path|polygon|shape)\([\"'\s]*(?:m|from)?[\s,]*(?:-\d{4}|-?\d+[\spx,]+-\d{4})"
)
_TURNED = re.compile(r"(?:^|[\s(])(?:[xy]|[01] [01] 0)\s+(\S+)")
_FUNCTION = re.compile(r"([a-z0-9-]{4,12})\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_SEPARATOR = re.compile(r"\s*,\s*|\s+(?![^()]*\))")
_FONT_SIZE = re.compile(r"(?:^|\s)([-+]?(?:\d+\.?\d*|\.\d+)(?:px|pt|r?em|%|v[wh])?)(?:\s*/|\s|$)")
_BARE_WEIGHT = re.compile(r"[1-9]\d{2}")
_MASKED_AWAY = re.compile(
    r"[a-z-]{6,25}-gradient\((?:\s*(?:transparent|rgba?\(0[,\s]+0[,\s]+0[,\s/]+0\)|#0000|#00000000)\s*,?){2,}\)"
    r"|.*no-repeat.*/\s*0(?:px|%)?(?:\s+0(?:px|%)?)?|.*/\s*0(?:px|%)?(?:\s+0(?:px|%)?)?\s+no-repeat"
)
_ANIMATION_PROPERTIES = ("transition", "animation", "animation-name", "will-change")
_STILL = frozenset(("none", "auto", "initial", "unset", "0s", "all 0s", "all 0s ease 0s"))
_SIDES = ("left", "top", "right", "bottom")
_TURNS = frozenset(("rotatex", "rotatey"))
_INSETS = ("inset", "inset-inline-start", "inset-inline", "inset-block-start", "inset-block")
_CUTS = frozenset(("hidden", "clip"))
# Neither alone nor together do these hide anything.
_HARMLESS = frozenset(
    (
        *("width", "height", "max-width", "max-height", "min-width", "min-height", "display"),
        *("background", "background-color", "background-image", "background-position", "float"),
        *("background-size", "padding", "padding-left", "padding-top", "padding-right", "border"),
        *("padding-bottom", "text-align", "font-weight", "font-family", "font-style", "cursor"),
        *("line-height", "vertical-align", "aspect-ratio", "white-space", "text-decoration"),
    )
)


class Trick(Enum):
    """How a text is put out of sight although it is rendered."""

    LABEL = auto()
    """Like labels for screen readers: moved away, clipped, or in a box of one pixel."""
    SEE_THROUGH = auto()
    SHRUNK = auto()
    """By an unreadable font or size of it."""
    COLLAPSED = auto()
    """In a box without height or width, which a click may open."""
    BESIDE = auto()
    """About a window's width to the side, where sliders keep their later slides."""
    COLOURED = auto()
    """In the colour of its background."""
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
    if by := (
        _moving_properties(declared)
        or _transforming_properties(declared)
        or _obscuring_properties(declared)
    ):
        return Trick.OTHER, by
    if _is_unreadable(declared):
        return Trick.COLOURED, frozenset(("color",))
    if by := _fading_properties(declared):
        return Trick.SEE_THROUGH, by
    if by := _collapsing_properties(declared):
        return Trick.COLLAPSED, by
    if by := _aside_properties(declared):
        return Trick.BESIDE, by
    return None


def is_not_rendered(declared: Declarations) -> bool:
    """Whether a style excludes an element, with everything in it, from rendering."""
    return declared.get("display") == "none" or declared.get("content-visibility") == "hidden"


def is_visibility_hidden(declared: Declarations) -> bool:
    """Whether a style makes an element invisible, which its children can undo."""
    return declared.get("visibility") in ("hidden", "collapse")


def starts_animation(declared: Declarations) -> bool:
    """Whether a style is the start of an animation or a transition."""
    return any(declared.get(name, "none") not in _STILL for name in _ANIMATION_PROPERTIES)


def _label_properties(declared: Declarations) -> frozenset[str]:
    if declared.get("position") in ("absolute", "fixed"):
        if away := [side for side in _SIDES if _is_far(declared.get(side))]:
            return frozenset(("position", *away))
        if away := [name for name in _INSETS if any(map(_is_far, _values(declared, name)))]:
            return frozenset(("position", *away))
        if _CLIPPED.match(declared.get("clip") or ""):
            return frozenset(("position", "clip"))
    width, height = (measure_length(declared.get(name)) for name in ("width", "height"))
    is_small = width is not None and height is not None and max(width, height) <= _SMALL_BOX
    return frozenset(("width", "height", "overflow") if is_small and _is_cut(declared) else ())


def _shrinking_properties(declared: Declarations) -> frozenset[str]:
    size = measure_length(declared.get("font-size"), share_of=_EM)
    if size is not None:
        return frozenset(("font-size",) if size <= _SMALL_TEXT else ())
    if "font" in declared and "font-size" not in declared:
        sizes = (found[1] for found in _FONT_SIZE.finditer(declared["font"]))
        first = next((one for one in sizes if not _BARE_WEIGHT.fullmatch(one)), None)
        size = measure_length(first, share_of=_EM)
        if size is not None and size <= _SMALL_TEXT:
            return frozenset(("font",))
    zoom = measure_length(declared.get("zoom"), share_of=1)
    return frozenset(("zoom",) if zoom is not None and 0 < zoom <= _THIN * 2 else ())


def _moving_properties(declared: Declarations) -> frozenset[str]:
    # The text that a picture replaces is seen, as a picture.
    if _is_far(declared.get("text-indent")) and "url(" not in "".join(declared.values()):
        return frozenset(("text-indent",))
    spacing = measure_length(declared.get("letter-spacing"))
    if spacing is not None and spacing <= -_EM / 2:
        return frozenset(("letter-spacing",))
    # Pictures and columns exceed their box by some hundred pixels.
    return frozenset(
        name
        for name in declared
        if name.startswith("margin")
        and any(_is_far(part, _FAR_MARGIN) for part in _values(declared, name))
    )


def _transforming_properties(declared: Declarations) -> frozenset[str]:
    if starts_animation(declared):
        return frozenset()
    if _CLIPPED_AWAY.match(declared.get("clip-path") or declared.get("-webkit-clip-path") or ""):
        return frozenset(("clip-path",))
    for name in ("mask", "mask-image", "-webkit-mask", "-webkit-mask-image"):
        if _MASKED_AWAY.match(declared.get(name) or ""):
            return frozenset((name,))
    if _is_flattened(_values(declared, "scale")):
        return frozenset(("scale",))
    if any(map(_is_very_far, _values(declared, "translate"))):
        return frozenset(("translate",))
    transform = declared.get("transform") or declared.get("-webkit-transform") or ""
    for name, inside in _FUNCTION.findall(transform):
        parts = _SEPARATOR.split(inside.strip())
        if name.startswith("translate") and any(map(_is_very_far, parts)):
            return frozenset(("transform",))
        # An element that is flat and transparent at once is about to pop up.
        if "opacity" not in declared and _makes_flat(name, parts):
            return frozenset(("transform",))
    return frozenset()


def _obscuring_properties(declared: Declarations) -> frozenset[str]:
    if declared.get("-webkit-text-security", "none") not in _STILL:
        return frozenset(("-webkit-text-security",))
    path = declared.get("offset-path") or declared.get("offset") or ""
    if _FAR_PATH.match(path) or _is_very_far(declared.get("offset-distance") or ""):
        return frozenset(("offset-path", "offset"))
    # The two sides of a card that turns are in the same place.
    is_side = declared.get("position") == "absolute"
    if declared.get("backface-visibility") == "hidden":
        turns = [found[1] for found in _TURNED.finditer(declared.get("rotate") or "")]
        transform = declared.get("transform") or ""
        turns += [inside for name, inside in _FUNCTION.findall(transform) if name in _TURNS]
        angles = [measure_length(turn.strip()) for turn in turns]
        if any(angle is not None and 90 < abs(angle) % 360 < 270 for angle in angles):
            return frozenset() if is_side else frozenset(("backface-visibility",))
    # Both make text and background the same grey or black.
    filters = dict(_FUNCTION.findall(declared.get("filter") or ""))
    levels = [measure_length(filters.get(name), share_of=1) for name in ("brightness", "contrast")]
    is_even = any(level is not None and level <= _THIN for level in levels)
    if is_even and any(name.startswith("background") for name in declared):
        return frozenset(("filter",))
    return frozenset()


def _makes_flat(function: str, parts: list[str]) -> bool:
    if function.startswith("scale"):
        return _is_flattened(parts)
    numbers = [measure_length(part) for part in parts]
    if function in ("rotatex", "rotatey"):
        angle = numbers[0]
        return angle is not None and abs(abs(angle) % 180 - 90) < 2
    if not function.startswith("matrix") or len(numbers) != 6 or None in numbers:
        return False
    across, down, shift, drop, right, under = (number or 0.0 for number in numbers)
    is_flat = abs(across * drop - down * shift) <= _THIN * _THIN
    return is_flat or max(abs(right), abs(under)) >= _FAR_MOVED


def _is_flattened(parts: list[str]) -> bool:
    sizes = [measure_length(part, share_of=1) for part in parts]
    return any(size is not None and abs(size) <= _THIN for size in sizes[:2])


def _is_unreadable(declared: Declarations) -> bool:
    colour = declared.get("-webkit-text-fill-color") or declared.get("color")
    if not colour or is_cut_out(declared):
        return False
    if "text-shadow" not in declared and is_see_through(colour):
        return True
    return are_indistinguishable(text_colour(declared), background_colour(declared))


def _fading_properties(declared: Declarations) -> frozenset[str]:
    opacity = measure_length(declared.get("opacity"), share_of=1)
    if opacity is not None and opacity <= _THIN:
        return frozenset(("opacity",))
    for name in ("filter", "-webkit-filter"):
        for function, inside in _FUNCTION.findall(declared.get(name) or ""):
            share = measure_length(inside.strip(), share_of=1)
            if function == "opacity" and share is not None and share <= _THIN:
                return frozenset((name,))
            radius = measure_length(inside.strip()) if function == "blur" else None
            if radius is not None and radius >= _EM / 2:
                return frozenset((name,))
    return frozenset()


def _collapsing_properties(declared: Declarations) -> frozenset[str]:
    if starts_animation(declared):
        return frozenset()
    contain = declared.get("contain", "")
    is_contained = contain == "strict" or ("size" in contain and "inline" not in contain)
    if is_contained and not any("height" in name or "size" in name for name in declared):
        return frozenset(("contain",))
    if not _is_cut(declared):
        return frozenset()
    # A box whose padding gives it its height contains a picture.
    if any(name.startswith(("padding", "min-")) for name in declared):
        return frozenset()
    sizes = {
        name: measure_length(declared.get(name))
        for name in ("height", "width", "max-height", "max-width")
    }
    # Columns of a line or two go on to the side of their box.
    height = sizes["height"]
    if height is not None and height <= _LOW_COLUMNS and any(n in declared for n in _COLUMNS):
        return frozenset(("overflow", "height"))
    is_one_line = declared.get("white-space") in ("nowrap", "pre")
    narrow = _NARROW_BOX if is_one_line and "height" not in declared else 0.0
    flat = [
        name
        for name, size in sizes.items()
        if size is not None and size <= (narrow if name.endswith("width") else 0)
    ]
    return frozenset(("overflow", *flat) if flat else ())


def _is_cut(declared: Declarations) -> bool:
    overflows = (declared.get(name) or "" for name in ("overflow", "overflow-x", "overflow-y"))
    return not _CUTS.isdisjoint(" ".join(overflows).split())


def _values(declared: Declarations, name: str) -> list[str]:
    value = declared.get(name)
    return _SEPARATOR.split(value) if value else []


def _is_far(value: str | None, limit: float = _FAR) -> bool:
    amount = measure_length(value, share_of=100, window=100)
    return amount is not None and amount <= limit


def _is_very_far(value: str) -> bool:
    amount = measure_length(value, share_of=_WIDTH_IF_MOVED, window=_WIDTH_IF_MOVED)
    return amount is not None and abs(amount) >= _FAR_MOVED


def _aside_properties(declared: Declarations) -> frozenset[str]:
    if declared.get("position") not in ("absolute", "fixed"):
        return frozenset()
    # Two widths of the box, one of the window, or more pixels than any screen has.
    sizes = {
        side: measure_length(declared.get(side), share_of=_FAR_ASIDE / 2, window=_FAR_ASIDE)
        for side in ("left", "right", "bottom")
    }
    aside = [side for side, size in sizes.items() if size is not None and size >= _FAR_ASIDE]
    return frozenset(("position", *aside) if aside else ())
