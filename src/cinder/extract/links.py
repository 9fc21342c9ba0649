"""The links of a page, absolute, each once, in document order."""

from collections.abc import Iterable, Iterator

import can_ada

from cinder.extract.elements import Elements
from cinder.extract.html_tree import WEB_SCHEMES, join_address


def collect_links(parts: Iterable[Elements], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses that the elements of parts of a page link to.

    Links to a place on the page itself are left out.
    """
    page = base.href.partition("#")[0] if base is not None else ""
    # Pages lead to many a place more than once.
    found = (_link_address(base, page, href) for href in dict.fromkeys(_hrefs(parts)))
    return tuple(dict.fromkeys(filter(None, found)))


def web_address(base: can_ada.URL | None, reference: str) -> str | None:
    """Return the http(s) URL that a reference means, or None."""
    joined = join_address(base, reference)
    return joined.href if joined is not None and joined.protocol in WEB_SCHEMES else None


def _link_address(base: can_ada.URL | None, page: str, href: str) -> str | None:
    """Return where a link of the page leads, if that is another page."""
    if not href.strip() or href.lstrip().startswith("#"):
        return None
    address = web_address(base, href)
    if address is None or "#" not in address:
        return address
    return None if address.partition("#")[0] == page else address


def _hrefs(parts: Iterable[Elements]) -> Iterator[str]:
    for elements in parts:
        for place in elements.tagged("a", "area"):
            attributes = elements.attributes(place)
            # In drawings a link has a name space of its own.
            yield attributes.get("href") or attributes.get("xlink:href") or ""
