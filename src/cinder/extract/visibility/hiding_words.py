"""Tells at a glance which style sheets and rules may hide text: most need no closer look."""

import re

from cinder.extract.visibility.shades import may_be_alike

_SUM = r"(?:calc|min|max|clamp)\("
# A variable alone says nothing: there must be one of a great length, or such a length to fall to.
_FAR_SUM = rf"{_SUM}[^;{{}}]{{0,60}}?\d{{3}}|var\([^;{{}}]{{0,60}}?\d{{4}}"
_FAR_VARIABLE = re.compile(r"--[\w-]{1,60}\s*:\s*-?\d{3}|--[\w-]{1,60}\s*:\s*calc")
_AWAY = rf"-\d{{3}}|-\d+(?:\.\d+)?(?:r?em|ch|ex|in|cm|mm|pc)|{_FAR_SUM}"
_SIDE = rf"\s*:\s*(?:{_AWAY}|\d{{3}}(?:%|v)|\d{{4}})"
_THIN = r"(?:0+(?![.\d])|0?\.0|\d+e-|[0-5](?:\.\d+)?%)"
# Each a word that is quick to look for, and what stands around it where it may hide.
_TABLE = (
    ("display", r"display\s*:\s*(?:none|var\()"),
    ("visibility", r"visibility\s*:\s*(?:hidden|collapse|var\()"),
    ("opacity", rf"opacity\s*[:(]\s*(?:{_THIN}|{_SUM}|var\()"),
    ("font", rf"font(?:-size)?\s*:\s*(?:0|\.[01]|[12](?:\.\d+)?(?:px|pt|%|v)|{_SUM}|var\()"),
    ("font", r"font\s*:[^;{}]{0,60}?[\s:](?:0(?![.\d])|0?\.[01]\d*r?em|[012](?:\.\d+)?p[xt])"),
    ("indent", rf"indent\s*:\s*(?:{_AWAY})"),
    ("clip", r"(?<!\w-)clip\s*:\s*rect"),
    ("clip-path", r"clip-path\s*:\s*(?!none)"),
    (
        "scale",
        rf"scale\w{{0,2}}\s*[:(]\s*(?:[^;{{}}]{{0,40}}?[,\s])?(?:0(?!\.[1-9])|\.0|-?\d+e-|{_SUM})",
    ),
    ("translate", rf"translate\w{{0,2}}\s*[:(][^;{{}}]{{0,80}}?(?:\d{{4}}|\d{{3}}r?em|{_FAR_SUM})"),
    ("rotate", r"rotate[xy]\s*\("),
    ("matrix", r"matrix"),
    ("color", r"(?<![\w-])color\s*:\s*(?:transparent|#(?:\w{3}0|\w{6}0\w)(?!\w))"),
    ("fill-color", r"fill-color\s*:"),
    ("color", rf"(?<![\w-])color\s*:\s*(?:rgb|hsl)a?\([^)]{{0,60}}[,/]\s*{_THIN}"),
    ("left", f"(?<![\\w-])left{_SIDE}"),
    ("right", f"(?<![\\w-])right{_SIDE}"),
    ("top", f"(?<![\\w-])top{_SIDE}"),
    ("bottom", f"(?<![\\w-])bottom{_SIDE}"),
    ("inset", rf"inset[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:{_AWAY})"),
    ("margin", rf"margin[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:-\d{{4}}|-\d{{2,3}}r?em|{_FAR_SUM})"),
    ("zoom", r"zoom\s*:\s*(?:0|\.|\d%)"),
    ("mask", r"mask[a-z-]{0,6}\s*:[^;{}]{0,20}gradient"),
    (
        "letter-spacing",
        r"letter-spacing\s*:\s*(?:-\d{1,3}(?:\.\d+)?r?em|-0?\.[5-9]\d*r?em|-\d\d|calc)",
    ),
    ("animation", r"animation"),
)
# Escapes in names, and in values that are no strings; icons are escapes in strings.
_ESCAPED = re.compile(r"\\[0-9a-z-]{1,20}[\s\w\\-]{0,20}:|:\s*[\w-]{0,20}\\[0-9a-z]")
_MAX_TRIES = 2_000
_LOOKS = tuple((word, re.compile(look)) for word, look in _TABLE)
_PLACED = frozenset(("left", "right", "top", "bottom", "inset", "margin", "translate", "indent"))
_FLAT = re.compile(rf"(?:^|[;\s]|max-)(?:height|width)\s*:\s*(?:0(?!\.[1-9])|\.|1px|{_SUM}|var\()")
_CUT = re.compile(r"overflow[xy-]{0,2}\s*:\s*(?:\w+\s+)?(?:hidden|clip)")
_COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;!{}]{1,60})")
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([^;!{}]{1,60})")


class HidingWords:
    """The words of one style sheet that may hide."""

    def __init__(self, sheet: str, *, with_animations: bool) -> None:
        lowered = sheet.lower()
        self._has_far_variables = _stands_in(lowered, "--", _FAR_VARIABLE)
        self._looks = tuple(
            (word, look)
            for word, look in _LOOKS
            if (with_animations or word != "animation") and _stands_in(lowered, word, look)
        )
        self._has_boxes = _stands_in(lowered, "overflow", _CUT)
        self._has_escapes = "\\" in lowered

    def may_hide(self, style: str) -> bool:
        """Whether declarations of this sheet, in lower case, may hide."""
        for word, look in self._looks:
            if word in style and look.search(style):
                return True
        if self._has_boxes and "overflow" in style and _FLAT.search(style) and _CUT.search(style):
            return True
        if self._has_escapes and "\\" in style and _ESCAPED.search(style):
            return True
        if self._has_far_variables and "var(" in style:
            return any(word in style for word in _PLACED)
        return "background" in style and _has_like_colours(style)


def _stands_in(text: str, word: str, look: re.Pattern[str]) -> bool:
    position = text.find(word)
    for _ in range(_MAX_TRIES):
        if position < 0:
            return False
        if look.match(text, position):
            return True
        position = text.find(word, position + 1)
    return True


def _has_like_colours(style: str) -> bool:
    colour = _COLOUR.search(style)
    background = _BACKGROUND.search(style) if colour else None
    if colour is None or background is None:
        return False
    return may_be_alike(colour[1].strip(), background[1].strip())
