"""Chooses the pages to rank by the rarity of a query's terms, and reorders them by meaning."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import NamedTuple, Protocol

from cinder.store.database import Query, Statement
from cinder.store.index.full_text import Choice, FullText, RankingPlan
from cinder.store.index.terms import ParsedQuery, Phrase

# The share of the weight of all terms that the rarer ones have.
_RARER = 0.6
# The share of the pages that rare terms may add by themselves in any case.
_ALONE = 0.25
# The share of the pages in a narrow choice.
_NARROW = 0.2


class Embedder(Protocol):
    """Computes the meaning of a text, as bytes that can be compared. Not for the event loop."""

    def embed(self, title: str, text: str) -> bytes:
        """Return the embedding of a page, or of a query, which has no title."""
        ...

    def compare(self, query: bytes, pages: Sequence[bytes]) -> list[float]:
        """Return the similarity of each page to a query; higher is more similar."""
        ...


class Term(NamedTuple):
    """A term, its frequency and its weight."""

    phrase: Phrase
    pages: int
    """How many pages have it."""
    weight: float
    """Its inverse document frequency."""


def choose(terms: Sequence[Term], pages: int, most: int) -> Choice:
    """Return a choice of about `most` pages, which has the best ones if possible.

    The best pages have many of the terms; hardly any has only the rarer ones, or only the others. A
    term that no page had when it was counted may be in a page by now, so it selects pages by
    itself.
    """
    unseen = [term for term in terms if not term.pages]
    seen = sorted((term for term in terms if term.pages), key=lambda term: term.pages)
    # The first terms that have most of the weight.
    enough = _RARER * sum(term.weight for term in seen)
    sums = accumulate((term.weight for term in seen), initial=0.0)
    split = sum(before < enough for before in list(sums)[:-1])
    while split > 1 and _expect(seen, split, pages) > most:
        split -= 1
    expected = _expect(seen, split, pages)
    candidates = [*unseen, *seen] if split < len(seen) else unseen
    return Choice(
        alone=tuple(_rarest(candidates, max(most - expected, most * _ALONE))),
        rarer=tuple(term.phrase for term in seen[:split]),
        commoner=tuple(term.phrase for term in seen[split:]),
        expected=expected,
        share=most * _NARROW / pages,
    )


def _expect(terms: Sequence[Term], split: int, pages: int) -> float:
    """Estimate how many pages have one of the terms before the split and one after."""
    either = _share(terms[:split], pages) * pages
    return either * _share(terms[split:], pages) if split < len(terms) else either


def _share(terms: Sequence[Term], pages: int) -> float:
    """Return the share of the pages that has one of some terms, if terms are independent."""
    return 1 - math.prod(max(0.0, 1 - term.pages / pages) for term in terms)


def _rarest(terms: Sequence[Term], room: float) -> Iterator[Phrase]:
    """Yield terms, from the first on, as long as their pages fit."""
    for term in terms:
        room -= term.pages
        if room < 0:
            return
        yield term.phrase


MAX_CHOSEN = 2_500
"""About how many pages are ranked for a query, if more have its terms."""

_PAGES_KEPT_FOR = timedelta(seconds=60)
# The share of the pages that has a term changes little, unless the index grows a lot.
_TERM_KEPT_FOR = timedelta(minutes=10)
_GROWTH = 1.25
_MAX_KEPT = 10_000
# Counting and ranking stop here: a term in so many pages, or in half of them, hardly distinguishes
# them, and is the most expensive to rank by.
_MOST = 10_000

_COUNT_PAGES = "SELECT count(*) AS n FROM webhook.indexed_pages"


@dataclass(frozen=True, slots=True)
class _Count:
    count: int
    pages: int
    """How many pages the index had."""
    at: datetime


class TermCounts:
    """Counts the pages with each term, and plans by these counts which pages are ranked.

    The cached counts may be some minutes old. They affect only the order of the results.
    """

    def __init__(self, full_text: FullText, *, max_chosen: int = MAX_CHOSEN) -> None:
        self._full_text = full_text
        self._max_chosen = max_chosen
        self._pages: _Count | None = None
        self._kept: dict[Phrase, _Count] = {}

    def plan(self, query: ParsedQuery, now: datetime) -> Query[RankingPlan]:
        """Return how to choose and rank the pages for a query."""
        if self._pages is None or now - self._pages.at >= _PAGES_KEPT_FOR:
            total = int((yield Statement(_COUNT_PAGES))[0]["n"])
            self._pages = _Count(total, total, now)
        pages = self._pages.pages
        is_large = pages > self._max_chosen and not query.phrases
        if not is_large and not self._full_text.needs_weights:
            return RankingPlan(query=query)
        counts = {}
        for phrase in query.scored:
            counts[phrase] = yield from self._count(phrase, pages, now)
        weights = {
            phrase: math.log(1 + (max(pages, count) - count + 0.5) / (count + 0.5))
            for phrase, count in counts.items()
        }
        if not is_large:
            return RankingPlan(query=query, weights=weights)
        rare = tuple(term for term in query.terms if counts[term] < min(pages / 2, _MOST))
        query = replace(query, terms=rare or query.terms)
        terms = [Term(term, counts[term], weights[term]) for term in query.terms]
        choice = choose(terms, pages, self._max_chosen)
        if choice.expected > self._max_chosen:
            choice = replace(choice, most=_MOST)
        return RankingPlan(query=query, choice=choice, weights=weights)

    def _count(self, phrase: Phrase, pages: int, now: datetime) -> Query[int]:
        known = self._kept.get(phrase)
        if known is None or now - known.at >= _TERM_KEPT_FOR or pages > _GROWTH * known.pages:
            rows = yield self._full_text.count(phrase, _MOST)
            known = _Count(int(rows[0]["n"]), pages, now)
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            self._kept[phrase] = known
        return round(known.count * pages / known.pages) if known.pages else known.count


MAX_COMPARED = 200
"""How many pages, the best by their words, are reordered by meaning."""

# The share of meaning in the score; anything from a third to a half performs about as well.
_MEANING = 0.4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page that matches, and its score."""

    id: int
    score: float
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """The embedding of a query, and the embedder that compares pages with it."""

    vector: bytes
    embedder: Embedder


def order_by_meaning(
    ranked: list[Ranked], meaning: Meaning | None, count: int = MAX_COMPARED
) -> list[Ranked]:
    """Return pages sorted by words, the first `count` of them re-sorted by words and meaning.

    Scores keep their range, so that those of all pages are comparable.
    """
    first, rest = ranked[:count], ranked[count:]
    vectors = [page.vector for page in first if page.vector is not None]
    if meaning is None or not vectors:
        return ranked
    similarity = iter(_spread(meaning.embedder.compare(meaning.vector, vectors)))
    best, worst = first[0].score, first[-1].score
    by_words = _spread([page.score for page in first])
    # A page that was indexed without a model is neither similar to the query nor dissimilar.
    by_meaning = [0.5 if page.vector is None else next(similarity) for page in first]
    moved = [
        replace(page, score=worst + (best - worst) * ((1 - _MEANING) * words + _MEANING * like))
        for page, words, like in zip(first, by_words, by_meaning, strict=True)
    ]
    return [*sorted(moved, key=lambda page: -page.score), *rest]


def _spread(values: Sequence[float]) -> list[float]:
    """Return values scaled to between 0 and 1."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]
