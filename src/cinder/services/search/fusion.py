"""Fusion: merges the hits of several providers, and hits of the same page, into one list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b

from cinder.crawl.urls import canonicalize_url, without_index_file
from cinder.models.search import SearchHit
from cinder.models.url import host_and_port, parse_web_url
from cinder.services.search.query import clean_text
from cinder.text.terms import find_query_terms, find_terms

_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class ResultUrl:
    """The URL of a result, and the key that identifies its page."""

    url: str
    """Without tracking parameters, session ids and the fragment."""
    provider_url: str
    """As the provider wrote it, canonical by the WHATWG rules: the URL of a saved page."""
    key: str
    """The same for http and https, with and without `www.`, with and without a final slash."""
    host: str

    @property
    def id(self) -> str:
        """The id of the page, the same in every response."""
        return blake2b(self.key.encode(), digest_size=_ID_BYTES).hexdigest()

    @property
    def domain(self) -> str:
        """The host without `www.`."""
        return self.host.removeprefix("www.")


def parse_result_url(url: str) -> ResultUrl | None:
    """Parse the URL of a hit; None if it is not a web URL."""
    try:
        provider_url = parse_web_url(url)
    except ValueError:
        return None
    address = canonicalize_url(provider_url)
    if address is None:
        return None
    query = f"?{address.query}" if address.query else ""
    path = without_index_file(address.path).rstrip("/")
    key = f"{address.authority.removeprefix('www.')}{path}{query}"
    host, _ = host_and_port(address.url)
    return ResultUrl(address.url, provider_url, key, host)


# The usual constant of reciprocal rank fusion.
_RANK_CONSTANT = 60
# The share of a result's relevance that depends on how many of the query's words its title and
# summary have: providers differ in how strictly they match.
_COVERAGE_SHARE = 0.3
TITLE_CHARS = 300
SUMMARY_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHits:
    """A part of one provider's list, in its order."""

    provider: str
    hits: Sequence[SearchHit]
    first_rank: int = 0
    """How many of its hits came before."""
    query: str = ""
    """The query; lists of one provider for different queries count separately."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCandidate:
    """A page that may become a result."""

    address: ResultUrl
    title: str
    summary: str
    relevance: float = 0.0
    published_at: datetime | None = None
    first_seen_at: datetime | None = None
    providers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Every title and summary of its hits, or the text of the page itself."""
    is_read: bool = False
    """Whether the page itself was read."""


@dataclass(slots=True)
class _Found:
    """All hits of the same page, and its weight in each list."""

    address: ResultUrl
    hits: list[SearchHit] = field(default_factory=list)
    providers: dict[str, None] = field(default_factory=dict)
    weights: dict[tuple[str, str], float] = field(default_factory=dict)


def fuse(lists: Sequence[RankedHits], query: str) -> list[ResultCandidate]:
    """Return the pages of all lists, each once, the best first.

    A relevance of 1 means the first place in every list.
    """
    terms = find_query_terms(query)
    list_weights = {(ranked.provider, ranked.query): ranked.weight for ranked in lists}
    total = sum(list_weights.values())
    by_key: dict[str, _Found] = {}
    for ranked in lists:
        for rank, hit in enumerate(ranked.hits, ranked.first_rank):
            address = parse_result_url(hit.url)
            if address is None:
                continue
            found = by_key.setdefault(address.key, _Found(address))
            found.hits.append(hit)
            found.providers[ranked.provider] = None
            weight = ranked.weight * (_RANK_CONSTANT + 1) / (_RANK_CONSTANT + 1 + rank)
            source = (ranked.provider, ranked.query)
            found.weights[source] = max(weight, found.weights.get(source, 0.0))
            if address.url.startswith("https:") and found.address.url.startswith("http:"):
                found.address = replace(found.address, url=address.url)
    candidates = [
        _merge(found, terms, total, is_only_list=len(list_weights) < 2) for found in by_key.values()
    ]
    # The sort is stable: of equals, the one that an earlier provider found comes first.
    return sorted(candidates, key=lambda candidate: -candidate.relevance)


def coverage(text: str, terms: set[str]) -> float:
    """Return the share of the terms that a text has."""
    return len(terms.intersection(find_terms(text))) / len(terms) if terms else 1.0


def _merge(
    found: _Found, terms: set[str], total_weight: float, *, is_only_list: bool
) -> ResultCandidate:
    titles = [clean_text(hit.title)[:TITLE_CHARS] for hit in found.hits]
    summaries = [cut_words(clean_text(hit.summary), SUMMARY_CHARS) for hit in found.hits]
    texts = tuple(dict.fromkeys(f"{t} {s}" for t, s in zip(titles, summaries, strict=True)))
    relevance = sum(found.weights.values()) / total_weight
    if not is_only_list:  # a single list keeps its order
        covered = max(coverage(text, terms) for text in texts)
        relevance *= 1 - _COVERAGE_SHARE + _COVERAGE_SHARE * covered
    return ResultCandidate(
        address=found.address,
        title=next((title for title in titles if title), found.address.url),
        summary=max(summaries, key=lambda text: coverage(text, terms)),
        relevance=relevance,
        published_at=_first(hit.published_at for hit in found.hits),
        first_seen_at=_first(hit.first_seen_at for hit in found.hits),
        providers=tuple(found.providers),
        texts=texts,
    )


def _first(timestamps: Iterable[datetime | None]) -> datetime | None:
    first = next(filter(None, timestamps), None)
    # A timestamp without a time zone cannot be compared with now.
    return first.replace(tzinfo=UTC) if first and first.tzinfo is None else first


def cut_words(text: str, max_chars: int) -> str:
    """Return the beginning of a text, cut between words if it is too long."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - 1]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept[max_chars // 2 :] else kept}…"
