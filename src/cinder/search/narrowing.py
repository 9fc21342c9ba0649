"""Filters as hints that search engines understand. Whoever asks checks every hit all the same."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from cinder.model.search import SearchFilters
from cinder.search.base import ProviderQuery

_MAX_EXCLUDED = 10
_MAX_INCLUDED = 5
_MAX_PHRASES = 5
_DOMAIN = re.compile(r"[A-Za-z0-9.-]{1,253}")


class Period(StrEnum):
    """How new a page must be, as far as engines tell it apart."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


_DAYS = {Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 31, Period.YEAR: 365}


def period_of(filters: SearchFilters) -> Period | None:
    """Return the shortest period that leaves nothing out; None where even a year would."""
    wanted = filters.max_age_days
    if wanted is None:
        return None
    return next((period for period, days in _DAYS.items() if wanted <= days), None)


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How long a query may be for an engine."""

    max_chars: int
    max_words: int = 500

    def allow(self, text: str) -> bool:
        """Whether a query of this text is taken."""
        return len(text) <= self.max_chars and len(text.split()) <= self.max_words


def narrowed_text(query: ProviderQuery, limits: QueryLimits) -> str:
    """Return the query with operators for its filters, as many as fit.

    Raises:
        ValueError: the query itself is too long.
    """
    text = query.text.strip()
    if not limits.allow(text):
        longest = f"{limits.max_chars} characters and {limits.max_words} words"
        raise ValueError(f"it takes at most {longest}; shorten it")
    for operator in _operators(query.filters):
        if limits.allow(longer := f"{text} {operator}"):
            text = longer
    return text


def _operators(filters: SearchFilters) -> Iterator[str]:
    included = [f"site:{domain}" for domain in filters.include_domains]
    if len(included) <= _MAX_INCLUDED and all(map(_DOMAIN.fullmatch, filters.include_domains)):
        if len(included) == 1:
            yield included[0]
        elif included:
            yield f"({' OR '.join(included)})"
    for domain in filters.exclude_domains[:_MAX_EXCLUDED]:
        if _DOMAIN.fullmatch(domain):
            yield f"-site:{domain}"
    for phrase in filters.required_text[:_MAX_PHRASES]:
        if '"' not in phrase:
            yield f'"{phrase}"'
