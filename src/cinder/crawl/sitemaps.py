"""The URLs in a sitemap, a sitemap index, a feed or a plain list.

They are found by regular expressions, without a parser: sitemaps are often malformed and large, and
declarations such as entities are never processed.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice

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
_RSS_LINK = re.compile(rf"<link>{_TEXT}", re.IGNORECASE)
_ATOM_LINK = re.compile(r"<(?:atom:)?link\b([^<>]{1,4000})>", re.IGNORECASE)
_HREF = re.compile(r"\bhref\s*=\s*[\"']([^\"']*)", re.IGNORECASE)
_RELATION = re.compile(r"\brel\s*=\s*[\"']([^\"']*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The URLs in a sitemap: pages, or other sitemaps."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    is_cut: bool = False
    """Whether it exceeds the limits."""


def read_sitemap(body: bytes, url: str) -> Sitemap:
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
    cleaned = (
        unescape(reference.strip().removesuffix("]]>"))
        for reference in references[:MAX_URLS]
        if not reference.isspace() and reference.count("&") <= _MAX_ESCAPES
    )
    urls = tuple(dict.fromkeys(join_web_urls(url, cleaned)))
    if root is not None and root[2].lower() == "sitemapindex":
        return Sitemap(sitemaps=urls, is_cut=is_cut)
    return Sitemap(pages=urls, is_cut=is_cut)


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


def _references(text: str, root: re.Match[str] | None) -> Iterator[str]:
    kind = "" if root is None else root[2].lower()
    if root is None:
        for line in text.splitlines():
            if (stripped := line.strip()).startswith(("http://", "https://")):
                yield stripped
    elif kind == "feed":
        for found in _ATOM_LINK.finditer(text):
            relation = _RELATION.search(found[1])
            href = _HREF.search(found[1])
            if href is not None and (relation is None or relation[1].lower() == "alternate"):
                yield href[1]
    else:
        pattern = _RSS_LINK
        if kind in ("urlset", "sitemapindex"):
            # Other prefixes are other vocabularies: <image:loc> is the URL of an image.
            loc = rf"<{re.escape(root[1] or '')}loc\b[^<>]{{0,1000}}>{_TEXT}"
            pattern = re.compile(loc, re.IGNORECASE)
        yield from (found[1] for found in pattern.finditer(text))
