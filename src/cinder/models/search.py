"""Search requests, the hits of one provider, and the merged results."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from cinder.models.options import Option

LOCAL = "local"
"""The provider that always exists: the index of saved pages."""

MAX_RESULTS = 100
MAX_OFFSET = 1_000_000
MAX_AGE_DAYS = 36_500
MAX_PROVIDERS = 20


class SearchMode(StrEnum):
    """How much effort a search makes."""

    FAST = "fast"
    BALANCED = "balanced"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Conditions that every result must meet."""

    include_domains: Annotated[
        tuple[str, ...],
        Option(
            "Only results of these domains and their subdomains; of a URL, its host counts.",
            hint="Only these",
            flags=("--include-domain",),
            flag_help="Only this domain and its subdomains; repeatable.",
        ),
    ] = ()
    exclude_domains: Annotated[
        tuple[str, ...],
        Option(
            "No results of these domains and their subdomains.",
            hint="None of these",
            flags=("--exclude-domain",),
            flag_help="Not this domain and its subdomains; repeatable.",
        ),
    ] = ()
    required_text: Annotated[
        tuple[str, ...],
        Option(
            "Phrases that must all be in a result: in title, summary or saved text; in deep, the "
            "page.",
            hint="Phrases, all needed",
            flag_help="A phrase that must be in every result; repeatable.",
        ),
    ] = ()
    max_age_days: Annotated[
        float | None,
        Option(
            "Only results of the last so many days; results without a known date are left out.",
            name="maxAge",
            bounds={"gt": 0, "le": MAX_AGE_DAYS, "allow_inf_nan": False},
            hint="Days",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search request."""

    query: str
    caller: str
    mode: Annotated[
        SearchMode,
        Option(
            "`fast`: one provider; `balanced`: all, fused; `deep`: reads the pages, too (5-15 s).",
            hint="deep reads the pages, 15 s",
        ),
    ] = SearchMode.BALANCED
    num_results: Annotated[
        int,
        Option(
            "How many results to return.",
            bounds={"ge": 1, "le": MAX_RESULTS},
            hint="How many",
            flags=("--num", "-n"),
            flag_help="How many results, at most 100; 10.",
        ),
    ] = 10
    offset: Annotated[
        int,
        Option(
            "How many to skip: `nextOffset` of the last answer.",
            bounds={"ge": 0, "le": MAX_OFFSET},
            hint="nextOffset of the last answer",
            flag_help="How many results to skip.",
        ),
    ] = 0
    filters: SearchFilters = field(default_factory=SearchFilters)
    providers: Annotated[
        tuple[str, ...],
        Option(
            "Which providers to ask, instead of all that are configured; `local` searches saved "
            "pages.",
            bounds={"max_length": MAX_PROVIDERS},
            in_tools=False,
            flags=("--provider",),
            flag_help="Ask this provider instead of all; repeatable.",
        ),
    ] = ()
    """Empty for the owner's choice."""


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
