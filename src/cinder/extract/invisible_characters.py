"""Takes out of a text the characters nobody sees, except where a script or an emoji needs them."""

import re

# Arabic, Hebrew and the scripts of South and South-East Asia join their letters by rules that the
# two joiners steer; emoji are joined, coloured and flagged by others.
_JOINING = "\u0590-\u1fff\ua800-\uabff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030-\u3299\U0001f000-\U0001faff"
_FLAG_TAGS = "[\U000e0020-\U000e007e]{1,6}\U000e007f"

# Soft hyphens, zero-width spaces and joiners, marks of direction, invisible operators, interlinear
# marks, fillers, tags, selectors of variants, and characters that are none.
_DOUBTFUL = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)
_KEPT = re.compile(
    f"(?<=[{_JOINING}])[\u200c\u200d]"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f]"
    "|(?<=[\u1820-\u18af])[\u180b-\u180f]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    "[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    f"|(?<=\U0001f3f4){_FLAG_TAGS}"
)
_KEPT_OR_DOUBTFUL = re.compile(f"({_KEPT.pattern})|{_DOUBTFUL.pattern}")
_HARD_SPACES = re.compile("[\u00a0\u2007\u202f]")


_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def without_invisible_characters(text: str) -> str:
    """Return the text without characters that show nothing, its hard spaces made plain ones."""
    shown = only_visible_characters(text)
    return shown if shown.isascii() else _HARD_SPACES.sub(" ", shown)


def only_visible_characters(text: str) -> str:
    """Return the text without characters that show nothing, its spaces as they are."""
    if text.isascii():
        return _CONTROLS.sub("", text)
    if _DOUBTFUL.search(text) is None:
        return text
    return _KEPT_OR_DOUBTFUL.sub(lambda found: found[1] or "", text)


def without_controls(text: str) -> str:
    """Return the text without the control characters of ASCII, its white space kept."""
    return _CONTROLS.sub("", text)
