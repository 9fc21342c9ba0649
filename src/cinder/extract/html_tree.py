"""The parsed page: its tree, its base URL, and the walks and cuts every step makes on it."""

import re
from collections.abc import Iterable, Iterator

import can_ada
from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.model.url import MAX_URL_LENGTH

WEB_SCHEMES = ("http:", "https:")

# Escape sequences in a title would reach whatever terminal shows it.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def parse_html(text: str) -> LexborHTMLParser:
    """Parse a page; whatever the text, there is a tree."""
    # A lone surrogate has no UTF-8; it can only come from a caller's JSON, never from a decoder.
    return LexborHTMLParser(text.encode("utf-8", "replace"))


def content_root(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the body, or the frameset page's root element, or None when it was removed."""
    return tree.body or tree.root


def document_base(tree: LexborHTMLParser, url: str) -> can_ada.URL | None:
    """Return what relative addresses are relative to: `<base href>` if it is a web address.

    `url` is the page's own address; None comes back when that is no web address either.
    """
    element = tree.css_first("base[href]")
    return base_address(element.attributes.get("href") if element else None, url)


def base_address(href: str | None, url: str) -> can_ada.URL | None:
    """Return what the addresses of a page are relative to whose first `<base>` has this href."""
    page = parse_address(url)
    base = join_address(page, href) if href else None
    return base if base is not None and base.protocol in WEB_SCHEMES else page


def parse_address(text: str) -> can_ada.URL | None:
    """Return the absolute http(s) URL that `text` is, or None."""
    parsed = join_address(None, text)
    return parsed if parsed is not None and parsed.protocol in WEB_SCHEMES else None


def join_address(base: can_ada.URL | None, reference: str) -> can_ada.URL | None:
    """Return the URL that `reference` means at `base`, of any scheme, or None."""
    reference = reference.strip()
    if len(reference) > MAX_URL_LENGTH:
        return None
    try:
        return base + reference if base is not None else can_ada.parse(reference)
    except ValueError:
        return None


def element_walk(root: LexborNode) -> Iterator[LexborNode]:
    """Yield every element below `root`, and `root` itself, in document order."""
    return (node for node in root.traverse() if node.is_element_node)


def detach(nodes: Iterable[LexborNode]) -> None:
    """Take elements, with all they hold, out of the tree; the root element stays."""
    for node in nodes:
        if node.parent is not None and node.tag != "html":
            # Not recursive: that would free what other elements of the list may point into.
            node.decompose(recursive=False)


def collapse(text: str | None) -> str:
    """Return the text with every run of white space and control characters made one space."""
    collapsed = " ".join((text or "").split())
    # Nearly all texts are printable by now, and the look is cheaper than the substitution.
    return collapsed if collapsed.isprintable() else " ".join(_CONTROLS.sub(" ", collapsed).split())
