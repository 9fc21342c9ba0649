"""The pictures that a brand is known by: its logo, its icons, the image for previews."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping

import can_ada
from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.extract.branding.css_selectors import Element
from cinder.extract.branding.styles import Styled
from cinder.extract.links import web_address
from cinder.model.document import Json

MAX_DRAWING_CHARS = 5_000
_MAX_LOOKED_AT = 200
_MAX_CLIMB = 4

_LOGO = re.compile(r"logo|brand|wordmark", re.IGNORECASE)
# What might run, or ask for something, in whatever shows a drawing.
_UNSAFE_DRAWING = re.compile(r"<script|<foreignobject|\son\w+=|javascript:", re.IGNORECASE)
_HEAD_OF_PAGE = "header, [role=banner], nav, #header, .header, .navbar"
_ICON_SIZE = re.compile(r"(\d{1,4})x\d{1,4}")
_MAKERS = ("organization", "corporation", "newsmediaorganization", "website", "brand", "store")


def find_logo(
    tree: LexborHTMLParser, base: can_ada.URL | None, json_ld: Iterable[Mapping[str, Json]]
) -> Styled | None:
    """Return the address of a page's logo, a drawing as a `data:` URI, and where it was found."""
    for place in tree.css(_HEAD_OF_PAGE)[:10]:
        if found := _first_logo(place, base):
            return found
    if found := _declared_logo(json_ld, base):
        return found
    marked = tree.css_first("[itemprop=logo][src], [itemprop=logo] img")
    if marked is not None and (address := _address_of(marked, base)):
        return Styled(address, "itemprop:logo")
    return _first_logo(tree.body, base) if tree.body is not None else None


def find_icon(tree: LexborHTMLParser, base: can_ada.URL | None) -> Styled | None:
    """Return the address of the icon that a page names: a drawing, or the largest."""
    icons = tree.css("link[rel~=icon i][href], link[rel=apple-touch-icon i][href]")[:50]
    for link in sorted(icons, key=_icon_size, reverse=True):
        if address := web_address(base, link.attributes.get("href") or ""):
            return Styled(address, f"link:{(link.attributes.get('rel') or '').lower()[:40]}")
    return None


def _first_logo(place: LexborNode, base: can_ada.URL | None) -> Styled | None:
    for node in place.css("img, svg")[:_MAX_LOOKED_AT]:
        if not _is_called_logo(node):
            continue
        if node.tag == "svg" and (drawing := _drawing(node)):
            return Styled(drawing, f"svg:{Element.of(node).name}")
        if node.tag == "img" and (address := _address_of(node, base)):
            return Styled(address, f"img:{Element.of(node.parent or node).name}")
    return None


def _is_called_logo(node: LexborNode) -> bool:
    """Whether the element, or what holds it closely, is named as a logo."""
    if any(_LOGO.search(word) for word in _names(node, "alt", "src", "aria-label")):
        return True
    holder, climbed = node.parent, 0
    while holder is not None and climbed < _MAX_CLIMB and holder.tag not in ("body", "header"):
        if any(_LOGO.search(word) for word in _names(holder, "aria-label", "title")):
            return True
        holder, climbed = holder.parent, climbed + 1
    return False


def _names(node: LexborNode, *further: str) -> Iterator[str]:
    attributes = node.attributes
    for name in ("class", "id", *further):
        value = attributes.get(name) or ""
        if not value.startswith("data:"):
            yield value[:500]


def _address_of(node: LexborNode, base: can_ada.URL | None) -> str | None:
    attributes = node.attributes
    said = (attributes.get(name) or "" for name in ("src", "data-src", "data-lazy-src"))
    return next(filter(None, (web_address(base, address) for address in said if address)), None)


def _drawing(node: LexborNode) -> str | None:
    """Return a drawing as an address that holds it; None where it is too long or might do more."""
    text = node.html or ""
    if len(text) > MAX_DRAWING_CHARS or _UNSAFE_DRAWING.search(text) or "<use" in text:
        return None
    if "xmlns=" not in text:
        text = text.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


def _declared_logo(
    json_ld: Iterable[Mapping[str, Json]], base: can_ada.URL | None
) -> Styled | None:
    for thing in json_ld:
        kind = thing.get("@type")
        holders = [thing] if str(kind).lower() in _MAKERS else [thing.get("publisher")]
        for holder in holders:
            logo = holder.get("logo") if isinstance(holder, dict) else None
            said = logo.get("url") or logo.get("contentUrl") if isinstance(logo, dict) else logo
            if isinstance(said, str) and (address := web_address(base, said)):
                return Styled(address, "json-ld:logo")
    return None


def _icon_size(link: LexborNode) -> int:
    attributes = link.attributes
    if "svg" in (attributes.get("type") or "") or (attributes.get("href") or "").endswith(".svg"):
        return 10_000
    found = _ICON_SIZE.search((attributes.get("sizes") or "")[:100])
    return int(found[1]) if found else 0
