"""Tells of characters that hide text from people, or show it in another order than machines read.

Most invisible characters are innocent: emoji are joined and coloured by them, Persian and the
scripts of India need joiners, Arabic and Hebrew need marks of direction, editors leave single
zero-width spaces, telephones wrap numbers. Only what ordinary text does not have is counted.
"""

import re

from cinder.extract.invisible_characters import blank_messages, holds_invisible_characters

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
