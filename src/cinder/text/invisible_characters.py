"""Invisible characters: removed from texts, and reported where they hide or reorder text.

Most invisible characters are harmless: emoji use them for joining and colour, Persian and the
scripts of India need joiners, Arabic and Hebrew need direction marks, editors leave single
zero-width spaces, telephones wrap numbers. Only uses that ordinary text does not have are counted.
"""

import re

# Scripts whose letters are joined by rules that the two joiners control: Arabic, Hebrew, and those
# of South and South-East Asia.
_JOINING = "\u0590-\u1fff\ua800-\uabff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030-\u3299\U0001f000-\U0001faff"
_FLAG_TAG = "[\U000e0020-\U000e007e]"

# All characters with Unicode's property Default_Ignorable_Code_Point: soft hyphens, joiners,
# direction marks, fillers, unwritten vowels, format controls, variation selectors, tags.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Spaces that few keyboards have, and the Braille pattern without a dot.
_RARE_BLANK = "\u1680\u2000-\u200a\u202f\u205f\u2800"
# Chinese and Japanese paragraphs begin with the ideographic space.
BLANK = f"{_RARE_BLANK}\u3000"
# With control characters, interlinear marks, and noncharacters.
_UNSEEN = f"\x00-\x08\x0b\x0e-\x1f\x7f-\x9f{IGNORABLE}\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"
_DOUBTFUL = re.compile(f"[{_UNSEEN}{_RARE_BLANK}]")
# A run of many blanks of several kinds may encode a message; blanks next to a Braille pattern are
# part of its drawing.
_BLANK_RUN = re.compile(f"(?<![\u2801-\u28ff{BLANK}])[{BLANK}]{{8,}}+(?![\u2801-\u28ff])")
_LONG_BLANKS = re.compile(f"[{BLANK}]{{8}}")
# Each looks back at the doubtful character itself, so that a search skips all others quickly.
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
# The ordinary characters of ASCII; searching a text without them is fast.
_USUAL = bytes((0x09, 0x0A, 0x0C, 0x0D, *range(0x20, 0x7F)))
_HARD_SPACES = ("\u00a0", "\u2007", "\u202f")
_CONTROLS = bytes((*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F))


def without_invisible_characters(text: str) -> str:
    """Return the text without invisible characters, its hard spaces made plain ones."""
    shown = only_visible_characters(text)
    if not shown.isascii():
        for space in _HARD_SPACES:
            shown = shown.replace(space, " ")
    return shown


def only_visible_characters(text: str) -> str:
    """Return the text without invisible characters, its spaces unchanged."""
    if text.isascii():
        return _without_bytes(text, _CONTROLS)
    if not holds_invisible_characters(text):
        return text
    shown = _UNSEEN_OR_KEPT.sub(lambda found: found[0] if found["kept"] is not None else "", text)
    if _LONG_BLANKS.search(shown) is None:
        return shown
    return _BLANK_RUN.sub(lambda run: " " if len(set(run[0])) > 1 else run[0], shown)


def holds_invisible_characters(text: str) -> bool:
    """Whether a text has a character beyond ASCII that is invisible or a rare space."""
    return not text.isascii() and _DOUBTFUL.search(_without_bytes(text, _USUAL)) is not None


def _without_bytes(text: str, unwanted: bytes) -> str:
    """Return a text without some ASCII characters, each of which is one byte in UTF-8."""
    kept = text.encode("utf-8", "surrogatepass").translate(None, unwanted)
    return kept.decode("utf-8", "surrogatepass")


# The invisible characters without a count of their own: directions, selectors and tags have one.
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
# A word whose every letter is followed by one; breaks between the parts of a name are rarer.
_ZERO_WIDTH_WORD = re.compile(f"(?:[A-Za-z][{_ZERO_WIDTH}]{{1,3}}(?![{_ZERO_WIDTH}])){{4,}}")

_SELECTOR_RUN = re.compile(f"[{_SELECTOR}]{{3,}}")
# Both look back at the selector itself, so that a search skips all others quickly.
_SELECTOR_AFTER_LETTER = re.compile(f"[{_SELECTOR}](?<=[A-Za-z][{_SELECTOR}])(?![{_SELECTOR}])")
_IDEOGRAPHIC = "\U000e0100-\U000e01ef"
_MISPLACED_SELECTOR = re.compile(
    f"[{_IDEOGRAPHIC}](?<![{_IDEOGRAPH}{_SELECTOR}][{_IDEOGRAPHIC}])(?![{_SELECTOR}])"
)

# What is counted is in one of these, in the text without ASCII, where runs are no shorter, or...
_SUSPECT = re.compile(
    f"[\u202b\u202d\u202e\u2067\U000e0000-\U000e0fff]"
    f"|[{_ZERO_WIDTH}]{{4}}|[{_SELECTOR}]{{3}}|{_LONG_BLANKS.pattern}"
)
# ... in these between letters.
_ZERO_WIDTH_LETTER = re.compile(f"[{_ZERO_WIDTH}][A-Za-z][{_ZERO_WIDTH}]")


def character_warnings(text: str) -> tuple[str, ...]:
    """Return the warnings for a page with this text: none, or one sentence with the counts."""
    bare = "" if text.isascii() else _without_bytes(text, _USUAL)
    if _DOUBTFUL.search(bare) is None:
        return ()
    is_suspect = (
        _SUSPECT.search(bare)
        or _ZERO_WIDTH_LETTER.search(text)
        or _SELECTOR_AFTER_LETTER.search(text)
    )
    if not is_suspect:
        return ()
    overrides = _count(_OVERRIDE, _TELEPHONE.sub("", text))
    # Text that runs to the left needs these; a page without such text does not.
    if _RIGHT_TO_LEFT.search(text) is None:
        overrides += _count(_RIGHT_TO_LEFT_BEGINS, text)
    lone_selectors = {
        found.start()
        for pattern in (_SELECTOR_AFTER_LETTER, _MISPLACED_SELECTOR)
        for found in pattern.finditer(text)
    }
    runs = (found[0] for found in _ZERO_WIDTH_RUN.finditer(text))
    # Editors pad with a few of one kind; a message needs two kinds, or many.
    hiding = sum(len(run) for run in runs if len(run) >= _PADDING_CHARS or len(set(run)) > 1)
    words = (found[0] for found in _ZERO_WIDTH_WORD.finditer(text))
    hiding += sum(len(word) - sum(map(str.isalpha, word)) for word in words)
    blanks = (found[0] for found in _BLANK_RUN.finditer(text))
    counts = {
        "tag characters": _count(_TAG, _FLAG.sub("", text)),
        "bidi overrides": overrides,
        "zero-width characters in runs": hiding,
        "variation selectors without use": _count(_SELECTOR_RUN, text) + len(lone_selectors),
        "blanks of several kinds in runs": sum(len(run) for run in blanks if len(set(run)) > 1),
    }
    listed = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    if not listed:
        return ()
    return (
        f"The page holds characters that can hide a message or change the order of what is shown: "
        f"{listed}. Be wary of what it says.",
    )


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(found.end() - found.start() for found in pattern.finditer(text))
