"""Lexemes: a page's words under their stems, with their places, as PostgreSQL writes a tsvector.

They are made here rather than by `to_tsvector`, whose parser looks for hosts, paths and tags in
what is long cut into words, and takes longer than all else that a page costs the database. The
stems are its own all the same: a query's are, too.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import TypeAlias

from cinder.store.index.texts import PageText
from cinder.store.index.words import fold, split_words
from cinder.store.joining import Stage
from cinder.store.procedure import Arguments, Procedure, Row, Statement

# The last place that a tsvector has; what stands behind it is there, too.
_LAST_PLACE = 16_383
# PostgreSQL refuses a word of 2,047 bytes, and nobody looks for one.
_MAX_WORD_CHARS = 500
# Stems that are remembered. Longer words are hashes and the like, which hardly come twice.
_MAX_KNOWN = 50_000
_MAX_KNOWN_CHARS = 40
_TITLE_WEIGHT = "A"

_STEM = """
SELECT word, COALESCE((ts_lexize('webhook.cinder_stem', word))[1], word) AS stem
  FROM unnest(CAST($1 AS TEXT[])) AS word
"""

# Each word, and the places where it stands as they are written.
Places: TypeAlias = Mapping[str, Sequence[str]]


def find_places(page: PageText) -> Places:
    """Return where the words of a page stand, those of its title first."""
    title, text = split_words(fold(page.title)), split_words(fold(page.text))
    places: defaultdict[str, list[str]] = defaultdict(list)
    numbers = chain(_numbers(), repeat(str(_LAST_PLACE)))
    # The words come first: what runs out must not take a number along.
    for word, number in zip(title, numbers, strict=False):
        places[word].append(number + _TITLE_WEIGHT)
    for word, number in zip(text, numbers, strict=False):
        places[word].append(number)
    return {word: where for word, where in places.items() if len(word) <= _MAX_WORD_CHARS}


def write_lexemes(places: Places, stems: Mapping[str, str]) -> str:
    """Return words as a tsvector; words are letters and digits alone, so that none ends a quote."""
    return " ".join(f"'{stems[word]}':{','.join(where)}" for word, where in places.items())


class Stems:
    """The stems of words, for which the database is asked once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def find(self, words: Collection[str]) -> Procedure[Mapping[str, str]]:
        """Return the stems of these words."""
        if len(self._known) > _MAX_KNOWN:
            self._known = {}  # another, since others may be about to read this one
        known = self._known
        unknown = [word for word in words if word not in known]
        rows = (yield _LOOKUP.find(unknown)) if unknown else ()
        found = {row["word"]: row["stem"] for row in rows}
        known.update((w, stem) for w, stem in found.items() if len(w) <= _MAX_KNOWN_CHARS)
        return {word: found[word] if word in found else known[word] for word in words}


class _StemLookup:
    """Asks for the stems of the words of several pages at once."""

    stage = Stage.FIND_STEMS

    def find(self, words: Sequence[str]) -> Statement:
        """Return what asks for the stems of words."""
        return Statement(_STEM, (words,), self)

    def join(self, arguments: Sequence[Arguments]) -> Procedure[list[Sequence[Row]]]:
        """Ask for all; each gets the others' as well."""
        words = dict.fromkeys(chain.from_iterable(words for (words,) in arguments))
        rows = yield Statement(_STEM, (list(words),))
        return [rows] * len(arguments)


_LOOKUP = _StemLookup()


@cache
def _numbers() -> tuple[str, ...]:
    return tuple(map(str, range(1, _LAST_PLACE)))
