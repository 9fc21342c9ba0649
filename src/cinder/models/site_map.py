"""Site maps: the URLs of a site, and where each was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

MAX_URLS = 100_000
"""How many URLs a map holds at most."""


class MapSource(StrEnum):
    """Where a URL was found."""

    PAGE = "page"
    FEED = "feed"
    SITEMAP = "sitemap"
    ROBOTS = "robots"
    SAVED = "saved"


class MappedUrl(NamedTuple):
    """A URL of a site."""

    url: str
    source: MapSource
    title: str = ""
    """The title of its page; empty where unknown."""
    modified: str = ""
    """When it last changed, as far as the site or a saved page tells."""
    link_text: str = ""
    """The words of a link to it, which may be all that is known of its subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMap:
    """A part of the URLs of a site."""

    urls: Sequence[MappedUrl]
    next_offset: int | None = None
    """Where the next part begins; None at the end."""
    warnings: tuple[str, ...] = ()
