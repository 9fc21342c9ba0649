"""The links of a page, absolute, each once, in document order."""

from collections.abc import Iterable, Iterator

import can_ada
from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import WEB_SCHEMES, join_address


def collect_links(roots: Iterable[LexborNode], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses that the elements below `roots` link to.

    Links to a place on the page itself are left out.
    """
    found = (_link_address(base, href) for href in _hrefs(roots))
    return tuple(dict.fromkeys(filter(None, found)))


def web_address(base: can_ada.URL | None, reference: str) -> str | None:
    """Return the http(s) URL that a reference means, or None."""
    joined = join_address(base, reference)
    return joined.href if joined is not None and joined.protocol in WEB_SCHEMES else None


def _link_address(base: can_ada.URL | None, href: str) -> str | None:
    if not href.strip() or href.lstrip().startswith("#"):
        return None
    address = web_address(base, href)
    if address is None or base is None:
        return address
    page, mark, _ = address.partition("#")
    return None if mark and page == base.href.partition("#")[0] else address


def _hrefs(roots: Iterable[LexborNode]) -> Iterator[str]:
    for root in roots:
        for node in root.css("a, area"):
            # In drawings a link has a name space of its own.
            yield node.attributes.get("href") or node.attributes.get("xlink:href") or ""
