"""Choosing: which of many pages are ranked, so that the best are among them and few others."""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from cinder.store.index.full_text import Choice
from cinder.store.index.queries import Phrase

# Which share of what the terms say, together, the rarer of them have.
_RARER = 0.6
# Of the pages that may be chosen, those that rare terms may bring by themselves in any case.
_ALONE = 0.25
# And those of a narrow choice.
_NARROW = 0.2


class Term(NamedTuple):
    """What is known of a term."""

    phrase: Phrase
    pages: int
    """How many have it."""
    weight: float
    """How much it says."""


def choose(terms: Sequence[Term], pages: int, most: int) -> Choice:
    """Return a choice of about so many pages at most, the best among them if it can be.

    Those rank best that have many of the terms, and hardly one of them has only the rarer ones,
    or only the others. A term that no page had yet may be in one by now, and brings it by itself.
    """
    unseen = [term for term in terms if not term.pages]
    seen = sorted((term for term in terms if term.pages), key=lambda term: term.pages)
    split = _split(seen)
    while split > 1 and _expect(seen, split, pages) > most:
        split -= 1
    expected = _expect(seen, split, pages)
    candidates = [*unseen, *seen] if split < len(seen) else unseen
    return Choice(
        alone=tuple(_rarest(candidates, max(most - expected, most * _ALONE))),
        rarer=_phrases(seen[:split]),
        commoner=_phrases(seen[split:]),
        expected=expected,
        share=most * _NARROW / pages,
    )


def _split(terms: Sequence[Term]) -> int:
    """Return how many terms, from the first on, say most of what all of them say."""
    enough = _RARER * sum(term.weight for term in terms)
    said = accumulate((term.weight for term in terms), initial=0.0)
    return sum(before < enough for before in list(said)[:-1])


def _expect(terms: Sequence[Term], split: int, pages: int) -> float:
    """Return how many pages have one of the terms before the split and one after, about."""
    either = _share(terms[:split], pages) * pages
    return either * _share(terms[split:], pages) if split < len(terms) else either


def _share(terms: Sequence[Term], pages: int) -> float:
    """Return which share of the pages has one of some terms, if none goes with another."""
    return 1 - math.prod(max(0.0, 1 - term.pages / pages) for term in terms)


def _rarest(terms: Sequence[Term], room: float) -> Iterator[Phrase]:
    """Yield as many terms, from the first on, as bring few enough pages."""
    for term in terms:
        room -= term.pages
        if room < 0:
            return
        yield term.phrase


def _phrases(terms: Sequence[Term]) -> tuple[Phrase, ...]:
    return tuple(term.phrase for term in terms)
