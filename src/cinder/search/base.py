"""The protocol of a search provider, its query, and filters written as query operators."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from cinder.errors import CinderError
from cinder.models.http import HttpResponse
from cinder.models.search import SearchFilters, SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderQuery:
    """A query for one page of a provider's results.

    Filters are hints for providers that can narrow their search; the caller checks every hit.
    """

    text: str
    caller: str
    page: int = 0
    """From 0; a provider without paging returns hits for page 0 alone."""
    count: int = 20
    """How many hits to return; a provider may return fewer or more."""
    filters: SearchFilters = field(default_factory=SearchFilters)


class ProviderFailed(CinderError):
    """The search provider gave no answer."""


class Provider(Protocol):
    """Finds pages for a query."""

    @property
    def name(self) -> str:
        """Its name in settings and responses."""
        ...

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of hits, the best first.

        Raises:
            ProviderFailed: it is down, refuses, is blocked, or its response cannot be read.
        """
        ...


class SearchHttpClient(Protocol):
    """Sends requests to a configured server, through egress.

    Both methods raise `CinderError` without a response: egress refused, the name does not resolve,
    or it took too long. A body beyond the limit is cut, and the response is marked so.
    """

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response, whatever its status."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Send a body; return the response, whatever its status."""
        ...


_MAX_EXCLUDED = 10
_MAX_INCLUDED = 5
_MAX_PHRASES = 5
_DOMAIN = re.compile(r"[A-Za-z0-9.-]{1,253}")


class Period(StrEnum):
    """The ages of pages that engines can filter by."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


_DAYS = {Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 31, Period.YEAR: 365}


def period_of(filters: SearchFilters) -> Period | None:
    """Return the shortest period that covers the filters' age; None beyond a year."""
    max_days = filters.max_age_days
    if max_days is None:
        return None
    return next((period for period, days in _DAYS.items() if max_days <= days), None)


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How long a query may be for an engine."""

    max_chars: int
    max_words: int = 500

    def allow(self, text: str) -> bool:
        """Whether a query of this text is short enough."""
        return len(text) <= self.max_chars and len(text.split()) <= self.max_words


def query_with_operators(query: ProviderQuery, limits: QueryLimits) -> str:
    """Return the query with operators for its filters, as many as fit.

    Raises:
        ValueError: the query itself is too long.
    """
    text = query.text.strip()
    if not limits.allow(text):
        longest = f"{limits.max_chars} characters and {limits.max_words} words"
        raise ValueError(f"it takes at most {longest}; shorten it")
    filters, operators = query.filters, []
    included = [f"site:{domain}" for domain in filters.include_domains]
    are_few = len(included) <= _MAX_INCLUDED
    if included and are_few and all(map(_DOMAIN.fullmatch, filters.include_domains)):
        operators.append(included[0] if len(included) == 1 else f"({' OR '.join(included)})")
    excluded = filters.exclude_domains[:_MAX_EXCLUDED]
    operators += [f"-site:{domain}" for domain in excluded if _DOMAIN.fullmatch(domain)]
    phrases = filters.required_text[:_MAX_PHRASES]
    operators += [f'"{phrase}"' for phrase in phrases if '"' not in phrase]
    for operator in operators:
        if limits.allow(longer := f"{text} {operator}"):
            text = longer
    return text
