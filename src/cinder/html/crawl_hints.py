"""The URLs in a page that tell a crawler where to go: frames, refreshes, alternates, nofollow."""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice

import can_ada

from cinder.html.tree import Attributes, Elements, resolve_http_url
from cinder.models.document import CrawlHints

_MAX_HINTS = 1_000
_NEIGHBOURS = frozenset(("next", "prev", "previous"))
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")
# Every character is matched a bounded number of times: no quantifier gives back what it took, and
# a tag ends at the next `<`.
_REFRESH_URL = re.compile(
    r"\s*+[\d.]*+(?:\s*+[;,]\s*+|\s++)(?:url\s*+=\s*+)?+[\"']?+([^\"']++)", re.IGNORECASE
)
_HINT_TAG = re.compile(r"<(frame|iframe|meta)(\s[^<>]{0,4000})", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"\s(src|http-equiv|content)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))", re.IGNORECASE
)


def read_crawl_hints(elements: Elements, base: can_ada.URL | None) -> CrawlHints:
    """Return the hints in a page."""
    declared = [
        (each, _relations(each)) for each in map(elements.attributes, elements.tagged("link"))
    ]
    frames = map(elements.attributes, elements.tagged("frame", "iframe"))
    metas = map(elements.attributes, elements.tagged("meta"))
    neighbours = (each for each, relations in declared if _NEIGHBOURS & relations)
    alternates = [each for each, relations in declared if "alternate" in relations]
    feeds = [each for each in alternates if (each.get("type") or "").lower() in _FEED_TYPES]
    languages = (each for each in alternates if each.get("hreflang") and each not in feeds)
    return CrawlHints(
        pages=_resolve((*_frame_urls(frames), *_refresh_urls(metas), *_hrefs(neighbours)), base),
        languages=_resolve(_hrefs(languages), base),
        feeds=_resolve(_hrefs(feeds), base),
        nofollow=_find_nofollow(elements, base),
    )


def scan_crawl_hints(markup: str, base: can_ada.URL | None) -> CrawlHints:
    """Return the frames and refreshes in markup, found in linear time and without a tree."""
    pages: list[str] = []
    for tag in islice(_HINT_TAG.finditer(markup), _MAX_HINTS):
        attributes: dict[str, str | None] = {
            found[1].lower(): unescape(found[2] or found[3] or found[4] or "")
            for found in _ATTRIBUTE.finditer(tag[2])
        }
        read = _refresh_urls if tag[1].lower() == "meta" else _frame_urls
        pages += read([attributes])
    return CrawlHints(pages=_resolve(pages, base))


def _find_nofollow(elements: Elements, base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the targets of links that are all marked nofollow."""
    if not elements.have_attribute("rel"):
        return ()
    links = [elements.attributes(place) for place in elements.tagged("a", "area")]
    marked = [each for each in links if _is_nofollow(each)]
    if not marked:
        return ()
    others = (each for each in links if not _is_nofollow(each))
    followed = {resolve_http_url(base, href) for href in _hrefs(others)}
    found = (resolve_http_url(base, href) for href in _hrefs(marked))
    return tuple(dict.fromkeys(url for url in found if url and url not in followed))


def _is_nofollow(link: Attributes) -> bool:
    relations = link.get("rel")
    return relations is not None and "nofollow" in relations.lower().split()


def _relations(attributes: Attributes) -> frozenset[str]:
    return frozenset((attributes.get("rel") or "").lower().split())


def _hrefs(links: Iterable[Attributes]) -> Iterator[str]:
    return (link.get("href") or "" for link in links)


def _frame_urls(frames: Iterable[Attributes]) -> Iterator[str]:
    return (frame.get("src") or "" for frame in frames)


def _refresh_urls(metas: Iterable[Attributes]) -> Iterator[str]:
    for meta in metas:
        if (meta.get("http-equiv") or "").strip().lower() == "refresh":
            found = _REFRESH_URL.fullmatch((meta.get("content") or "").rstrip(" \"'"))
            yield found[1].strip() if found else ""


def _resolve(references: Iterable[str], base: can_ada.URL | None) -> tuple[str, ...]:
    kept = islice((each for each in references if each.strip()), _MAX_HINTS)
    return tuple(dict.fromkeys(filter(None, (resolve_http_url(base, each) for each in kept))))
