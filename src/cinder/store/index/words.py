"""Words: how a text falls into those that are looked for, in every script."""

import re
import unicodedata

# The letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e01-\u0e2e\u0e81-\u0eae\u1000-\u102a\u1780-\u17b3\u3041-\u3096\u30a1-\u30fa"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_SEAM = re.compile(rf"(?<=\w)(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])(?=\w)")
_GAP = re.compile(f"(?<=[{_UNSPACED}]) (?=[{_UNSPACED}])")
_WORD = re.compile(r"[^\W_]+")
# A regular expression takes several times as long.
_ASCII_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_MARK = re.compile("[\u0300-\u036f]")

STOP_WORDS = frozenset(
    (
        *("a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and"),
        *("any", "are", "as", "at", "be", "because", "been", "before", "being", "below"),
        *("between", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "down"),
        *("during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "he"),
        *("her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its"),
        *("itself", "just", "may", "me", "more", "most", "must", "my", "no", "nor", "not", "of"),
        *("off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "same"),
        *("shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them"),
        *("then", "there", "these", "they", "this", "those", "through", "to", "too", "under"),
        *("until", "up", "upon", "very", "was", "we", "were", "what", "when", "where", "which"),
        *("while", "who", "whom", "why", "will", "with", "would", "you", "your"),
    )
)
"""What says nothing of what a page is about."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; a letter of an unspaced script is one."""
    if text.isascii():
        return text.lower().translate(_ASCII_GAPS).split()
    return _WORD.findall(space_out(text).lower())


def space_out(text: str) -> str:
    """Return a text in which each letter of an unspaced script stands by itself."""
    if text.isascii() or _LETTER.search(text) is None:
        return text
    return _SEAM.sub(" ", text)


def close_up(text: str) -> str:
    """Return a text that was spaced out as it was, but for spaces between such letters."""
    return text if text.isascii() else _GAP.sub("", text)


def is_unspaced(word: str) -> bool:
    """Whether a word is a letter of an unspaced script."""
    return _LETTER.fullmatch(word) is not None


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    apart = _MARK.sub("", unicodedata.normalize("NFKD", text.lower()))
    return unicodedata.normalize("NFKC", apart)
