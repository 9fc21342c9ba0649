"""The URLs that a sitemap, a sitemap index, a feed or a plain list names.

They are looked for along the text, without a parser: sitemaps are often broken, they may be large,
and nothing that a document declares about itself, such as entities, is ever acted upon.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice

from cinder.models.url import MAX_URL_LENGTH, join_web_url

MAX_URLS = 50_000
MAX_UNPACKED_BYTES = 50 * 1024 * 1024

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_ROOT_WITHIN = 16_384
# Addresses have few; text full of them takes long to decode.
_MAX_ESCAPES = 200
_ROOT = re.compile(r"<([\w.-]{1,40}:)?(urlset|sitemapindex|rss|rdf|feed)\b", re.IGNORECASE)
_TEXT = rf"\s{{0,1000}}(?:<!\[CDATA\[)?([^<]{{1,{MAX_URL_LENGTH}}})"
_RSS_LINK = re.compile(rf"<link>{_TEXT}", re.IGNORECASE)
_ATOM_LINK = re.compile(r"<(?:atom:)?link\b([^<>]{1,4000})>", re.IGNORECASE)
_HREF = re.compile(r"\bhref\s*=\s*[\"']([^\"']*)", re.IGNORECASE)
_RELATION = re.compile(r"\brel\s*=\s*[\"']([^\"']*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """What a sitemap names: pages, or other sitemaps."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    is_cut: bool = False
    """Whether it names more than is read."""


def read_sitemap(body: bytes, url: str) -> Sitemap:
    """Return the web addresses in a sitemap's body, each once, in their order.

    What it is, and whether it is packed, the body itself tells. Anything else gives nothing. A body
    built to hurt takes seconds: read large ones off the event loop.
    """
    unpacked, is_cut = _unpack(body)
    text = _without_comments(_decode(unpacked))
    root = _ROOT.search(text, 0, _ROOT_WITHIN)
    references = list(islice(_references(text, root), MAX_URLS + 1))
    is_cut = is_cut or len(references) > MAX_URLS
    addresses = tuple(dict.fromkeys(_addresses(references[:MAX_URLS], url)))
    if root is not None and root[2].lower() == "sitemapindex":
        return Sitemap(sitemaps=addresses, is_cut=is_cut)
    return Sitemap(pages=addresses, is_cut=is_cut)


def _unpack(body: bytes) -> tuple[bytes, bool]:
    """Return the body unpacked as far as it is whole and within bounds, and if that cut it."""
    if not body.startswith(_GZIP_MAGIC):
        return body[:MAX_UNPACKED_BYTES], len(body) > MAX_UNPACKED_BYTES
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = unpacker.decompress(body, MAX_UNPACKED_BYTES)
    except zlib.error:
        return b"", True
    return unpacked, not unpacker.eof


def _decode(body: bytes) -> str:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    return body.decode("utf-8-sig", "replace")


def _without_comments(text: str) -> str:
    kept = []
    place = 0
    while (start := text.find("<!--", place)) >= 0:
        kept.append(text[place:start])
        end = text.find("-->", start + 4)
        place = len(text) if end < 0 else end + 3
    return "".join([*kept, text[place:]]) if kept else text


def _addresses(references: Iterable[str], base: str) -> Iterator[str]:
    for reference in references:
        if not reference.isspace() and reference.count("&") <= _MAX_ESCAPES:
            try:
                yield join_web_url(base, unescape(reference.strip().removesuffix("]]>")))
            except ValueError:
                continue


def _references(text: str, root: re.Match[str] | None) -> Iterator[str]:
    if root is None:
        return _listed_lines(text)
    name = root[2].lower()
    if name in ("urlset", "sitemapindex"):
        # Other prefixes are other vocabularies: <image:loc> is where an image is.
        pattern = re.compile(
            rf"<{re.escape(root[1] or '')}loc\b[^<>]{{0,1000}}>{_TEXT}", re.IGNORECASE
        )
        return (found[1] for found in pattern.finditer(text))
    if name == "feed":
        return _atom_links(text)
    return (found[1] for found in _RSS_LINK.finditer(text))


def _listed_lines(text: str) -> Iterator[str]:
    lines = (line.strip() for line in text.splitlines())
    return (line for line in lines if line.startswith(("http://", "https://")))


def _atom_links(text: str) -> Iterator[str]:
    for found in _ATOM_LINK.finditer(text):
        relation = _RELATION.search(found[1])
        href = _HREF.search(found[1])
        if href is not None and (relation is None or relation[1].lower() == "alternate"):
            yield href[1]
