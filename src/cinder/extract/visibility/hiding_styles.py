"""What the declarations of a style do to the text of their element: which of them hide it."""

import re
from collections.abc import Mapping
from enum import Enum, auto

Declared = Mapping[str, str]

_MAX_STYLE = 2_000
_DECLARATION = re.compile(r"(?:^|;)\s*([a-z-]{2,30})\s*:\s*([^;]{1,200})")
_NOTHING = re.compile(r"0*\.?0*(?:px|em|rem|%|pt|vh|vw)?")
_SMALL = re.compile(r"[01](?:px)?")
_FAR_AWAY = re.compile(r"-\d{3,}(?:\.\d+)?(?:px|em|rem|%|vw|vh|pt)?")
_CLIPPED = re.compile(r"rect\(\s*(?:[01](?:px)?[\s,]*+){4}\)")
_CLIPPED_AWAY = re.compile(
    r"inset\(\s*(?:50|100)%\s*\)|circle\(\s*0(?:px|%)?\s*(?:at [^)]*)?\)"
    r"|polygon\([\s,0px%]+\)"
)
_SCALED_AWAY = re.compile(r"\bscale(?:3d|x|y)?\(\s*0(?:\.0+)?\s*[,)]")
_SEE_THROUGH = re.compile(r"transparent|rgba\([^)]*,\s*0(?:\.0+)?\s*\)")
_WHOLE_COLOUR = re.compile(r"#([0-9a-f])\1([0-9a-f])\2([0-9a-f])\3")
_NO_COLOURS = frozenset(("", "inherit", "initial", "unset", "revert", "currentcolor", "none"))
_MOVES = ("transition", "animation", "animation-name", "will-change")
_SIDES = ("left", "top", "right")


class Trick(Enum):
    """How a text is put out of sight other than by not being shown."""

    LABEL = auto()
    """As labels for screen readers are: moved away, clipped, or in a box of a pixel."""
    SEE_THROUGH = auto()
    SHRUNK = auto()
    """By a font size of nought."""
    COLLAPSED = auto()
    """In a box without height or width, which a click may open."""
    OTHER = auto()


def declarations(style: str) -> dict[str, str]:
    """Return what a style declares, by property, of the first part of a long one."""
    found = _DECLARATION.findall(style[:_MAX_STYLE].lower().replace("!important", ""))
    return {name: value.strip() for name, value in found}


def find_trick(declared: Declared) -> tuple[Trick, frozenset[str]] | None:
    """Return how declarations put text out of sight, and by which properties; None if not."""
    if by := _label_properties(declared):
        return Trick.LABEL, by
    if is_nothing(declared.get("font-size")):
        return Trick.SHRUNK, frozenset(("font-size",))
    if by := _other_properties(declared):
        return Trick.OTHER, by
    if is_nothing(declared.get("opacity")):
        return Trick.SEE_THROUGH, frozenset(("opacity",))
    if by := _collapsed_properties(declared):
        return Trick.COLLAPSED, by
    return None


def moves(declared: Declared) -> bool:
    """Whether a style says that it is the beginning of some movement."""
    return any(name in declared for name in _MOVES)


def is_nothing(value: str | None) -> bool:
    """Whether a size or a share is nought."""
    return value is not None and _NOTHING.fullmatch(value) is not None


def _label_properties(declared: Declared) -> frozenset[str]:
    if declared.get("position") in ("absolute", "fixed"):
        if away := [side for side in _SIDES if _is_far(declared.get(side))]:
            return frozenset(("position", *away))
        if _CLIPPED.match(declared.get("clip") or ""):
            return frozenset(("position", "clip"))
    if _is_small(declared.get("width")) and _is_small(declared.get("height")):
        is_cut = declared.get("overflow") == "hidden"
        return frozenset(("width", "height", "overflow") if is_cut else ())
    return frozenset()


def _other_properties(declared: Declared) -> frozenset[str]:
    # The text of a picture that stands in its place is seen, as a picture.
    if _is_far(declared.get("text-indent")) and "url(" not in "".join(declared.values()):
        return frozenset(("text-indent",))
    if not moves(declared):
        if _CLIPPED_AWAY.match(declared.get("clip-path") or ""):
            return frozenset(("clip-path",))
        if "opacity" not in declared and _SCALED_AWAY.search(declared.get("transform") or ""):
            return frozenset(("transform",))
    return frozenset(("color",) if _is_unreadable(declared) else ())


def _collapsed_properties(declared: Declared) -> frozenset[str]:
    if declared.get("overflow") != "hidden" or moves(declared):
        return frozenset()
    # What a ratio of its width gives a height holds a picture.
    if any(name.startswith(("padding", "min-")) for name in declared):
        return frozenset()
    flat = [name for name in ("height", "width") if is_nothing(declared.get(name))]
    return frozenset(("overflow", *flat) if flat else ())


def _is_unreadable(declared: Declared) -> bool:
    colour = declared.get("color")
    if not colour or "background-clip" in declared or "-webkit-background-clip" in declared:
        return False
    background = declared.get("background-color") or declared.get("background") or ""
    if _plain_colour(colour) == _plain_colour(background):
        return colour not in _NO_COLOURS
    return "text-shadow" not in declared and _SEE_THROUGH.fullmatch(colour) is not None


def _plain_colour(value: str) -> str:
    value = {"white": "#fff", "black": "#000"}.get(value, value.replace(" ", ""))
    if _WHOLE_COLOUR.fullmatch(value):
        return f"#{value[1]}{value[3]}{value[5]}"
    return value


def _is_far(value: str | None) -> bool:
    return value is not None and _FAR_AWAY.fullmatch(value) is not None


def _is_small(value: str | None) -> bool:
    return value is not None and _SMALL.fullmatch(value) is not None
