"""Makes every address of a page absolute, gives lazy images their source, disarms script links."""

import re

import can_ada
from selectolax.lexbor import LexborAttributes, LexborNode

from cinder.extract.elements import Elements
from cinder.extract.html_tree import WEB_SCHEMES, join_address
from cinder.extract.srcset import parse_srcset, widest

_KEPT_LINK_SCHEMES = (*WEB_SCHEMES, "mailto:", "tel:", "ftp:", "sms:", "magnet:", "geo:")
_SINGLE_ADDRESSES = ("href", "src", "poster", "cite", "action", "formaction")
_DRAWN_ADDRESS = "xlink:href"
# Within a drawing it is in a name space, where selectors know it by its bare name.
_DRAWN = r"svg [href], math [href], [xlink\:href]"
_LAZY_SOURCES = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-orig-file")
_LAZY_SOURCE_SETS = ("data-srcset", "data-lazy-srcset")
# What lazy loaders put in `src` until the real image comes: a tiny data: image, or a named blank.
_PLACEHOLDER_DATA = ("data:image/gif", "data:image/svg")
_PLACEHOLDER_DATA_LENGTH = 2_048
_PLACEHOLDER_NAMES = ("blank", "placeholder", "spacer", "1x1", "lazy", "transparent")
_DATA_IMAGE = re.compile(r"\s*data:image/", re.IGNORECASE)


def resolve_addresses(root: LexborNode, base: can_ada.URL | None, elements: Elements) -> None:
    """Rewrite href, src, srcset and poster below `root`; without a base, relative ones stay.

    Args:
        root: what is left of a part of the page.
        base: what its addresses are relative to.
        elements: all that was in it.
    """
    # For each attribute the parser looks through the tree, which is quicker than a walk.
    for name in filter(elements.have_attribute, _SINGLE_ADDRESSES):
        for node in root.css(f"[{name}]"):
            _resolve_attribute(node.attrs, name, base)
    if elements.have_tag("svg", "math") or elements.have_attribute(_DRAWN_ADDRESS):
        for node in root.css(_DRAWN):
            _resolve_attribute(node.attrs, _DRAWN_ADDRESS, base)
    if elements.have_attribute("srcset"):
        for node in root.css("[srcset]"):
            _resolve_source_set(node.attrs, base)


def give_lazy_images_their_source(root: LexborNode) -> bool:
    """Let the images below `root` that wait for a script show what it would, if there are any."""
    given = [_give_lazy_image_its_source(image) for image in root.css("img")]
    return any(given)


def is_data_image(address: str) -> bool:
    """Whether an address holds an image's bytes itself."""
    return _DATA_IMAGE.match(address) is not None


def absolute_address(base: can_ada.URL | None, reference: str) -> str | None:
    """Return a reference as the page means it, or None if nothing should follow it."""
    return reference if is_data_image(reference) else _joined_address(base, reference)


def _joined_address(base: can_ada.URL | None, reference: str) -> str | None:
    joined = join_address(base, reference)
    if joined is None:
        return _relative_as_written(reference) if base is None else None
    return joined.href if joined.protocol in _KEPT_LINK_SCHEMES else None


def _relative_as_written(reference: str) -> str | None:
    # Without a base only absolute addresses parse; one with a colon may still be a script.
    return None if ":" in reference.partition("/")[0] else reference


def _resolve_attribute(attributes: LexborAttributes, name: str, base: can_ada.URL | None) -> None:
    value = attributes.get(name)
    if value is None:
        return
    if is_data_image(value):
        # An image may stand in the page itself; a link to one leads nowhere.
        resolved = None if name == "href" else value
    else:
        resolved = _joined_address(base, value)
    if resolved is None:
        del attributes[name]
    elif resolved != value:
        attributes[name] = resolved


def _resolve_source_set(attributes: LexborAttributes, base: can_ada.URL | None) -> None:
    candidates = parse_srcset(attributes.sget("srcset"))
    resolved = [(absolute_address(base, address), size) for address, size in candidates]
    kept = [f"{address} {size}".rstrip() for address, size in resolved if address]
    if kept:
        attributes["srcset"] = ", ".join(kept)
    elif "srcset" in attributes:
        del attributes["srcset"]


def _give_lazy_image_its_source(image: LexborNode) -> bool:
    attributes = image.attributes
    source = attributes.get("src")
    if source and not _is_placeholder(source):
        return False
    lazy = next((attributes[name] for name in _LAZY_SOURCES if attributes.get(name)), None)
    sets = [attributes.get(name) for name in (*_LAZY_SOURCE_SETS, "srcset")]
    best = lazy or next((widest(parse_srcset(value)) for value in sets if value), None)
    if best:
        image.attrs["src"] = best
    return bool(best)


def _is_placeholder(source: str) -> bool:
    if is_data_image(source):
        return len(source) <= _PLACEHOLDER_DATA_LENGTH and source.startswith(_PLACEHOLDER_DATA)
    file_name = source.rpartition("/")[2].lower()
    return any(name in file_name for name in _PLACEHOLDER_NAMES)
