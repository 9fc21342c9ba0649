"""Labels: what may be one, and the labelled values that stand in a line of text."""

import re
from collections.abc import Iterator
from itertools import pairwise

MAX_LABEL_CHARS = 48
_MAX_LABEL_WORDS = 6
_MAX_LINE_CHARS = 2_000
_PARTS = re.compile(r"\s[|•·▪]\s")
_COLON = re.compile(r"\s?[:\uff1a](?=\s|$)\s?")
_DASH = re.compile(r"\s[-\u2013\u2014]\s")
# Another label in the same line, where pages put several into one: `SKU: A4 Category: Cups`.
_NEXT_LABEL = re.compile(r"(?<=[^\s:]\s)[A-Z][a-z]{2,20}s?(?=:\s)")
_ENDINGS = " :\uff1a-\u2013\u2014"
_MAX_PARTS = 20


def is_label(text: str) -> bool:
    """Whether a text is short enough, and like enough to words, to name something."""
    text = without_colon(text)
    return (
        0 < len(text) <= MAX_LABEL_CHARS
        and len(text.split()) <= _MAX_LABEL_WORDS
        and any(character.isalpha() for character in text)
        and not text.endswith((".", "!", "?", ","))
        and "@" not in text
    )


def without_colon(label: str) -> str:
    """Return a label without what leads over to its value."""
    return label.strip().rstrip(_ENDINGS)


def split_label(line: str) -> tuple[str, str] | None:
    """Return label and value of a line that says `Label: value`."""
    line = line[:_MAX_LINE_CHARS]
    if (colon := _COLON.search(line[: MAX_LABEL_CHARS + 4])) is None:
        return None
    label, value = line[: colon.start()].strip("-\u2013\u2014\u2022* "), line[colon.end() :].strip()
    return (label, value) if is_label(label) and value else None


def labelled_parts(line: str) -> Iterator[tuple[str, str]]:
    """Yield the labelled values of a line, which may have several, with or without bars between."""
    parts = _PARTS.split(line[:_MAX_LINE_CHARS])[:_MAX_PARTS]
    for part in parts:
        if found := split_label(part):
            label, value = found
            starts = [each.start() for each in _NEXT_LABEL.finditer(value)][:_MAX_PARTS]
            yield label, value[: starts[0]].strip() if starts else value
            for start, end in pairwise((*starts, len(value))):
                if following := split_label(value[start:end]):
                    yield following


def split_dash(line: str) -> tuple[str, str] | None:
    """Return label and value of a line that says `Label - value`."""
    if (dash := _DASH.search(line[: MAX_LABEL_CHARS + 4])) is None:
        return None
    label, value = line[: dash.start()].strip(), line[dash.end() :].strip()
    return (label, value) if is_label(label) and value else None
