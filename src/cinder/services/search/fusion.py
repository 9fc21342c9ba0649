"""Fusion: merges the hits of several providers, and hits of the same page, into one list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b

from cinder.crawl.urls import canonicalize_url
from cinder.models.search import SearchHit
from cinder.models.url import host_and_port, parse_web_url
from cinder.services.search.query import clean_text
from cinder.text.terms import find_query_terms, find_terms

_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class ResultUrl:
    """Where a result leads, and what tells it from others."""

    url: str
    """Without tracking parameters, session ids and the fragment."""
    given: str
    """As the provider spelled it, by the WHATWG rules: the name that a saved page has."""
    key: str
    """The same for http and https, with `www.` and without, with a slash at the end or none."""
    host: str

    @property
    def id(self) -> str:
        """The same for the same page, in every answer."""
        return blake2b(self.key.encode(), digest_size=_ID_BYTES).hexdigest()

    @property
    def domain(self) -> str:
        """The host as people say it."""
        return self.host.removeprefix("www.")


def parse_result_url(url: str) -> ResultUrl | None:
    """Return the address of what a provider found; None where it is no page of the web."""
    try:
        given = parse_web_url(url)
    except ValueError:
        return None
    address = canonicalize_url(given)
    if address is None:
        return None
    query = f"?{address.query}" if address.query else ""
    key = f"{address.authority.removeprefix('www.')}{address.path.rstrip('/')}{query}"
    host, _ = host_and_port(address.url)
    return ResultUrl(address.url, given, key, host)


# The usual constant of reciprocal rank fusion: how much more a first place tells than a tenth.
_RANK_CONSTANT = 60
# What of a result's weight depends on how many words of the query its title and summary have.
# Lists differ in how strictly they match: a tenth of somebody's web is not our whole memory.
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
    """What it was asked; lists of one provider for different queries count apart."""
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
    """Every title and summary it was found with, or what was read of the page itself."""
    is_read: bool = False
    """Whether the page itself was read."""


@dataclass(slots=True)
class _Found:
    """All hits that are the same page, and what each list gives for it."""

    address: ResultUrl
    hits: list[SearchHit] = field(default_factory=list)
    providers: dict[str, None] = field(default_factory=dict)
    weights: dict[tuple[str, str], float] = field(default_factory=dict)


def fuse(lists: Sequence[RankedHits], query: str) -> list[ResultCandidate]:
    """Return the pages of all lists, each once, the best first.

    A relevance of 1 is the first place in every list.
    """
    wanted = find_query_terms(query)
    whole = {(each.provider, each.query): each.weight for each in lists}
    candidates = [_merge(found, wanted) for found in _gather(lists).values()]
    total = sum(whole.values())
    scored = [
        replace(each, relevance=each.relevance / total * _coverage_factor(each, wanted, len(whole)))
        for each in candidates
    ]
    # The sort is stable: of equals, the one that an earlier provider found comes first.
    return sorted(scored, key=lambda each: -each.relevance)


def coverage(text: str, wanted: set[str]) -> float:
    """Return which part of the wanted terms a text has."""
    return len(wanted.intersection(find_terms(text))) / len(wanted) if wanted else 1.0


def _gather(lists: Sequence[RankedHits]) -> dict[str, _Found]:
    gathered: dict[str, _Found] = {}
    for each in lists:
        for rank, hit in enumerate(each.hits, each.first_rank):
            address = parse_result_url(hit.url)
            if address is None:
                continue
            found = gathered.setdefault(address.key, _Found(address))
            found.hits.append(hit)
            found.providers[each.provider] = None
            weight = each.weight * (_RANK_CONSTANT + 1) / (_RANK_CONSTANT + 1 + rank)
            source = (each.provider, each.query)
            found.weights[source] = max(weight, found.weights.get(source, 0.0))
            if address.url.startswith("https:") and found.address.url.startswith("http:"):
                found.address = replace(found.address, url=address.url)
    return gathered


def _merge(found: _Found, wanted: set[str]) -> ResultCandidate:
    titles = [clean_text(hit.title)[:TITLE_CHARS] for hit in found.hits]
    summaries = [cut_words(clean_text(hit.summary), SUMMARY_CHARS) for hit in found.hits]
    return ResultCandidate(
        address=found.address,
        title=next((title for title in titles if title), found.address.url),
        summary=max(summaries, key=lambda text: coverage(text, wanted)),
        relevance=sum(found.weights.values()),
        published_at=_first(hit.published_at for hit in found.hits),
        first_seen_at=_first(hit.first_seen_at for hit in found.hits),
        providers=tuple(found.providers),
        texts=tuple(dict.fromkeys(f"{t} {s}" for t, s in zip(titles, summaries, strict=True))),
    )


def _first(moments: Iterable[datetime | None]) -> datetime | None:
    moment = next((each for each in moments if each is not None), None)
    # One without a time zone cannot be compared with now.
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _coverage_factor(candidate: ResultCandidate, wanted: set[str], lists: int) -> float:
    """Return how much a candidate's words weigh: nothing where one list is in order by itself."""
    if lists < 2:
        return 1.0
    covered = max(coverage(text, wanted) for text in candidate.texts)
    return 1 - _COVERAGE_SHARE + _COVERAGE_SHARE * covered


def cut_words(text: str, max_chars: int) -> str:
    """Return the beginning of a text, cut between words where it is too long."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - 1]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept[max_chars // 2 :] else kept}…"
