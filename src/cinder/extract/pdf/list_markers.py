"""The marks that entries of a list begin with: bullets, numbers, letters."""

import re
from dataclasses import dataclass

from cinder.extract.pdf.layout import Word

_BULLETS = frozenset("•◦▪▫‣●○■□►▶✓✔➢➤·∙*-\u2013\u2014\u2043o")
_NUMBER = re.compile(r"\(?(\d{1,3})[.)]")
_LETTER = re.compile(r"\(?[a-zA-Z][.)]|\([ivx]{2,4}\)")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a line begins with, and the words after it."""

    left: float
    words: tuple[Word, ...]
    number: int | None = None
    is_lettered: bool = False


def read_marker(words: tuple[Word, ...]) -> Marker | None:
    """Return the marker that a line begins with; None where it is a line like any other."""
    if len(words) < 2:
        return None
    first = words[0]
    if first.text in _BULLETS:
        return Marker(first.box.left, words[1:])
    if found := _NUMBER.fullmatch(first.text):
        return Marker(first.box.left, words[1:], number=int(found[1]))
    if _LETTER.fullmatch(first.text):
        # There are no lettered lists in markdown: the letter stays with its text.
        return Marker(first.box.left, words, is_lettered=True)
    return None
