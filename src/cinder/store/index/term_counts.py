"""How many pages have a term, remembered for a while: what a search costs and a term says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cinder.store.index.full_text import FullText, RankingPlan
from cinder.store.index.queries import Phrase, Wanted
from cinder.store.procedure import Procedure, Statement

MAX_CHOSEN = 2_500
"""About how many pages are ranked for a query. Beyond, only those with its rarer terms are."""

_KEPT_FOR = timedelta(seconds=60)
_MAX_KEPT = 10_000
# Neither counting nor ranking goes further: a term that so many pages have, or half of them,
# tells them hardly apart, and ranking by it costs the most.
_MOST = 10_000

_COUNT_PAGES = "SELECT count(*) AS n FROM webhook.indexed_pages"


@dataclass(frozen=True, slots=True)
class _Count:
    pages: int
    until: datetime


class TermCounts:
    """Counts terms, and plans by that which pages are ranked.

    What is remembered may be a minute old: it tells how to rank, never which terms there are.
    """

    def __init__(self, full_text: FullText) -> None:
        self._full_text = full_text
        self._kept: dict[Phrase, _Count] = {}

    def plan(self, wanted: Wanted, now: datetime) -> Procedure[RankingPlan]:
        """Return how to choose and rank the pages for what is wanted."""
        pages = yield from self._count((), Statement(_COUNT_PAGES), now)
        is_large = pages > MAX_CHOSEN and not wanted.phrases
        if not is_large and not self._full_text.needs_weights:
            return RankingPlan(wanted=wanted, choosing=wanted.terms)
        counts = {}
        for phrase in wanted.scored:
            statement = self._full_text.count(phrase, _MOST)
            counts[phrase] = yield from self._count(phrase, statement, now)
        weights = {phrase: _rarity(count, pages) for phrase, count in counts.items()}
        if not is_large:
            return RankingPlan(wanted=wanted, choosing=wanted.terms, weights=weights)
        telling = tuple(t for t in wanted.terms if counts[t] < min(pages / 2, _MOST))
        wanted = replace(wanted, terms=telling or wanted.terms)
        choosing = _rarest(wanted.terms, counts)
        return RankingPlan(wanted=wanted, choosing=choosing, most=_MOST, weights=weights)

    def _count(self, phrase: Phrase, statement: Statement, now: datetime) -> Procedure[int]:
        kept = self._kept.get(phrase)
        if kept is not None and kept.until > now:
            return kept.pages
        rows = yield statement
        pages = int(rows[0]["n"])
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        self._kept[phrase] = _Count(pages, now + _KEPT_FOR)
        return pages


def _rarest(terms: Sequence[Phrase], counts: dict[Phrase, int]) -> tuple[Phrase, ...]:
    """Return as many of the rarest terms as bring few enough pages, but one at least."""
    chosen: list[Phrase] = []
    pages = 0
    for term in sorted(terms, key=lambda term: counts[term]):
        pages += counts[term]
        if pages > MAX_CHOSEN and any(counts[known] for known in chosen):
            break
        chosen.append(term)
    return tuple(chosen)


def _rarity(count: int, pages: int) -> float:
    return math.log(1 + (max(pages, count) - count + 0.5) / (count + 0.5))
