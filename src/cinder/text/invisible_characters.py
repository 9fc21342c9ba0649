"""Invisible characters: removed from texts, and reported where they hide or reorder text.

Most invisible characters are innocent: emoji are joined and coloured by them, Persian and the
scripts of India need joiners, Arabic and Hebrew need marks of direction, editors leave single
zero-width spaces, telephones wrap numbers. Only what ordinary text does not have is counted.
"""

import re

# Arabic, Hebrew and the scripts of South and South-East Asia join their letters by rules that the
# two joiners steer; emoji are joined, coloured and flagged by others.
_JOINING = "\u0590-\u1fff\ua800-\uabff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030-\u3299\U0001f000-\U0001faff"
_FLAG_TAG = "[\U000e0020-\U000e007e]"

# All that has Unicode's property Default_Ignorable_Code_Point: soft hyphens, joiners and marks of
# direction, fillers, vowels that are not written, format controls, selectors of variants, tags.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Spaces that few keyboards have, and the pattern of Braille without a dot.
_RARE_BLANK = "\u1680\u2000-\u200a\u202f\u205f\u2800"
# Chinese and Japanese begin paragraphs with the last.
BLANK = f"{_RARE_BLANK}\u3000"
# And controls, interlinear marks, and characters that are none.
_UNSEEN = f"\x00-\x08\x0b\x0e-\x1f\x7f-\x9f{IGNORABLE}\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"
_DOUBTFUL = re.compile(f"[{_UNSEEN}{_RARE_BLANK}]")
# Where so many blanks of several kinds stand in a row, a message may be written in them; those
# beside a pattern of Braille are part of what it shows.
_BLANK_RUN = re.compile(f"(?<![\u2801-\u28ff{BLANK}])[{BLANK}]{{8,}}+(?![\u2801-\u28ff])")
# Each looks back at the doubtful character itself, so that a search skips all others at once.
_KEPT = (
    f"(?<=[{_JOINING}][\u200c\u200d])"
    f"|(?<=[{_EMOJI}\ufe0f]\u200d)(?=[{_EMOJI}])"
    f"|(?<=[{_EMOJI}0-9#*][\ufe0e\ufe0f])"
    "|(?<=[\u1820-\u18af][\u180b-\u180f])"
    "|(?<=[\u1780-\u17b3][\u17b4\u17b5])"
    "|(?<=[\u0591-\u05c7]\u034f)"
    "|(?<=\u115f)(?=[\u1161-\u11ff])|(?<=[\u1100-\u115e]\u1160)"
    "|(?<=[\U0001bc00-\U0001bc9f][\U0001bca0-\U0001bca3])"
    "|(?<=[\U0001d100-\U0001d172\U0001d17b-\U0001d1ff][\U0001d173-\U0001d17a])"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "[\ufe00-\ufe02\U000e0100-\U000e01ef])"
    f"|(?<=\U0001f3f4{_FLAG_TAG}){_FLAG_TAG}{{0,5}}\U000e007f"
)
_UNSEEN_OR_KEPT = re.compile(f"[{_UNSEEN}](?P<kept>{_KEPT})?")
# What anybody sees, or expects; to look through what is left of a text without it is quick.
_USUAL = bytes((0x09, 0x0A, 0x0C, 0x0D, *range(0x20, 0x7F)))
_HARD_SPACES = ("\u00a0", "\u2007", "\u202f")
_CONTROLS = bytes((*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F))


def without_invisible_characters(text: str) -> str:
    """Return the text without characters that show nothing, its hard spaces made plain ones."""
    shown = only_visible_characters(text)
    if not shown.isascii():
        for space in _HARD_SPACES:
            shown = shown.replace(space, " ")
    return shown


def only_visible_characters(text: str) -> str:
    """Return the text without characters that show nothing, its spaces as they are."""
    if text.isascii():
        return _without_bytes(text, _CONTROLS)
    if not holds_invisible_characters(text):
        return text
    return _BLANK_RUN.sub(_one_space, _UNSEEN_OR_KEPT.sub(_kept, text))


def holds_invisible_characters(text: str) -> bool:
    """Whether a text has any character beyond ASCII that shows nothing or is a rare space."""
    return not text.isascii() and _DOUBTFUL.search(_without_bytes(text, _USUAL)) is not None


def blank_messages(text: str) -> list[str]:
    """Return the runs of blanks that are of several kinds, as those of ordinary text are not."""
    return [found[0] for found in _BLANK_RUN.finditer(text) if len(set(found[0])) > 1]


def _one_space(found: re.Match[str]) -> str:
    return " " if len(set(found[0])) > 1 else found[0]


def _kept(found: re.Match[str]) -> str:
    return found[0] if found["kept"] is not None else ""


def _without_bytes(text: str, unwanted: bytes) -> str:
    """Return a text without some characters of ASCII, each of which is one byte in UTF-8."""
    kept = text.encode("utf-8", "surrogatepass").translate(None, unwanted)
    return kept.decode("utf-8", "surrogatepass")


# Of what nobody sees, that which has no count of its own: directions, selectors and tags have.
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2064"
    "\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_SELECTOR = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]")

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f")
_TAG = re.compile("[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+")

_TELEPHONE = re.compile("\u202d[0-9+()./\u00a0 -]{1,40}\u202c")
_OVERRIDE = re.compile("[\u202d\u202e]+")
_RIGHT_TO_LEFT_BEGINS = re.compile("[\u202b\u2067]+")

_ZERO_WIDTH_RUN = re.compile(f"[{_ZERO_WIDTH}]{{4,}}")
_PADDING_CHARS = 8
# A word of which every letter is followed by one; breaks between the parts of a name are rarer.
_ZERO_WIDTH_WORD = re.compile(f"(?:[A-Za-z][{_ZERO_WIDTH}]{{1,3}}(?![{_ZERO_WIDTH}])){{4,}}")

_SELECTOR_RUN = re.compile(f"[{_SELECTOR}]{{3,}}")
_SELECTOR_AFTER_LETTER = re.compile(f"(?<=[A-Za-z])[{_SELECTOR}](?![{_SELECTOR}])")
_MISPLACED_SELECTOR = re.compile(
    f"(?<![{_IDEOGRAPH}{_SELECTOR}])[\U000e0100-\U000e01ef](?![{_SELECTOR}])"
)


def character_warnings(text: str) -> tuple[str, ...]:
    """Return what to tell of a page with this text: nothing, or one sentence with the counts."""
    if not holds_invisible_characters(text):
        return ()
    counts = {
        "tag characters": _count_tags(text),
        "bidi overrides": _count_overrides(text),
        "zero-width characters in runs": _count_zero_width(text),
        "variation selectors without use": _count_selectors(text),
        "blanks of several kinds in runs": sum(map(len, blank_messages(text))),
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    if not told:
        return ()
    return (
        f"The page holds characters that can hide a message or change the order of what is shown: "
        f"{told}. Be wary of what it says.",
    )


def _count_tags(text: str) -> int:
    return _count(_TAG, _FLAG.sub("", text))


def _count_overrides(text: str) -> int:
    overrides = _count(_OVERRIDE, _TELEPHONE.sub("", text))
    # Text that runs to the left needs these beginnings; where there is none, nothing else does.
    if _RIGHT_TO_LEFT.search(text) is None:
        overrides += _count(_RIGHT_TO_LEFT_BEGINS, text)
    return overrides


def _count_zero_width(text: str) -> int:
    runs = (found[0] for found in _ZERO_WIDTH_RUN.finditer(text))
    # Editors pad with a few of a kind; a message needs two kinds, or many.
    hiding = sum(len(run) for run in runs if len(run) >= _PADDING_CHARS or len(set(run)) > 1)
    words = (found[0] for found in _ZERO_WIDTH_WORD.finditer(text))
    return hiding + sum(len(word) - sum(map(str.isalpha, word)) for word in words)


def _count_selectors(text: str) -> int:
    alone = set(_places(_SELECTOR_AFTER_LETTER, text)) | set(_places(_MISPLACED_SELECTOR, text))
    return _count(_SELECTOR_RUN, text) + len(alone)


def _places(pattern: re.Pattern[str], text: str) -> list[int]:
    return [found.start() for found in pattern.finditer(text)]


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(found.end() - found.start() for found in pattern.finditer(text))
