"""How many pages have a term, remembered for a while: what a search costs and a term says."""

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cinder.store.index.choosing import Term, choose
from cinder.store.index.full_text import FullText, RankingPlan
from cinder.store.index.queries import Phrase, Wanted
from cinder.store.procedure import Procedure, Statement

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

    def plan(self, wanted: Wanted, now: datetime) -> Procedure[RankingPlan]:
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

    def _count_pages(self, now: datetime) -> Procedure[int]:
        known = self._pages
        if known is None or now - known.at >= _PAGES_KEPT_FOR:
            pages = int((yield Statement(_COUNT_PAGES))[0]["n"])
            known = self._pages = _Count(pages, pages, now)
        return known.pages

    def _count(self, phrase: Phrase, pages: int, now: datetime) -> Procedure[int]:
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
