"""What a correct crawl of the website ends with: its pages, and the fate of every other URL."""

from collections.abc import Mapping
from dataclasses import dataclass

import can_ada

from tests.crawled_site.corners import FARTHER, Oddity, build_oddities
from tests.crawled_site.crawl_files import SITEMAP_ODDITIES
from tests.crawled_site.fate import Fate
from tests.crawled_site.outline import Page, build_outline
from tests.crawled_site.traps import trap_of

__all__ = ["SITE", "Fate", "Manifest"]

# A crawl may tell the same in another way: a trap's pages are copies of its first, and the target
# of a redirect can be what decides, or be a page already read.
_ALSO_RIGHT = {
    Fate.TRAP: {Fate.DUPLICATE},
    Fate.REDIRECT: {Fate.DUPLICATE},
    Fate.FILE: {Fate.FAILED, Fate.OUTSIDE},
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The pages of the website, and what becomes of its other URLs.

    URLs of the website are paths with their query, without a fragment; others are whole.
    """

    outline: Mapping[str, Page]
    oddities: tuple[Oddity, ...]
    pages: frozenset[str]
    explained: Mapping[str, Fate]
    redirecting: frozenset[str]
    originals: Mapping[str, str]

    def fate_of(self, url: str) -> Fate | None:
        """Return what becomes of a URL, or nothing when the website never names it."""
        if url in self.pages:
            return Fate.FETCHED
        if url in self.explained:
            return self.explained[url]
        if url.startswith(FARTHER):
            return Fate.FAILED
        return Fate.TRAP if trap_of(url) else None

    def accepts(self, url: str, fate: Fate) -> bool:
        """Tell whether a crawl may end with this fate for a URL."""
        right = self.fate_of(url)
        if right is None:
            return False
        if fate is Fate.REDIRECT and (url in self.redirecting or url.startswith(FARTHER)):
            return True
        return fate is right or fate in _ALSO_RIGHT.get(right, ())

    def original_of(self, url: str) -> str | None:
        """Return the page that a URL copies or leads to: itself when it is one."""
        if url in self.pages:
            return url
        return self.originals.get(url) or trap_of(url)


def _build_manifest() -> Manifest:
    outline = build_outline()
    oddities = (*build_oddities(), *SITEMAP_ODDITIES)
    others = {_named(odd.href): odd for odd in oddities if odd.fate is not Fate.FETCHED}
    return Manifest(
        outline=outline,
        oddities=oddities,
        pages=frozenset(outline),
        explained={url: odd.fate for url, odd in others.items()},
        redirecting=frozenset(url for url, odd in others.items() if odd.location),
        originals={url: odd.leads_to for url, odd in others.items() if odd.leads_to},
    )


def _named(href: str) -> str:
    """Return a link as the manifest names it."""
    if href.startswith("/") and not href.startswith("//"):
        return href.partition("#")[0]
    return (can_ada.parse("http://site.example/") + href).href


SITE = _build_manifest()
