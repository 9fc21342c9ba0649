"""Colours of texts and of what lies behind them: which cannot be told apart."""

import re
from functools import lru_cache

from cinder.extract.branding.colours import Colour, parse_colour
from cinder.extract.visibility.declarations import Declared

WHITE = Colour(255, 255, 255)
# Of 255: beyond this somebody with a good screen reads it.
_LEAST_DIFFERENCE = 12
_LEAST_ALPHA = 0.06
_ALPHA = re.compile(r"(?:rgb|hsl)a?\([^()]*[,/]\s*(\d*\.?\d+(?:e-?\d+)?)(%?)\s*\)")
_HEX_ALPHA = re.compile(r"#(?:[0-9a-f]{3}([0-9a-f])|[0-9a-f]{6}([0-9a-f]{2}))")
_PICTURE = re.compile(r"url\(|gradient\(|image-set\(|element\(|paint\(")
_FEW_NAMES = {"canvas": WHITE, "mintcream": Colour(245, 255, 250), "canvastext": Colour(0, 0, 0)}
_BACKGROUND_WORDS = re.compile(
    r"\b(?:no-repeat|repeat(?:-[xy])?|scroll|fixed|local|none|top|left|right|bottom|center"
    r"|(?:border|padding|content)-box|important)\b|(?<![\w#.])-?\d+(?:\.\d+)?(?:px|%|em)?(?![\w.])"
)


def text_colour(declared: Declared) -> Colour | None:
    """Return the colour of a text, where a style names one that covers what lies under it."""
    return _colour(declared.get("-webkit-text-fill-color") or declared.get("color") or "")


def background_colour(declared: Declared) -> Colour | None:
    """Return the one colour behind a text, where a style names one and no picture."""
    whole, alone = declared.get("background"), declared.get("background-color")
    if _PICTURE.search(f"{whole or ''}{declared.get('background-image') or ''}"):
        return None
    if alone is not None:
        return _colour(alone)
    return _colour(" ".join(_BACKGROUND_WORDS.sub(" ", whole or "").split()).strip(" /"))


def has_background(declared: Declared) -> bool:
    """Whether a style says anything of what lies behind the text."""
    return any(name.startswith("background") and "clip" not in name for name in declared)


def is_see_through(colour: str) -> bool:
    """Whether a colour is so thin that nobody sees it."""
    if colour == "transparent":
        return True
    if found := _HEX_ALPHA.fullmatch(colour):
        digits = found[1] * 2 if found[1] else found[2]
        return int(digits, 16) / 255 < _LEAST_ALPHA
    found = _ALPHA.fullmatch(colour)
    if found is None or (colour.count(",") < 3 and "/" not in colour):
        return False
    share = float(found[1]) / (100 if found[2] else 1)
    return share < _LEAST_ALPHA


def are_alike(first: Colour | None, second: Colour | None) -> bool:
    """Whether nobody could tell two colours apart, both of which are known."""
    if first is None or second is None:
        return False
    pairs = zip(
        (first.red, first.green, first.blue), (second.red, second.green, second.blue), strict=True
    )
    return all(abs(one - other) <= _LEAST_DIFFERENCE for one, other in pairs)


def may_be_alike(text: str, background: str) -> bool:
    """Whether two colours as written may be told apart by nobody."""
    if "var(" in text or "var(" in background:
        return text.startswith("var(") and background.startswith("var(")
    return are_alike(_colour(text), background_colour({"background": background}))


@lru_cache(maxsize=512)
def _colour(value: str) -> Colour | None:
    return _FEW_NAMES.get(value) or parse_colour(value)
