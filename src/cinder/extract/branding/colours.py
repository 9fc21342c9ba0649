"""Colours as CSS writes them, and what can be said of one."""

import math
import re
from dataclasses import dataclass
from itertools import islice

# Below this share of opacity a colour is a tint of what lies under it.
_LEAST_ALPHA = 0.5
_GREY_SPREAD = 24

_HEX = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})", re.IGNORECASE)
_FUNCTION = re.compile(r"(rgba?|hsla?|oklch|color)\(([^()]{1,100})\)", re.IGNORECASE)
_CANDIDATE = re.compile(
    r"url\([^)]*\)?|#[0-9a-f]{3,8}\b|(?:rgba?|hsla?|oklch|color)\([^()]{1,100}\)|(?<![\w-])[a-z]{3,20}(?![\w(-])",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s,/]+")
_MAX_CANDIDATES = 20

# Those of CSS's names that pages use; the rest are read as no colour.
_NAMED = {
    "black": "000000", "white": "ffffff", "red": "ff0000", "green": "008000", "blue": "0000ff",
    "yellow": "ffff00", "orange": "ffa500", "purple": "800080", "pink": "ffc0cb",
    "brown": "a52a2a", "gray": "808080", "grey": "808080", "silver": "c0c0c0", "gold": "ffd700",
    "navy": "000080", "teal": "008080", "maroon": "800000", "olive": "808000", "lime": "00ff00",
    "aqua": "00ffff", "cyan": "00ffff", "fuchsia": "ff00ff", "magenta": "ff00ff",
    "crimson": "dc143c", "tomato": "ff6347", "coral": "ff7f50", "salmon": "fa8072",
    "firebrick": "b22222", "darkred": "8b0000", "orangered": "ff4500", "darkorange": "ff8c00",
    "chocolate": "d2691e", "sienna": "a0522d", "tan": "d2b48c", "khaki": "f0e68c",
    "beige": "f5f5dc", "ivory": "fffff0", "snow": "fffafa", "linen": "faf0e6",
    "whitesmoke": "f5f5f5", "ghostwhite": "f8f8ff", "aliceblue": "f0f8ff", "lavender": "e6e6fa",
    "gainsboro": "dcdcdc", "lightgray": "d3d3d3", "lightgrey": "d3d3d3", "darkgray": "a9a9a9",
    "darkgrey": "a9a9a9", "dimgray": "696969", "dimgrey": "696969", "slategray": "708090",
    "slategrey": "708090", "darkslategray": "2f4f4f", "darkslategrey": "2f4f4f",
    "steelblue": "4682b4", "royalblue": "4169e1", "dodgerblue": "1e90ff", "deepskyblue": "00bfff",
    "skyblue": "87ceeb", "lightblue": "add8e6", "cornflowerblue": "6495ed", "darkblue": "00008b",
    "mediumblue": "0000cd", "midnightblue": "191970", "slateblue": "6a5acd", "indigo": "4b0082",
    "violet": "ee82ee", "orchid": "da70d6", "plum": "dda0dd", "hotpink": "ff69b4",
    "deeppink": "ff1493", "rebeccapurple": "663399", "turquoise": "40e0d0", "darkcyan": "008b8b",
    "seagreen": "2e8b57", "forestgreen": "228b22", "darkgreen": "006400", "limegreen": "32cd32",
    "lightgreen": "90ee90", "springgreen": "00ff7f", "olivedrab": "6b8e23", "goldenrod": "daa520",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour that covers what lies under it, its parts from 0 to 255."""

    red: int
    green: int
    blue: int

    @property
    def hex(self) -> str:
        """The colour as `#rrggbb`."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def is_grey(self) -> bool:
        """Whether it has hardly a hue: no colour that a brand is known by."""
        parts = (self.red, self.green, self.blue)
        return max(parts) - min(parts) < _GREY_SPREAD

    @property
    def is_dark(self) -> bool:
        """Whether light text would be read on it."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 128


def find_colour(value: str) -> Colour | None:
    """Return the first colour in a CSS value, such as a `background`; None where it has none."""
    candidates = islice(_CANDIDATE.finditer(value), _MAX_CANDIDATES)
    return next(filter(None, (parse_colour(found[0]) for found in candidates)), None)


def parse_colour(text: str) -> Colour | None:
    """Return the colour that a text is; None for another text, or a colour that shines through."""
    text = text.strip().lower()
    if text in _NAMED:
        return _from_hex(_NAMED[text])
    if found := _HEX.fullmatch(text):
        return _from_hex(found[1])
    if found := _FUNCTION.fullmatch(text):
        try:
            return _from_function(found[1], found[2])
        except (ValueError, IndexError, OverflowError):
            return None
    return None


def _from_hex(digits: str) -> Colour | None:
    if len(digits) <= 4:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue, *alpha = bytes.fromhex(digits)
    return None if alpha and alpha[0] / 255 < _LEAST_ALPHA else Colour(red, green, blue)


def _from_function(name: str, inside: str) -> Colour | None:
    parts = [part for part in _SEPARATORS.split(inside.strip()) if part]
    if name == "color":
        if parts.pop(0) != "srgb":
            return None
        levels = [255 * _number(part, 1) for part in parts[:3]]
    elif name.startswith("rgb"):
        levels = [_number(part, 255) for part in parts[:3]]
    elif name.startswith("hsl"):
        levels = _from_hsl(_degrees(parts[0]), _number(parts[1], 1), _number(parts[2], 1))
    else:
        levels = _from_oklch(_number(parts[0], 1), _number(parts[1], 0.4), _degrees(parts[2]))
    if len(levels) < 3 or (len(parts) > 3 and _number(parts[3], 1) < _LEAST_ALPHA):
        return None
    red, green, blue = (min(255, max(0, int(level + 0.5))) for level in levels)
    return Colour(red, green, blue)


def _number(text: str, whole: float) -> float:
    """Return a number, or a percentage of the whole."""
    number = float(text.removesuffix("%"))
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number / 100 * whole if text.endswith("%") else number


def _degrees(text: str) -> float:
    return _number(text.removesuffix("deg"), 360) % 360


def _from_hsl(hue: float, saturation: float, lightness: float) -> list[float]:
    reach = saturation * min(lightness, 1 - lightness)

    def level(offset: float) -> float:
        place = (offset + hue / 30) % 12
        return 255 * (lightness - reach * max(-1.0, min(place - 3, 9 - place, 1.0)))

    return [level(0), level(8), level(4)]


def _from_oklch(lightness: float, chroma: float, hue: float) -> list[float]:
    a = chroma * math.cos(math.radians(hue))
    b = chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return [255 * _gamma(level) for level in linear]


def _gamma(level: float) -> float:
    if level <= 0.0031308:
        return 12.92 * level
    return float(1.055 * level ** (1 / 2.4) - 0.055)
