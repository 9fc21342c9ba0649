"""Which pages are ranked for a query, by the rarity of its terms and by embeddings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from cinder.store.base import Embedder
from cinder.store.database import Query, Statement
from cinder.store.index.full_text import Choice, FullText, RankingPlan
from cinder.store.index.terms import ParsedQuery, Phrase

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


MAX_CHOSEN = 2_500
"""About how many pages are ranked for a query, where more have its terms."""

_PAGES_KEPT_FOR = timedelta(seconds=60)
# Which share of the pages has a term changes little, unless they become many more.
_TERM_KEPT_FOR = timedelta(minutes=10)
_GROWTH = 1.25
_MAX_KEPT = 10_000
# Neither counting nor ranking goes further: a term that so many pages have, or half of them,
# tells them hardly apart, and ranking by it costs the most.
_MOST = 10_000

_COUNT_PAGES = "SELECT count(*) AS n FROM webhook.indexed_pages"


@dataclass(frozen=True, slots=True)
class _Count:
    count: int
    pages: int
    """How many there were in all."""
    at: datetime


class TermCounts:
    """Counts terms, and plans by that which pages are ranked.

    What is remembered may be some minutes old: it tells how to rank, never which terms there are.
    """

    def __init__(self, full_text: FullText, *, max_chosen: int = MAX_CHOSEN) -> None:
        self._full_text = full_text
        self._max_chosen = max_chosen
        self._pages: _Count | None = None
        self._kept: dict[Phrase, _Count] = {}

    def plan(self, wanted: ParsedQuery, now: datetime) -> Query[RankingPlan]:
        """Return how to choose and rank the pages for what is wanted."""
        pages = yield from self._count_pages(now)
        is_large = pages > self._max_chosen and not wanted.phrases
        if not is_large and not self._full_text.needs_weights:
            return RankingPlan(wanted=wanted)
        counts = {}
        for phrase in wanted.scored:
            counts[phrase] = yield from self._count(phrase, pages, now)
        weights = {phrase: _rarity(count, pages) for phrase, count in counts.items()}
        if not is_large:
            return RankingPlan(wanted=wanted, weights=weights)
        telling = tuple(t for t in wanted.terms if counts[t] < min(pages / 2, _MOST))
        wanted = replace(wanted, terms=telling or wanted.terms)
        terms = [Term(term, counts[term], weights[term]) for term in wanted.terms]
        choice = choose(terms, pages, self._max_chosen)
        if choice.expected > self._max_chosen:
            choice = replace(choice, most=_MOST)
        return RankingPlan(wanted=wanted, choice=choice, weights=weights)

    def _count_pages(self, now: datetime) -> Query[int]:
        known = self._pages
        if known is None or now - known.at >= _PAGES_KEPT_FOR:
            pages = int((yield Statement(_COUNT_PAGES))[0]["n"])
            known = self._pages = _Count(pages, pages, now)
        return known.pages

    def _count(self, phrase: Phrase, pages: int, now: datetime) -> Query[int]:
        known = self._kept.get(phrase)
        if known is None or not _holds(known, pages, now):
            rows = yield self._full_text.count(phrase, _MOST)
            known = _Count(int(rows[0]["n"]), pages, now)
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            self._kept[phrase] = known
        return round(known.count * pages / known.pages) if known.pages else known.count


def _holds(known: _Count, pages: int, now: datetime) -> bool:
    return now - known.at < _TERM_KEPT_FOR and pages <= _GROWTH * known.pages


def _rarity(count: int, pages: int) -> float:
    return math.log(1 + (max(pages, count) - count + 0.5) / (count + 0.5))


MAX_COMPARED = 200
"""Of how many pages, the best by their words, the meaning counts; it moves none of the others."""

# How much meaning counts beside words; anything from a third to a half does about as well.
_MEANING = 0.4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page that matches, and how well."""

    id: int
    score: float
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a query is about, and who compares pages with it."""

    vector: bytes
    embedder: Embedder


def order_by_meaning(
    ranked: list[Ranked], meaning: Meaning | None, count: int = MAX_COMPARED
) -> list[Ranked]:
    """Return pages that are in order of their words, so many of them in order of both.

    Scores keep their range, so that those of all pages can be compared.
    """
    first, rest = ranked[:count], ranked[count:]
    vectors = [page.vector for page in first if page.vector is not None]
    if meaning is None or not vectors:
        return ranked
    likeness = iter(_spread(meaning.embedder.compare(meaning.vector, vectors)))
    best, worst = first[0].score, first[-1].score
    by_words = _spread([page.score for page in first])
    # A page that entered before there was a model is neither like the query nor unlike it.
    by_meaning = [0.5 if page.vector is None else next(likeness) for page in first]
    moved = [
        replace(page, score=worst + (best - worst) * ((1 - _MEANING) * words + _MEANING * like))
        for page, words, like in zip(first, by_words, by_meaning, strict=True)
    ]
    return [*sorted(moved, key=lambda page: -page.score), *rest]


def _spread(values: Sequence[float]) -> list[float]:
    """Return values moved to between 0 and 1."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]
