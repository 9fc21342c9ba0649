"""CSS values: colours and whether two are distinguishable, lengths and sums in pixels."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from cinder.html.css.declarations import Declarations
from cinder.html.vocabulary import load_vocabulary

# Below this opacity a colour only tints its background.
_MIN_COVERING_ALPHA = 0.5
_GREY_SPREAD = 24
_MAX_TINT = 2

_HEX_COLOUR = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})", re.IGNORECASE)
_COLOUR_FUNCTION = re.compile(
    r"(rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\(([^()]{1,100})\)", re.IGNORECASE
)
_LIGHT_DARK = re.compile(r"light-dark\((.{1,100}?),[^,]{1,100}\)")
_MIX = re.compile(r"color-mix\(\s*in\s+[a-z0-9\s-]{3,40},(.{1,200})\)")
_MIXED = re.compile(r"(.+?)(?:\s+(\d+(?:\.\d+)?)%)?")
_RELATIVE = re.compile(
    r"(?:rgba?|hsla?|color)\(\s*from\s+(.{1,100}?)\s+(?:srgb\s+)?(?:r g b|h s l)\s*\)"
)
_COMMA = re.compile(r",(?![^()]*\))")
_COLOUR_CANDIDATE = re.compile(
    r"url\([^)]*\)?|#[0-9a-f]{3,8}\b|(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\([^()]{1,100}\)"
    r"|(?<![\w-])[a-z]{3,20}(?![\w(-])",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s,/]+")
_MAX_CANDIDATES = 20

_NAMED_COLOURS: dict[str, str] = load_vocabulary()["colours"]


@dataclass(frozen=True, slots=True)
class Colour:
    """An opaque colour, its parts from 0 to 255."""

    red: int
    green: int
    blue: int

    @property
    def hex(self) -> str:
        """The colour as `#rrggbb`."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def is_grey(self) -> bool:
        """Whether it has hardly any hue, so that no brand is known by it."""
        parts = (self.red, self.green, self.blue)
        return max(parts) - min(parts) < _GREY_SPREAD

    @property
    def is_dark(self) -> bool:
        """Whether light text is readable on it."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 128


def find_colour(value: str) -> Colour | None:
    """Return the first colour in a CSS value, such as a `background`; None if it has none."""
    candidates = islice(_COLOUR_CANDIDATE.finditer(value), _MAX_CANDIDATES)
    return next(filter(None, (parse_colour(found[0]) for found in candidates)), None)


def parse_colour(text: str) -> Colour | None:
    """Return the colour that a text names; None for other text and for translucent colours."""
    text = text.strip().lower()
    if text in _NAMED_COLOURS:
        return _from_hex(_NAMED_COLOURS[text])
    if found := _HEX_COLOUR.fullmatch(text):
        return _from_hex(found[1])
    if inner := _LIGHT_DARK.fullmatch(text) or _RELATIVE.fullmatch(text):
        return parse_colour(inner[1])
    if found := _COLOUR_FUNCTION.fullmatch(text):
        try:
            return _from_function(found[1], found[2])
        except (ValueError, IndexError, OverflowError):
            return None
    mixed = _parse_mix(text)
    return mixed[0] if mixed and mixed[1] >= _MIN_COVERING_ALPHA else None


def _parse_mix(text: str) -> tuple[Colour, float] | None:
    """Return the colour of a `color-mix()` of colours and `transparent`, and its alpha."""
    found = _MIX.fullmatch(text) if text.startswith("color-mix(") else None
    parts = _COMMA.split(found[1]) if found else []
    mixed = [match.groups() for part in parts if (match := _MIXED.fullmatch(part.strip()))]
    if len(mixed) != 2:
        return None
    given = sum(float(share) / 100 for _, share in mixed if share)
    rest = (1 - given) / max(1, sum(not share for _, share in mixed))
    weighed = [(name, float(share) / 100 if share else rest) for name, share in mixed]
    opaque = [(parse_colour(name), share) for name, share in weighed if name != "transparent"]
    alpha = sum(share for _, share in opaque)
    levels = [0.0, 0.0, 0.0]
    for colour, share in opaque:
        if colour is None:
            return None
        for index, level in enumerate((colour.red, colour.green, colour.blue)):
            levels[index] += level * share / (alpha or 1)
    red, green, blue = (min(255, round(level)) for level in levels)
    return Colour(red, green, blue), min(alpha, 1.0)


def _from_hex(digits: str) -> Colour | None:
    if len(digits) <= 4:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue, *alpha = bytes.fromhex(digits)
    return None if alpha and alpha[0] / 255 < _MIN_COVERING_ALPHA else Colour(red, green, blue)


def _from_function(name: str, inside: str) -> Colour | None:
    parts = [part for part in _SEPARATORS.split(inside.strip()) if part]
    if name == "color":
        space = parts.pop(0)
        levels = [255 * _colour_component(part, 1) for part in parts[:3]]
        # The greys of most spaces are the same.
        if space != "srgb" and max(levels) - min(levels) > 1:
            return None
    elif name.startswith("rgb"):
        levels = [_colour_component(part, 255) for part in parts[:3]]
    elif name.startswith("hsl"):
        saturation, lightness = (_colour_component(part, 1) for part in parts[1:3])
        levels = _from_hsl(_degrees(parts[0]), saturation, lightness)
    elif name == "hwb":
        white, black = (_colour_component(part, 1) for part in parts[1:3])
        scale = max(1.0, white + black)
        pure = _from_hsl(_degrees(parts[0]), 1, 0.5)
        levels = [level * (1 - (white + black) / scale) + 255 * white / scale for level in pure]
    elif name == "oklab":
        a, b = (_colour_component(part, 0.4) for part in parts[1:3])
        hue = math.degrees(math.atan2(b, a)) % 360
        levels = _from_oklch(_colour_component(parts[0], 1), math.hypot(a, b), hue)
    elif name in ("lab", "lch"):
        # Only greys: their lightness is all there is to convert.
        tints = parts[1:3] if name == "lab" else parts[1:2]
        if any(abs(_colour_component(part, 125)) > _MAX_TINT for part in tints):
            return None
        lightness = _colour_component(parts[0], 100)
        level = ((lightness + 16) / 116) ** 3 if lightness > 8 else lightness / 903.3
        levels = [_encode_level(level)] * 3
    else:
        levels = _from_oklch(
            _colour_component(parts[0], 1), _colour_component(parts[1], 0.4), _degrees(parts[2])
        )
    if len(levels) < 3 or (len(parts) > 3 and _colour_component(parts[3], 1) < _MIN_COVERING_ALPHA):
        return None
    red, green, blue = (min(255, max(0, int(level + 0.5))) for level in levels)
    return Colour(red, green, blue)


def _colour_component(text: str, whole: float) -> float:
    """Return a number, or the share of `whole` that a percentage is."""
    number = float(text.removesuffix("%"))
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number / 100 * whole if text.endswith("%") else number


def _degrees(text: str) -> float:
    return _colour_component(text.removesuffix("deg"), 360) % 360


def _from_hsl(hue: float, saturation: float, lightness: float) -> list[float]:
    reach = saturation * min(lightness, 1 - lightness)
    turns = [(offset + hue / 30) % 12 for offset in (0, 8, 4)]
    return [255 * (lightness - reach * max(-1.0, min(turn - 3, 9 - turn, 1.0))) for turn in turns]


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
    return [_encode_level(level) for level in linear]


def _encode_level(level: float) -> float:
    """Return a level of light as sRGB encodes it."""
    return 255 * (12.92 * level if level <= 0.0031308 else 1.055 * level ** (1 / 2.4) - 0.055)


_EM = 16.0
_WINDOW = 1_000.0
_UNITS = {
    "": 1.0, "px": 1.0, "em": _EM, "rem": _EM, "ch": 8.0, "ex": 8.0, "lh": 20.0, "rlh": 20.0,
    "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945,
    "deg": 1.0, "turn": 360.0, "grad": 0.9, "rad": 57.3,
}  # fmt: skip
_WINDOW_UNIT = re.compile(r"[sld]?v(?:w|h|i|b|min|max)|cq(?:w|h|i|b|min|max)")
_PLAIN_LENGTH = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)([a-z%]{0,6})")
_SUM_TOKEN = re.compile(
    r"\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?[a-z%]{0,6}|[a-z]{3,6}\(|[-+*/(),])"
)
_SUM_FUNCTIONS = ("calc(", "min(", "max(", "clamp(", "-webkit-calc(")
_MAX_SUM_DEPTH = 20
_MAX_SUM_TOKENS = 100


class _NoMeasureError(ValueError):
    """The text is not a sum of constants."""


def measure_length(
    value: str | None, *, share_of: float = _WINDOW, window: float = _WINDOW
) -> float | None:
    """Return a value in pixels, degrees or units; None if it is no such value.

    Args:
        value: the declared value, in lower case.
        share_of: what a percentage refers to.
        window: the width and height of the window.
    """
    if not value:
        return None
    found = _PLAIN_LENGTH.fullmatch(value)
    try:
        if found is not None:
            return _amount(found[1], found[2], share_of, window)
        return _Sum(value, share_of, window).total() if value.startswith(_SUM_FUNCTIONS) else None
    except (_NoMeasureError, OverflowError, ZeroDivisionError):
        return None


def _amount(number: str, unit: str, share_of: float, window: float) -> float:
    if unit == "%":
        factor = share_of / 100
    elif unit in _UNITS:
        factor = _UNITS[unit]
    elif _WINDOW_UNIT.fullmatch(unit):
        factor = window / 100
    else:
        raise _NoMeasureError
    amount = float(number) * factor
    if not math.isfinite(amount):
        raise _NoMeasureError
    return amount


class _Sum:
    """Evaluates the argument of `calc()` from left to right."""

    def __init__(self, text: str, share_of: float, window: float) -> None:
        text = text.removeprefix("-webkit-")
        self._tokens = _SUM_TOKEN.findall(text)[:_MAX_SUM_TOKENS]
        self._share_of = share_of
        self._window = window
        self._next = 0
        self._depth = 0
        if sum(map(len, self._tokens)) != len("".join(text.split())):
            raise _NoMeasureError

    def total(self) -> float:
        total = self._sum()
        if self._next < len(self._tokens):
            raise _NoMeasureError
        return total

    def _take(self) -> str:
        if self._next >= len(self._tokens):
            raise _NoMeasureError
        self._next += 1
        return str(self._tokens[self._next - 1])

    def _peek(self) -> str:
        return str(self._tokens[self._next]) if self._next < len(self._tokens) else ""

    def _sum(self) -> float:
        total = self._product()
        while self._peek() in ("+", "-"):
            total += self._product() if self._take() == "+" else -self._product()
        return total

    def _product(self) -> float:
        total = self._factor()
        while self._peek() in ("*", "/"):
            total = total * self._factor() if self._take() == "*" else total / self._factor()
        return total

    def _factor(self) -> float:
        part = self._take()
        if part in ("+", "-"):
            return self._factor() if part == "+" else -self._factor()
        if part.endswith("("):
            self._depth += 1
            if self._depth > _MAX_SUM_DEPTH:
                raise _NoMeasureError
            values = [self._sum()]
            while self._peek() == ",":
                self._take()
                values.append(self._sum())
            if self._take() != ")":
                raise _NoMeasureError
            self._depth -= 1
            if part in ("(", "calc(") and len(values) == 1:
                return values[0]
            if part == "clamp(" and len(values) == 3:
                return max(values[0], min(values[1], values[2]))
            if part not in ("min(", "max("):
                raise _NoMeasureError
            return min(values) if part == "min(" else max(values)
        found = _PLAIN_LENGTH.fullmatch(part)
        if found is None:
            raise _NoMeasureError
        return _amount(found[1], found[2], self._share_of, self._window)


WHITE = Colour(255, 255, 255)
# Of 255: a larger difference is readable on a good screen.
_MIN_VISIBLE_DIFFERENCE = 12
_MIN_VISIBLE_ALPHA = 0.06
_ALPHA = re.compile(r"(?:rgb|hsl)a?\([^()]*[,/]\s*(\d*\.?\d+(?:e-?\d+)?)(%?)\s*\)")
_HEX_ALPHA = re.compile(r"#(?:[0-9a-f]{3}([0-9a-f])|[0-9a-f]{6}([0-9a-f]{2}))")
_PICTURE = re.compile(r"url\(|gradient\(|image-set\(|element\(|paint\(")
_BACKGROUND_WORDS = re.compile(
    r"\b(?:no-repeat|repeat(?:-[xy])?|scroll|fixed|local|none|top|left|right|bottom|center"
    r"|(?:border|padding|content)-box|important)\b|(?<![\w#.])-?\d+(?:\.\d+)?(?:px|%|em)?(?![\w.])"
)
_PLAIN_GRADIENT = re.compile(r"[a-z-]{0,20}gradient\([^()]*(?:\([^()]*\)[^()]*){0,20}\)")
_DIRECTIONS = frozenset(
    ("to", "top", "left", "right", "bottom", "at", "center", "deg", "circle", "in", "turn")
)
_cached_colour = lru_cache(maxsize=512)(parse_colour)


def text_colour(declared: Declarations) -> Colour | None:
    """Return the text colour that a style sets, if it is opaque."""
    return _cached_colour(declared.get("-webkit-text-fill-color") or declared.get("color") or "")


def background_colour(declared: Declarations) -> Colour | None:
    """Return the background colour that a style sets, if it sets no picture."""
    whole, alone = declared.get("background"), declared.get("background-color")
    image = f"{whole or ''}{declared.get('background-image') or ''}"
    if _PICTURE.search(image):
        # A gradient has one colour if it fills its box and its colours are all alike.
        stops = gradient_colours(image) if _PLAIN_GRADIENT.fullmatch(image) else []
        is_plain = all(are_indistinguishable(stops[0], stop) for stop in stops)
        return stops[0] if stops and is_plain else None
    if alone is not None:
        return _cached_colour(alone)
    return _cached_colour(" ".join(_BACKGROUND_WORDS.sub(" ", whole or "").split()).strip(" /"))


def gradient_colours(image: str) -> list[Colour | None]:
    """Return the colours of a gradient; None is a colour that is unknown."""
    inside = _COLOUR_CANDIDATE.findall(image.partition("(")[2])
    return [_cached_colour(name) for name in inside if name not in _DIRECTIONS]


def has_background(declared: Declarations) -> bool:
    """Whether a style sets any background."""
    return any(
        name.startswith("background") and "clip" not in name and not is_see_through(value)
        for name, value in declared.items()
    )


def is_cut_out(declared: Declarations) -> bool:
    """Whether letters are cut out of a background, which then is their colour."""
    return "text" in f"{declared.get('background-clip')} {declared.get('-webkit-background-clip')}"


def is_see_through(colour: str) -> bool:
    """Whether a colour is practically transparent."""
    if colour == "transparent":
        return True
    if mixed := _parse_mix(colour):
        return mixed[1] < _MIN_VISIBLE_ALPHA
    if found := _HEX_ALPHA.fullmatch(colour):
        digits = found[1] * 2 if found[1] else found[2]
        return int(digits, 16) / 255 < _MIN_VISIBLE_ALPHA
    found = _ALPHA.fullmatch(colour)
    if found is None or (colour.count(",") < 3 and "/" not in colour):
        return False
    share = float(found[1]) / (100 if found[2] else 1)
    return share < _MIN_VISIBLE_ALPHA


def are_indistinguishable(first: Colour | None, second: Colour | None) -> bool:
    """Whether two known colours look the same."""
    if first is None or second is None:
        return False
    pairs = zip(
        (first.red, first.green, first.blue), (second.red, second.green, second.blue), strict=True
    )
    return all(abs(one - other) <= _MIN_VISIBLE_DIFFERENCE for one, other in pairs)


def may_be_indistinguishable(text: str, background: str) -> bool:
    """Whether a text colour and a background, as written, may look the same."""
    if "var(" in text or "var(" in background:
        return text.startswith("var(") and background.startswith("var(")
    return are_indistinguishable(
        _cached_colour(text), background_colour({"background": background})
    )
