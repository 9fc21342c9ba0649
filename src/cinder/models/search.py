"""Search requests, the hits of one provider, and the merged results."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

LOCAL = "local"
"""The provider that is always there: cinder's own memory."""

MAX_RESULTS = 100


class SearchMode(StrEnum):
    """How far a search goes."""

    FAST = "fast"
    BALANCED = "balanced"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """What every result must be like."""

    include_domains: tuple[str, ...] = ()
    """With their subdomains; empty for all."""
    exclude_domains: tuple[str, ...] = ()
    required_text: tuple[str, ...] = ()
    """Phrases that must all be there."""
    max_age_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search as a caller asks for it."""

    query: str
    caller: str
    mode: SearchMode = SearchMode.BALANCED
    num_results: int = 10
    offset: int = 0
    filters: SearchFilters = field(default_factory=SearchFilters)
    providers: tuple[str, ...] = ()
    """The names of those to ask; empty for the owner's choice. The local index alone: `local`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A page that one provider found; the best comes first in its list."""

    url: str
    title: str
    summary: str = ""
    """The passage that matches, as plain text."""
    published_at: datetime | None = None
    first_seen_at: datetime | None = None
    """When cinder first saved it; only the local index knows."""
    score: float | None = None
    """How well it matches, by the provider's own measure; None where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderReport:
    """How asking one provider went."""

    name: str
    milliseconds: int
    results: int = 0
    error: str | None = None
    """What went wrong and what to do about it; None where it answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result as it is answered."""

    id: str
    """The same for the same page, in every answer."""
    title: str
    url: str
    domain: str
    summary: str
    relevance: float
    """0 to 1, comparable within one answer."""
    published_at: datetime | None = None
    providers: tuple[str, ...] = ()
    """Who found it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What a search found, from the request's offset on."""

    query: str
    results: tuple[SearchResult, ...]
    has_more: bool
    next_offset: int | None
    search_ms: int
    providers: tuple[ProviderReport, ...] = ()
    warnings: tuple[str, ...] = ()
