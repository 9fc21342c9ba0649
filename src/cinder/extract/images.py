"""The images of a page: those it shows, and those it names as its own."""

import re
from collections.abc import Iterable, Iterator

import can_ada
from selectolax.lexbor import LexborNode

from cinder.extract.links import web_address
from cinder.extract.srcset import parse_srcset, widest

# Lazy images have been given their source by then.
_SHOWN = (
    "img, source, amp-img[src], video[poster], input[type=image i][src], svg image, "
    "[style*='url(' i]"
)
_ADDRESSES = {
    "img": ("src",),
    "amp-img": ("src",),
    "input": ("src",),
    "video": ("poster",),
    "image": ("href", "xlink:href"),
}
_SOURCE_SETS = ("srcset", "data-srcset")
_MAX_STYLE_CHARS = 10_000
_STYLE_ADDRESS = re.compile(r"url\(([^()]*)\)", re.IGNORECASE)


def collect_images(roots: Iterable[LexborNode], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses of the images below `roots`, absolute, each once, in order.

    Of an image that comes in several sizes it is the one in `src` and the largest.
    """
    said = (address for root in roots for node in root.css(_SHOWN) for address in _said(node))
    found = (web_address(base, address) for address in said if address.strip())
    return tuple(dict.fromkeys(filter(None, found)))


def _said(node: LexborNode) -> Iterator[str]:
    """Yield what an element names as an image; a sound's or a film's source is none."""
    attributes = node.attributes
    for name in _ADDRESSES.get(node.tag or "", ()):
        yield attributes.get(name) or ""
    for name in _SOURCE_SETS:
        yield widest(parse_srcset(attributes.get(name) or "")) or ""
    for address in _STYLE_ADDRESS.findall((attributes.get("style") or "")[:_MAX_STYLE_CHARS]):
        yield address.strip().strip("\"'")
