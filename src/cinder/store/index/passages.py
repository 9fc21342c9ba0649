"""Passages: the part of a page's text that tells best why it was found."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from cinder.store.index.queries import Phrase
from cinder.store.index.words import is_unspaced

PASSAGE_CHARS = 300
# A passage begins with a sentence that begins this near.
_REACH = 80
# Places that are weighed; a text full of the words has its best part among the first.
_MAX_PLACES = 2_000

_ENDING = re.compile(r"(?:ational|ization|ingly|edly|ness|ment|tion|ing|ies|ied|ed|es|ly|s|e|y)$")
_SENTENCE = re.compile(r"[.!?。！？]\s+|\n")  # noqa: RUF001 - ends of sentences in other scripts
_SPACES = re.compile(r"\s+")


def find_passage(text: str, phrases: Sequence[Phrase]) -> str:
    """Return about 300 characters of a text that have the most of what is looked for.

    Where a text has none of it, its beginning.
    """
    places = _places(text, phrases)
    start = _sentence_start(text, _best_start(places)) if places else 0
    return _cut(text, start)


def _places(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, str]]:
    """Return where roots of the words stand, in order."""
    roots = {_root(word) for phrase in phrases for word in phrase}
    # Faster than to ignore the case; a few letters are longer in lower case, and stay.
    lower = text.lower()
    searched = lower if len(lower) == len(text) else text
    # Where one root begins with another, the longer one stands.
    places = {
        place: root
        for root in sorted(roots, key=lambda root: (len(root), root))
        for place in islice(_starts(searched, root), _MAX_PLACES)
    }
    return sorted(places.items())[:_MAX_PLACES]


def _starts(text: str, root: str) -> Iterator[int]:
    """Yield where words begin that begin with a root; one of an unspaced script does anywhere.

    To look for one root after another is faster than by a regular expression for all.
    """
    anywhere, place = is_unspaced(root), text.find(root)
    while place >= 0:
        before = text[place - 1] if place else " "
        if anywhere or not (before.isalnum() or before == "_"):
            yield place
        place = text.find(root, place + 1)


@lru_cache(maxsize=1_000)
def _root(word: str) -> str:
    """Return what a word shares with its other forms, more or less."""
    shorter = _ENDING.sub("", word)
    return shorter if len(shorter) >= 3 else word


def _best_start(places: list[tuple[int, str]]) -> int:
    """Return where the stretch begins that has the most words, different ones above all."""
    inside: Counter[str] = Counter()
    best, best_start, first, kinds = 0.0, places[0][0], 0, 0
    for last, (start, root) in enumerate(places):
        kinds += not inside[root]
        inside[root] += 1
        while start - places[first][0] > PASSAGE_CHARS - _REACH:
            inside[places[first][1]] -= 1
            kinds -= not inside[places[first][1]]
            first += 1
        worth = kinds + 0.1 * min(last - first, 9)
        if worth > best:
            best, best_start = worth, places[first][0]
    return best_start


def _sentence_start(text: str, place: int) -> int:
    """Return where a sentence before a place begins, or else a word."""
    earliest = max(0, place - _REACH)
    if earliest == 0:
        return 0
    ends = [match.end() for match in _SENTENCE.finditer(text, earliest, place)]
    if ends:
        return ends[-1]
    space = text.find(" ", earliest, place)
    return place if space < 0 else space + 1


def _cut(text: str, start: int) -> str:
    piece = text[start : start + PASSAGE_CHARS]
    if start + PASSAGE_CHARS < len(text):
        space = piece.rfind(" ")
        piece = piece[:space] if space > PASSAGE_CHARS // 2 else piece
    return _SPACES.sub(" ", piece).strip()
