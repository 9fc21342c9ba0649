"""Sitemaps: the addresses that a site lists for machines."""

from dataclasses import dataclass

from cinder.extract.html_tree import collapse
from cinder.extract.metadata.dates import normalise_date
from cinder.xml_tree import XmlNode

MAX_ENTRIES = 10_000
_SITEMAP_TAGS = ("urlset", "sitemapindex")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """An address, and when what stands there last changed, where the site says so."""

    address: str
    modified: str = ""


def is_sitemap_tag(tag: str) -> bool:
    """Whether a document that begins with this element is a sitemap or a list of them."""
    return tag in _SITEMAP_TAGS


def read_sitemap(root: XmlNode) -> list[SitemapEntry]:
    """Return the entries of a sitemap, or the sitemaps of an index."""
    entries = []
    for node in root.children:
        if address := collapse(node.text_of("loc")):
            modified = node.text_of("lastmod")
            entries.append(SitemapEntry(address, normalise_date(modified) if modified else ""))
    return entries
