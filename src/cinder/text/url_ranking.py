"""Ranks URLs by the words of a search in their paths and titles."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from cinder.models.site_map import MappedUrl
from cinder.text.bm25 import Bm25
from cinder.text.terms import find_identifier_terms, find_query_terms

_TITLE_TIMES, _NAME_TIMES, _PATH_TIMES = 3, 2, 1
# What a word counts that only begins as a term does, and a term within a word ("auth" in "oauth").
_ALIKE_SHARE, _PART_TIMES = 0.7, 0.3
_MIN_PART_CHARS = 4
_CHARS_PER_WORD = 6
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def rank_urls(urls: Sequence[MappedUrl], search: str) -> list[MappedUrl]:
    """Return the URLs that match some words of a search, the best first."""
    terms = sorted(find_query_terms(search))
    matches = [_match(url, terms) for url in urls]
    bm25 = Bm25((match.times for match in matches), [match.length for match in matches])
    scored = []
    for position, match in enumerate(matches):
        if match.times:
            score = sum(bm25.score(term, n, match.length) for term, n in match.times.items())
            # A page on all words is better than one that is all about one of them, and a page with
            # only these in its name or title better than one with others.
            score *= len(match.times) / len(terms) * (1 + match.covered) / 2
            scored.append((-score, len(urls[position].url), position))
    return [urls[position] for *_, position in sorted(scored)]


@dataclass(frozen=True, slots=True)
class _Match:
    """How a URL matches the terms of a search."""

    length: int
    """Its number of words."""
    times: Mapping[str, float] = field(default_factory=dict)
    """How often it has each term, weighted."""
    covered: float = 0.0
    """The share of the words of its name, title or link that are terms."""


def _match(url: MappedUrl, terms: Sequence[str]) -> _Match:
    path = url.url[url.url.find("/", len("https://")) :]
    path = unquote(path) if "%" in path else path
    whole = f"{url.title} {url.link_text} {path}".casefold()
    # Most URLs have no term, and need not be split: words of one stem begin alike.
    if not any(term[:_MIN_PART_CHARS] in whole for term in terms):
        return _Match(len(whole) // _CHARS_PER_WORD)
    folder, _, name = _EXTENSION.sub("", path.rstrip("/")).rpartition("/")
    names, folders = list(find_identifier_terms(name)), list(find_identifier_terms(folder))
    titles, links = (
        list(find_identifier_terms(url.title)),
        list(find_identifier_terms(url.link_text)),
    )
    # The words of a link are mostly those of the title.
    others = [word for word in links if word not in titles]
    counts = Counter[str]()
    for words, weight in (
        (titles, _TITLE_TIMES),
        (others, _TITLE_TIMES),
        (names, _NAME_TIMES),
        (folders, _PATH_TIMES),
    ):
        for word in words:
            counts[word] += weight
    times: dict[str, float] = {}
    matched = set[str]()
    for term in terms:
        if term in counts:
            times[term] = counts[term]
            matched.add(term)
        elif alike := [word for word in counts if _begin_alike(word, term)]:
            matched.update(alike)
            times[term] = _ALIKE_SHARE * max(counts[word] for word in alike)
        elif len(term) >= _MIN_PART_CHARS and term in whole:
            times[term] = _PART_TIMES
    covered = (sum(w in matched for w in ws) / (len(ws) or 1) for ws in (names, titles, links))
    length = len(titles) + len(others) + len(names) + len(folders)
    return _Match(length, times, max(covered))


def _begin_alike(word: str, term: str) -> bool:
    """Whether one of two words is the beginning of the other, as in "install" of "installation"."""
    short = min(len(word), len(term))
    return short >= _MIN_PART_CHARS and word[:short] == term[:short]
