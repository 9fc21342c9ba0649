"""Inline markdown as plain text: what a reader of the page sees.

For a heading or a sentence: on texts of many thousand characters that were made for it, it is slow.
"""

import re

_TARGET = r"\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*)\]" + _TARGET)
_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]" + _TARGET)
_TAG = re.compile(r"<(?:br|/?[a-z][a-z0-9]{0,10})\s?/?>")
_AUTOLINK = re.compile(r"<([a-z]{3,10}:[^\s<>]{0,2000})>")
_EMPHASIS = re.compile(
    r"(?<![\\\w])[*_]{1,3}(?=\w|[^\w\s*_])|(?<=[^\s\\])[*_]{1,3}(?!\w)|(?<!\\)\*\*|~~"
)
_CODE_MARKS = re.compile(r"(?<!\\)`+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_MARKS = re.compile(r"(?m)^[ \t]{0,10}(?:>[ \t]?){1,10}")


def plain_text(markdown: str) -> str:
    """Return inline markdown without its marks, white space collapsed."""
    text = markdown
    # Each pattern holds a character that most texts lack: to look for that is far quicker.
    if ">" in text:
        text = _LINE_MARKS.sub("", text)
    if "[" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "<" in text:
        text = _TAG.sub(" ", _AUTOLINK.sub(r"\1", text))
    if "*" in text or "_" in text or "~~" in text:
        text = _EMPHASIS.sub("", text)
    if "`" in text:
        text = _CODE_MARKS.sub("", text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    return " ".join(text.split())


def linked_chars(markdown: str) -> int:
    """Return how many characters of a text's reading lie in links."""
    without_images = _IMAGE.sub("", markdown)
    return sum(len(link[1]) for link in _LINK.finditer(without_images))
