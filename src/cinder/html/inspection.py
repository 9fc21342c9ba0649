"""Inspection of an HTML string: headings, counts, hash and meta tags, without a fetch."""

import hashlib

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.errors import FieldProblem, InvalidRequest
from cinder.html.bombs import find_bomb
from cinder.html.links import is_data_image, resolve_url
from cinder.html.metadata.declared import DeclaredMetadata, read_declared
from cinder.html.tree import Elements, collapse, content_root, document_base, parse_html
from cinder.html.visible_text import visible_text
from cinder.models.document import HtmlFacts, HtmlHeading


def inspect_html(html: str, base_url: str = "") -> HtmlFacts:
    """Return what an HTML string holds; relative addresses are resolved against `base_url`.

    Raises:
        InvalidRequest: it is built to take too long.
    """
    if bomb := find_bomb(html):
        raise InvalidRequest(problems=(FieldProblem("html", f"It cannot be parsed: {bomb}"),))
    tree = parse_html(html)
    base = document_base(tree, base_url)
    links = [element.attributes.get("href") or "" for element in tree.css("a[href]")]
    images = tree.css("img")
    text = _body_text(tree)
    headings = _headings(tree)
    declared = read_declared(Elements.of_page(tree))
    return HtmlFacts(
        title=declared.title or next((h.text for h in headings if h.level == 1), ""),
        headings=headings,
        paragraph_count=len(tree.css("p")),
        link_count=len(links),
        image_count=len(images),
        word_count=len(text.split()),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        meta=_meta(tree, declared),
        links=_absolute(base, links),
        images=_absolute(base, [image.attributes.get("src") or "" for image in images]),
    )


def _headings(tree: LexborHTMLParser) -> tuple[HtmlHeading, ...]:
    return tuple(
        HtmlHeading(int((element.tag or "")[1:]), collapse(visible_text(element)))
        for element in tree.css("h1, h2, h3, h4, h5, h6")
    )


def _body_text(tree: LexborHTMLParser) -> str:
    root = content_root(tree)
    return visible_text(root) if root is not None else ""


def _meta(tree: LexborHTMLParser, declared: DeclaredMetadata) -> dict[str, str]:
    element = tree.css_first("meta[charset]")
    charset = element.attributes.get("charset") if element else None
    return declared.meta | ({"charset": charset} if charset else {})


def _absolute(base: can_ada.URL | None, addresses: list[str]) -> tuple[str, ...]:
    outside = (address for address in addresses if address.strip() and not is_data_image(address))
    found = (resolve_url(base, address) for address in outside)
    return tuple(dict.fromkeys(filter(None, found)))
