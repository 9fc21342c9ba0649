"""The text of markdown without its markup, as the local index takes it."""

import re
from hashlib import blake2b

MAX_TEXT_CHARS = 100_000
"""The rest of a text is not indexed, so that no page makes the index slow or too large."""


# Markdown shrinks when its markup and URLs are removed.
_MAX_MARKDOWN_CHARS = 3 * MAX_TEXT_CHARS


_ADDRESS = re.compile(r"\]\((?:[^()\n]|\([^()\n]*\)){0,2000}\)")
# Each begins with a line break, which Python finds fast.
_LINE_MARK = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-*+][ \t]|```.*|[|:\- \t]{3,}(?=\n))")
_LINES = re.compile(r"\n\s*")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
# What `str.split` takes for a gap.
_ASCII_GAPS = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x1f", " "))
_MARKS = ("![", "[", "]", "*", "`", "__", "~~")


def strip_markdown(markdown: str) -> str:
    """Return the text of markdown, without most of its markup."""
    text = "\n" + markdown[:_MAX_MARKDOWN_CHARS]
    text = _LINE_MARK.sub("\n", _ADDRESS.sub("", text))
    text = _ESCAPE.sub("", text) if "\\" in text else text
    for mark in _MARKS:
        text = text.replace(mark, "")
    text = text.replace("|", " ").replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return _LINES.sub("\n", text.replace(" \n", "\n")).strip()[:MAX_TEXT_CHARS]


def hash_words(text: str) -> int:
    """Return a hash of the words of a text, whatever their case and the gaps between them."""
    digest = blake2b(_join_words(text.lower()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _join_words(text: str) -> str:
    """Return the words of a text with one space between them."""
    if not text.isascii():
        return " ".join(text.split())
    # Where nearly all gaps are one character, this takes a third of the time.
    text = text.translate(_ASCII_GAPS)
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")
