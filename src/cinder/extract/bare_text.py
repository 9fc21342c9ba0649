"""The bare text of HTML that is not to be parsed: its tags taken off, in linear time."""

import re
from html import unescape

# A `<` that begins no tag; NUL stands in for it meanwhile, which no decoded page has.
_STRAY = re.compile(r"<(?!/?[a-zA-Z]|[!?])")
_ATTRIBUTES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?)*+>?"
# What browsers show no text of. One that is never closed takes all the rest, as it does there.
_UNSEEN = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(script|style|title)(?=[\s/>]){_ATTRIBUTES}.*?(?:</\1(?=[\s/>])[^>]*+>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_LINE_TAG = re.compile(
    rf"<(?:br|/?tr|/?li|/?dt|/?dd|/?option)(?=[\s/>]){_ATTRIBUTES}", re.IGNORECASE
)
_CELL_TAG = re.compile(rf"</?(?:td|th)(?=[\s/>]){_ATTRIBUTES}", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|h[1-6]|ul|ol|dl|table|pre|blockquote|section|article|header|footer|main|nav|"
    rf"aside|form|figure|figcaption|hr|title|body|select)(?=[\s/>]){_ATTRIBUTES}",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(rf"<(?:/?[a-zA-Z]|[!?]){_ATTRIBUTES}")
# `unescape` raises on a number of thousands of digits.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")
_SPACES = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_TITLE_CHARS = 5_000


def strip_tags(html: str) -> str:
    """Return the text of a page, its blocks apart; what only styles hide is part of it."""
    text = _UNSEEN.sub(" ", _STRAY.sub("\0", html))
    # What the source breaks into lines is one line to a reader.
    text = text.replace("\r", " ").replace("\n", " ")
    for tag, instead in (
        (_LINE_TAG, "\n"),
        (_BLOCK_TAG, "\n\n"),
        (_CELL_TAG, " "),
        (_OTHER_TAG, ""),
    ):
        text = tag.sub(instead, text)
    text = unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)).replace("\0", "<")
    text = _LINE_END.sub("\n", _SPACES.sub(" ", text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def bare_title(html: str) -> str | None:
    """Return the text of the first `<title>`."""
    start = html.find("<title>")
    if start < 0:
        return None
    title = html[start + len("<title>") : start + _TITLE_CHARS].partition("<")[0]
    return strip_tags(title) or None
