"""The links and images of a page: collected, made absolute, with `srcset` and lazy images."""

import re
from collections.abc import Iterable, Iterator

import can_ada
from selectolax.lexbor import LexborAttributes, LexborNode

from cinder.html.tree import WEB_SCHEMES, Elements, detach, join_url, rename_element

_MAX_SRCSET_CHARS = 65_536


def parse_srcset(value: str) -> list[tuple[str, str]]:
    """Return the (address, descriptor) pairs in order; an absurdly long list is cut."""
    return list(_srcset_candidates(value[:_MAX_SRCSET_CHARS].split()))


def widest(candidates: list[tuple[str, str]]) -> str | None:
    """Return the address with the largest width or density, the first of equals."""
    return max(candidates, key=lambda pair: _descriptor_size(pair[1]))[0] if candidates else None


def _srcset_candidates(tokens: list[str]) -> Iterator[tuple[str, str]]:
    # An address may hold commas; only one at its end separates, or one after a descriptor.
    address = ""
    for token in tokens:
        if address:
            descriptor, comma, rest = token.partition(",")
            if not comma and not descriptor:
                continue
            yield address, descriptor
            address = ""
            token = rest  # noqa: PLW2901 - what follows the comma is the next address
        token = token.lstrip(",")  # noqa: PLW2901 - the same
        if token.endswith(","):
            yield token.rstrip(","), ""
        else:
            address = token
    if address:
        yield address, ""


def _descriptor_size(descriptor: str) -> float:
    try:
        return float(descriptor[:-1])
    except ValueError:
        return 0.0


def collect_links(parts: Iterable[Elements], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses that the elements of parts of a page link to.

    Links to a place on the page itself are left out.
    """
    page = base.href.partition("#")[0] if base is not None else ""
    # Pages lead to many a place more than once.
    found = (_link_url(base, page, href) for href in dict.fromkeys(_hrefs(parts)))
    return tuple(dict.fromkeys(filter(None, found)))


def resolve_http_url(base: can_ada.URL | None, reference: str) -> str | None:
    """Return the http(s) URL that a reference means, or None."""
    joined = join_url(base, reference)
    return joined.href if joined is not None and joined.protocol in WEB_SCHEMES else None


def _link_url(base: can_ada.URL | None, page: str, href: str) -> str | None:
    """Return where a link of the page leads, if that is another page."""
    if not href.strip() or href.lstrip().startswith("#"):
        return None
    address = resolve_http_url(base, href)
    if address is None or "#" not in address:
        return address
    return None if address.partition("#")[0] == page else address


def _hrefs(parts: Iterable[Elements]) -> Iterator[str]:
    for elements in parts:
        for place in elements.tagged("a", "area"):
            attributes = elements.attributes(place)
            # In drawings a link has a name space of its own.
            yield attributes.get("href") or attributes.get("xlink:href") or ""


_KEPT_LINK_SCHEMES = (*WEB_SCHEMES, "mailto:", "tel:", "ftp:", "sms:", "magnet:", "geo:")
_URL_ATTRIBUTES = ("href", "src", "poster", "cite", "action", "formaction")
_SVG_URL_ATTRIBUTE = "xlink:href"
# Within a drawing it is in a name space, where selectors know it by its bare name.
_SVG_LINKS = r"svg [href], math [href], [xlink\:href]"
_LAZY_SOURCES = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-orig-file")
_LAZY_SOURCE_SETS = ("data-srcset", "data-lazy-srcset")
# What lazy loaders put in `src` until the real image comes: a tiny data: image, or a named blank.
_PLACEHOLDER_DATA = ("data:image/gif", "data:image/svg")
_PLACEHOLDER_DATA_LENGTH = 2_048
_PLACEHOLDER_NAMES = ("blank", "placeholder", "spacer", "1x1", "lazy", "transparent")
_DATA_IMAGE = re.compile(r"\s*data:image/", re.IGNORECASE)


def resolve_urls(root: LexborNode, base: can_ada.URL | None, elements: Elements) -> None:
    """Rewrite href, src, srcset and poster below `root`; without a base, relative ones stay.

    Args:
        root: what is left of a part of the page.
        base: what its addresses are relative to.
        elements: all that was in it.
    """
    # For each attribute the parser looks through the tree, which is quicker than a walk.
    for name in filter(elements.have_attribute, _URL_ATTRIBUTES):
        for node in root.css(f"[{name}]"):
            _resolve_attribute(node.attrs, name, base)
    if elements.have_tag("svg", "math") or elements.have_attribute(_SVG_URL_ATTRIBUTE):
        for node in root.css(_SVG_LINKS):
            _resolve_attribute(node.attrs, _SVG_URL_ATTRIBUTE, base)
    if elements.have_attribute("srcset"):
        for node in root.css("[srcset]"):
            _resolve_source_set(node.attrs, base)


def resolve_lazy_images(root: LexborNode) -> bool:
    """Let the images below `root` that wait for a script show what it would, if there are any."""
    given = [_resolve_lazy_image(image) for image in root.css("img")]
    return any(given)


def is_data_image(address: str) -> bool:
    """Whether an address holds an image's bytes itself."""
    return _DATA_IMAGE.match(address) is not None


def resolve_url(base: can_ada.URL | None, reference: str) -> str | None:
    """Return a reference as the page means it, or None if nothing should follow it."""
    return reference if is_data_image(reference) else _joined_url(base, reference)


def _joined_url(base: can_ada.URL | None, reference: str) -> str | None:
    joined = join_url(base, reference)
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
        resolved = _joined_url(base, value)
    if resolved is None:
        del attributes[name]
    elif resolved != value:
        attributes[name] = resolved


def _resolve_source_set(attributes: LexborAttributes, base: can_ada.URL | None) -> None:
    candidates = parse_srcset(attributes.sget("srcset"))
    resolved = [(resolve_url(base, address), size) for address, size in candidates]
    kept = [f"{address} {size}".rstrip() for address, size in resolved if address]
    if kept:
        attributes["srcset"] = ", ".join(kept)
    elif "srcset" in attributes:
        del attributes["srcset"]


def _resolve_lazy_image(image: LexborNode) -> bool:
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


# Lazy images have been given their source by then.
_IMAGE_ELEMENTS = (
    "img, source, amp-img[src], video[poster], input[type=image i][src], svg image, "
    "[style*='url(' i]"
)
_IMAGE_ATTRIBUTES = {
    "img": ("src",),
    "amp-img": ("src",),
    "input": ("src",),
    "video": ("poster",),
    "image": ("href", "xlink:href"),
}
_SRCSET_ATTRIBUTES = ("srcset", "data-srcset")
_MAX_STYLE_CHARS = 10_000
_STYLE_URL = re.compile(r"url\(([^()]*)\)", re.IGNORECASE)


def collect_images(roots: Iterable[LexborNode], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses of the images below `roots`, absolute, each once, in order.

    Of an image that comes in several sizes it is the one in `src` and the largest.
    """
    said = (
        address
        for root in roots
        for node in root.css(_IMAGE_ELEMENTS)
        for address in _image_references(node)
    )
    found = (resolve_http_url(base, address) for address in said if address.strip())
    return tuple(dict.fromkeys(filter(None, found)))


def _image_references(node: LexborNode) -> Iterator[str]:
    """Yield what an element names as an image; a sound's or a film's source is none."""
    attributes = node.attributes
    for name in _IMAGE_ATTRIBUTES.get(node.tag or "", ()):
        yield attributes.get(name) or ""
    for name in _SRCSET_ATTRIBUTES:
        yield widest(parse_srcset(attributes.get(name) or "")) or ""
    for address in _STYLE_URL.findall((attributes.get("style") or "")[:_MAX_STYLE_CHARS]):
        yield address.strip().strip("\"'")


_EMOJI_IMAGES = "img.emoji, img.wp-smiley, img.twemoji, img.emojione, img.joypixels, img.smiley"
_MAX_EMOJI_TEXT = 32
_PIXEL_SIZES = frozenset(("0", "1", "0px", "1px"))
_SOURCE_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
_SOURCES = ("src", "data-src", "data-lazy-src", "data-original")


def restore_images(root: LexborNode) -> bool:
    """Give images that wait for a script the source that stands beside them, if there are any."""
    waiting = [image for image in root.css("picture img") if not _own_sources(image)]
    for image in waiting:
        _take_from_picture(image)
    unseen = root.css("noscript img")
    for image in unseen:
        _take_out_of_noscript(image)
    return bool(waiting or unseen)


def remove_pixels(root: LexborNode) -> None:
    """Take out images of one pixel or none."""
    detach([image for image in root.css("img[width][height]") if is_pixel(image)])


def is_pixel(image: LexborNode) -> bool:
    """Whether an image is too small to show anything."""
    attributes = image.attributes
    return all((attributes.get(name) or "").strip() in _PIXEL_SIZES for name in ("width", "height"))


def write_emoji(root: LexborNode) -> None:
    """Put the characters in place of the images that some sites draw emoji with."""
    for image in root.css(_EMOJI_IMAGES):
        text = (image.attributes.get("alt") or "").strip()
        if text and len(text) <= _MAX_EMOJI_TEXT:
            image.replace_with(text)


def write_captions(root: LexborNode) -> None:
    """Make the caption of a figure a paragraph, its own emphasis kept apart from none."""
    for caption in root.css("figcaption"):
        rename_element(
            caption, "p" if caption.css_first("p, div, ul, ol, figure") is None else "div"
        )


def _own_sources(image: LexborNode) -> bool:
    attributes = image.attributes
    return any(attributes.get(name) for name in (*_SOURCES, *_SOURCE_SETS))


def _take_from_picture(image: LexborNode) -> None:
    picture = image.parent
    sources = picture.css("source") if picture is not None else []
    for source in sources:
        for name in _SOURCE_SETS:
            best = widest(parse_srcset(source.attributes.get(name) or ""))
            if best:
                image.attrs["src"] = best
                return


def _take_out_of_noscript(image: LexborNode) -> None:
    """Move the image for visitors without scripts before its `noscript`, unless one is there."""
    holder = image.parent
    while holder is not None and holder.tag != "noscript":
        holder = holder.parent
    if holder is None or is_pixel(image) or len(holder.css("img")) > 1 or holder.text().strip():
        return
    waiting = _image_before(holder)
    if waiting is None:
        holder.insert_before(image, move=True)
    elif not _own_sources(waiting):
        waiting.replace_with(image, move=True)


def _image_before(holder: LexborNode) -> LexborNode | None:
    before = holder.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    if before is None:
        return None
    return before if before.tag == "img" else before.css_first("img")
