"""The URLs in a sitemap, a sitemap index, a feed or a plain list.

They are found by regular expressions, without a parser: sitemaps are often malformed and large, and
declarations such as entities are never processed.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from html import unescape
from itertools import islice
from typing import NamedTuple

from cinder.models.url import MAX_URL_LENGTH, join_web_urls

MAX_URLS = 50_000
MAX_UNPACKED_BYTES = 50 * 1024 * 1024

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_ROOT_WITHIN = 16_384
# URLs have few; text full of them takes long to decode.
_MAX_ESCAPES = 200
_ROOT = re.compile(r"<([\w.-]{1,40}:)?(urlset|sitemapindex|rss|rdf|feed)\b", re.IGNORECASE)
_TEXT = rf"\s{{0,1000}}(?:<!\[CDATA\[)?([^<]{{1,{MAX_URL_LENGTH}}})"
_SHORT_TEXT = r"\s{0,1000}(?:<!\[CDATA\[)?([^<]{1,100})"
_TITLE = re.compile(
    r"<title\b[^<>]{0,200}>\s{0,1000}(?:<!\[CDATA\[(.{1,2000}?)\]\]>|([^<]{1,2000}))",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN_URL = re.compile(r"(https?://[a-z0-9.:-]{1,300}/)(?:[\w~-][\w~.-]*+(?:/|$)|/)*", re.ASCII)
_RSS_LINK = re.compile(rf"<link>{_TEXT}", re.IGNORECASE)
_ATOM_LINK = re.compile(r"<(?:atom:)?link\b([^<>]{1,4000})>", re.IGNORECASE)
_HREF = re.compile(r"\bhref\s*=\s*[\"']([^\"']*)", re.IGNORECASE)
_RELATION = re.compile(r"\brel\s*=\s*[\"']([^\"']*)", re.IGNORECASE)


_ENTRY_TAGS = {"urlset": "url", "feed": "entry"}
_ENTRY_DATES = {"urlset": ("lastmod",), "feed": ("updated", "published")}
_ITEM_DATES = ("pubDate", "dc:date")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d(?:T[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)?)?)?")
_LONGEST_TITLE = 300
_TAG = re.compile(r"<[^<>]{0,1000}>")


class SitemapUse(StrEnum):
    """Whether a site's sitemaps are read, and whether they alone are."""

    INCLUDE = "include"
    SKIP = "skip"
    ONLY = "only"


class EntryNote(NamedTuple):
    """What a sitemap or feed says of a page."""

    title: str = ""
    modified: str = ""
    """When it last changed, in ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The URLs in a sitemap: pages, or other sitemaps."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    notes: Mapping[str, EntryNote] = field(default_factory=dict)
    """By URL, what it says of its pages."""
    is_feed: bool = False
    is_cut: bool = False
    """Whether it exceeds the limits."""


def read_sitemap(body: bytes, url: str, *, with_notes: bool = False) -> Sitemap:
    """Return the web URLs in the body of a sitemap, each once, in their order.

    Format and compression are detected from the body; unknown formats have no URLs. A malicious
    body takes seconds, so large ones must be read in a thread.
    """
    unpacked, is_cut = _unpack(body)
    is_utf16 = unpacked.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = _without_comments(unpacked.decode("utf-16" if is_utf16 else "utf-8-sig", "replace"))
    root = _ROOT.search(text, 0, _ROOT_WITHIN)
    references = list(islice(_references(text, root), MAX_URLS + 1))
    is_cut = is_cut or len(references) > MAX_URLS
    found = list(_resolve(references[:MAX_URLS], url))
    urls = tuple(dict.fromkeys(page for _, page in found))
    kind = "" if root is None else root[2].lower()
    if kind == "sitemapindex":
        return Sitemap(sitemaps=urls, is_cut=is_cut)
    return Sitemap(
        pages=urls,
        notes=_read_notes(text, root, found) if with_notes and root else {},
        is_feed=kind in ("rss", "rdf", "feed"),
        is_cut=is_cut,
    )


def _resolve(references: Iterable[tuple[int, str]], url: str) -> Iterator[tuple[int, str]]:
    """Yield the web URLs of references with their positions."""
    origins: dict[str, bool] = {}
    for position, reference in references:
        if plain := _PLAIN_URL.fullmatch(reference):
            # Nothing of its path needs to be normalized.
            origin = plain[1]
            if origin not in origins:
                origins[origin] = list(join_web_urls(url, (origin,))) == [origin]
            if origins[origin]:
                yield position, reference
                continue
        if not reference.isspace() and reference.count("&") <= _MAX_ESCAPES:
            cleaned = unescape(reference.strip().removesuffix("]]>"))
            for page in join_web_urls(url, (cleaned,)):
                yield position, page


def _read_notes(
    text: str, root: re.Match[str], pages: Iterable[tuple[int, str]]
) -> dict[str, EntryNote]:
    """Return what a sitemap says of its pages, which are at these positions in the text."""
    kind, prefix = root[2].lower(), re.escape(root[1] or "")
    entry = re.compile(rf"<{prefix}{_ENTRY_TAGS.get(kind, 'item')}\b", re.IGNORECASE)
    starts = [found.start() for found in islice(entry.finditer(text), 2 * MAX_URLS)]
    # By entry; those before the first one are of the sitemap itself.
    dates: dict[int, str] = {}
    tags = "|".join(_ENTRY_DATES.get(kind, _ITEM_DATES))
    date = re.compile(rf"<{prefix}(?:{tags})\b[^<>]{{0,200}}>{_SHORT_TEXT}", re.IGNORECASE)
    for found in islice(date.finditer(text), 2 * MAX_URLS):
        if modified := _read_date(found[1]):
            dates.setdefault(bisect_right(starts, found.start()), modified)
    titles: dict[int, str] = {}
    for found in islice(_TITLE.finditer(text), 2 * MAX_URLS) if kind != "urlset" else ():
        titles.setdefault(bisect_right(starts, found.start()), _clean_title(found[1] or found[2]))
    notes: dict[str, EntryNote] = {}
    for position, page in pages:
        number = bisect_right(starts, position)
        if number and (number in dates or number in titles):
            notes.setdefault(page, EntryNote(titles.pop(number, ""), dates.get(number, "")))
    return notes


def _clean_title(text: str) -> str:
    # Titles of feeds are HTML, escaped or in CDATA.
    if text.count("&") <= _MAX_ESCAPES:
        text = unescape(_TAG.sub(" ", unescape(text)))
    return " ".join(text.split())[:_LONGEST_TITLE]


def _read_date(text: str) -> str:
    """Return a date as ISO 8601; empty where it is none."""
    text = text.strip().removesuffix("]]>")
    if _DATE.fullmatch(text):
        return text
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, OverflowError):
        return ""


def _unpack(body: bytes) -> tuple[bytes, bool]:
    """Return the decompressed body up to the limit, and whether it was cut."""
    if not body.startswith(_GZIP_MAGIC):
        return body[:MAX_UNPACKED_BYTES], len(body) > MAX_UNPACKED_BYTES
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = unpacker.decompress(body, MAX_UNPACKED_BYTES)
    except zlib.error:
        return b"", True
    return unpacked, not unpacker.eof


def _without_comments(text: str) -> str:
    kept = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start + 4)
        position = len(text) if end < 0 else end + 3
    return "".join([*kept, text[position:]]) if kept else text


def _references(text: str, root: re.Match[str] | None) -> Iterator[tuple[int, str]]:
    """Yield the references with their positions."""
    kind = "" if root is None else root[2].lower()
    if root is None:
        for line in text.splitlines():
            if (stripped := line.strip()).startswith(("http://", "https://")):
                yield 0, stripped
    elif kind == "feed":
        for found in _ATOM_LINK.finditer(text):
            relation = _RELATION.search(found[1])
            href = _HREF.search(found[1])
            if href is not None and (relation is None or relation[1].lower() == "alternate"):
                yield found.start(), href[1]
    else:
        pattern = _RSS_LINK
        if kind in ("urlset", "sitemapindex"):
            # Other prefixes are other vocabularies: <image:loc> is the URL of an image.
            loc = rf"<{re.escape(root[1] or '')}loc\b[^<>]{{0,1000}}>{_TEXT}"
            pattern = re.compile(loc, re.IGNORECASE)
        yield from ((found.start(), found[1]) for found in pattern.finditer(text))
