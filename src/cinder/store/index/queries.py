"""Queries: what a person typed, as words, phrases and what to leave out, and nothing else of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from cinder.store.index.words import STOP_WORDS, is_unspaced, split_words

MAX_QUERY_CHARS = 2_000
MAX_TERMS = 32
MAX_PHRASES = 16

# Words that follow each other; a single word is a phrase of one.
Phrase: TypeAlias = tuple[str, ...]

# A phrase in quotes, or what stands between spaces; a minus before either leaves it out.
_CHUNK = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for."""

    terms: tuple[Phrase, ...] = ()
    """Any of them; the more, the better."""
    phrases: tuple[Phrase, ...] = ()
    """All of them."""
    excluded: tuple[Phrase, ...] = ()
    """None of them."""

    @property
    def scored(self) -> tuple[Phrase, ...]:
        """What pages are ranked by."""
        return (*self.phrases, *self.terms)


def parse_query(text: str, required: Sequence[str] = ()) -> Wanted:
    """Return what a query asks for; phrases that a page must have besides are required."""
    chunks = list(_chunks(text[:MAX_QUERY_CHARS]))
    bare = [words for kind, words in chunks if kind == "bare"]
    quoted = [words for kind, words in chunks if kind == "quoted"]
    excluded = [words for kind, words in chunks if kind == "excluded"]
    demanded = [tuple(split_words(phrase[:MAX_QUERY_CHARS])) for phrase in required]
    return Wanted(
        terms=_terms([word for words in bare for word in words]),
        phrases=_distinct([*quoted, *demanded], MAX_PHRASES),
        excluded=_distinct(excluded, MAX_PHRASES),
    )


def _chunks(text: str) -> Iterator[tuple[str, Phrase]]:
    for chunk in _CHUNK.finditer(text):
        words = tuple(split_words(chunk["quoted"] or chunk["bare"] or ""))
        if words:
            kind = "bare" if chunk["quoted"] is None else "quoted"
            yield "excluded" if chunk["minus"] else kind, words


def _terms(words: list[str]) -> tuple[Phrase, ...]:
    """Return the words that say something; letters of an unspaced script go in pairs."""
    telling = [word for word in words if word not in STOP_WORDS] or words
    single = [(word,) for word in telling if not is_unspaced(word)]
    pairs = [pair for pair in pairwise(words) if is_unspaced(pair[0]) and is_unspaced(pair[1])]
    lone = [(word,) for word in telling if is_unspaced(word)] if not pairs else []
    return _distinct([*single, *pairs, *lone], MAX_TERMS)


def _distinct(phrases: Sequence[Phrase], limit: int) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:limit]
