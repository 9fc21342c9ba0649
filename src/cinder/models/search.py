"""Search requests, the hits of one provider, and the merged results."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

LOCAL = "local"
"""The provider that always exists: the index of saved pages."""

MAX_RESULTS = 100


class SearchMode(StrEnum):
    """How much effort a search makes."""

    FAST = "fast"
    BALANCED = "balanced"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Conditions that every result must meet."""

    include_domains: tuple[str, ...] = ()
    """With their subdomains; empty for all."""
    exclude_domains: tuple[str, ...] = ()
    required_text: tuple[str, ...] = ()
    """Phrases that a result must all contain."""
    max_age_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search request."""

    query: str
    caller: str
    mode: SearchMode = SearchMode.BALANCED
    num_results: int = 10
    offset: int = 0
    filters: SearchFilters = field(default_factory=SearchFilters)
    providers: tuple[str, ...] = ()
    """The providers to query; empty for the configured ones, `local` for the local index alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A page that one provider found; lists of hits start with the best."""

    url: str
    title: str
    summary: str = ""
    """The matching passage as plain text."""
    published_at: datetime | None = None
    first_seen_at: datetime | None = None
    """When cinder first saved it; only the local index sets it."""
    score: float | None = None
    """The provider's own score; None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderReport:
    """The outcome of the request to one provider."""

    name: str
    milliseconds: int
    results: int = 0
    error: str | None = None
    """What failed and what to do about it; None on success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One merged result."""

    id: str
    """The same for the same page in every response."""
    title: str
    url: str
    domain: str
    summary: str
    relevance: float
    """0 to 1, comparable within one response."""
    published_at: datetime | None = None
    providers: tuple[str, ...] = ()
    """The providers that found it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """The results of a search, from the request's offset on."""

    query: str
    results: tuple[SearchResult, ...]
    has_more: bool
    next_offset: int | None
    search_ms: int
    providers: tuple[ProviderReport, ...] = ()
    warnings: tuple[str, ...] = ()
