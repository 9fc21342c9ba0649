"""The links and images of a page: collected, made absolute, with `srcset` and lazy images."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import unescape
from itertools import islice

import can_ada
from selectolax.lexbor import LexborAttributes, LexborNode

from cinder.html.tree import (
    WEB_SCHEMES,
    Elements,
    ancestors,
    collapse,
    detach,
    element_walk,
    join_url,
    previous_element,
    raw_text,
    rename_element,
    resolve_base,
    resolve_http_url,
)
from cinder.html.vocabulary import load_vocabulary
from cinder.models.document import LinkDetail
from cinder.text.invisible_characters import only_visible_characters

_VOCABULARY = load_vocabulary()["images"]
_MAX_SRCSET_CHARS = 65_536
_MAX_ANCESTORS = 5_000
_KEPT_LINK_SCHEMES = (*WEB_SCHEMES, "mailto:", "tel:", "ftp:", "sms:", "magnet:", "geo:")
_URL_ATTRIBUTES = ("href", "src", "poster", "cite", "action", "formaction")
_SVG_URL_ATTRIBUTE = "xlink:href"
# In SVG the attribute is in a namespace, where selectors know it by its bare name.
_SVG_LINKS = r"svg [href], math [href], [xlink\:href]"
_LAZY_SOURCES = tuple(_VOCABULARY["lazy_sources"])
_LAZY_SOURCE_SETS = tuple(_VOCABULARY["lazy_source_sets"])
# Lazy loaders set `src` to a tiny data: image or a named blank until the real image is loaded.
_PLACEHOLDER_DATA = ("data:image/gif", "data:image/svg")
_PLACEHOLDER_DATA_LENGTH = 2_048
_PLACEHOLDER_NAMES = tuple(_VOCABULARY["placeholder_names"])
_DATA_IMAGE = re.compile(r"\s*data:image/", re.IGNORECASE)

# Lazy images already have their source here.
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

# Every character is matched a bounded number of times: a tag ends at the next `<`.
_ANCHOR = re.compile(r"<(?:a|area)(\s[^<>]{0,4000})", re.IGNORECASE)
_BASE = re.compile(r"<base(\s[^<>]{0,4000})", re.IGNORECASE)
_HREF = re.compile(r"\shref\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))", re.IGNORECASE)
_LINK_TAG = re.compile(r"<link(\s[^<>]{0,4000})", re.IGNORECASE)
_FEED_TYPE = re.compile(r"\stype\s*+=\s*+[\"']?application/(?:rss|atom|rdf)\+xml", re.IGNORECASE)
_MAX_SCANNED_LINKS = 20_000

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# Tags and roles of the parts of a page.
_LANDMARKS = {
    **{tag: tag for tag in ("header", "nav", "aside", "footer")},
    **dict.fromkeys(("main", "article"), "main"),
    "banner": "header",
    "navigation": "nav",
    "complementary": "aside",
    "contentinfo": "footer",
}
_MAX_LINK_CHARS = 300
_MAX_REL_CHARS = 100

_EMOJI_IMAGES = ", ".join(f"img.{name}" for name in _VOCABULARY["emoji_classes"])
_MAX_EMOJI_TEXT = 32
_PIXEL_SIZES = frozenset(("0", "1", "0px", "1px"))
_SOURCE_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
_SOURCES = ("src", "data-src", "data-lazy-src", "data-original")


def parse_srcset(value: str) -> list[tuple[str, str]]:
    """Return the (address, descriptor) pairs in order; a very long list is cut."""
    pairs: list[tuple[str, str]] = []
    # An address may contain commas: only one at its end separates, or one after a descriptor.
    address = ""
    for token in value[:_MAX_SRCSET_CHARS].split():
        if address:
            descriptor, comma, rest = token.partition(",")
            if not comma and not descriptor:
                continue
            pairs.append((address, descriptor))
            address = ""
            token = rest  # noqa: PLW2901 - what follows the comma is the next address
        token = token.lstrip(",")  # noqa: PLW2901 - the same
        if token.endswith(","):
            pairs.append((token.rstrip(","), ""))
        else:
            address = token
    return [*pairs, (address, "")] if address else pairs


def widest(candidates: list[tuple[str, str]]) -> str | None:
    """Return the address with the largest width or density, the first of equals."""

    def size(pair: tuple[str, str]) -> float:
        try:
            return float(pair[1][:-1])
        except ValueError:
            return 0.0

    return max(candidates, key=size)[0] if candidates else None


def collect_links(parts: Iterable[Elements], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses that parts of a page link to.

    Links to a fragment of the page itself are left out.
    """
    hrefs: dict[str, None] = {}
    for elements in parts:
        for place in elements.tagged("a", "area"):
            attributes = elements.attributes(place)
            # In SVG a link may be in a namespace.
            hrefs[attributes.get("href") or attributes.get("xlink:href") or ""] = None
    return _resolve_links(hrefs, base)


def describe_links(roots: Iterable[LexborNode], base: can_ada.URL | None) -> tuple[LinkDetail, ...]:
    """Return the links below `roots` with their words and section, each URL once, in order.

    A link without words takes those of the next one to the same URL.
    """
    found: dict[str, LinkDetail] = {}
    for root in roots:
        for node, section in _links_by_section(root):
            attributes = node.attributes
            href = attributes.get("href") or attributes.get("xlink:href") or ""
            for url in _resolve_links((href,), base):
                known = found.get(url)
                if known is None:
                    rel = collapse(attributes.get("rel"))[:_MAX_REL_CHARS].lower()
                    text = _words_of(node)
                    found[url] = LinkDetail(url=url, text=text, rel=rel, section=section)
                elif not known.text:
                    found[url] = replace(known, text=_words_of(node))
    return tuple(found.values())


def _links_by_section(root: LexborNode) -> Iterator[tuple[LexborNode, str]]:
    """Yield the links below an element, each with its landmark or the heading above it."""
    # By the identity of each element, the landmark around it; parents come before children.
    landmarks: dict[int, str] = {}
    heading = ""
    for node in element_walk(root):
        tag, parent = node.tag or "", node.parent
        around = landmarks.get(parent.mem_id, "") if parent is not None else ""
        role = (node.attributes.get("role") or "").lower() if tag != "a" else ""
        own = _LANDMARKS.get(role) or _LANDMARKS.get(tag, "")
        # The header of an article holds its heading, and a footer within the content its notes.
        if own in ("", "main") or around != "main":
            landmarks[node.mem_id] = around = own or around
        else:
            landmarks[node.mem_id] = around
        is_content = around in ("", "main")
        if tag in _HEADINGS and is_content:
            heading = _words_of(node)
        if tag in ("a", "area"):
            yield node, (heading or "main") if is_content else around


def _words_of(node: LexborNode) -> str:
    words = collapse(raw_text(node)[: 10 * _MAX_LINK_CHARS])
    if not words:
        image = node.css_first("img[alt]")
        described = image.attributes.get("alt") if image is not None else None
        names = (node.attributes.get(name) for name in ("aria-label", "title", "alt"))
        words = collapse(described or next(filter(None, names), ""))
    return only_visible_characters(words)[:_MAX_LINK_CHARS]


def scan_links(markup: str, url: str) -> tuple[str, ...]:
    """Return the web addresses that markup links to, found in linear time and without a tree."""
    base = scan_base(markup, url)
    tags = islice(_ANCHOR.finditer(markup), _MAX_SCANNED_LINKS)
    return _resolve_links(dict.fromkeys(_href_in(tag[1]) or "" for tag in tags), base)


def scan_base(markup: str, url: str) -> can_ada.URL | None:
    """Return the base URL of markup, found without a tree."""
    first_base = _BASE.search(markup)
    return resolve_base(_href_in(first_base[1]) if first_base else None, url)


def scan_feeds(markup: str, url: str) -> tuple[str, ...]:
    """Return the web addresses of the RSS and Atom feeds that a page names, in linear time."""
    tags = (tag[1] for tag in islice(_LINK_TAG.finditer(markup), _MAX_SCANNED_LINKS))
    feeds = (_href_in(tag) or "" for tag in tags if _FEED_TYPE.search(tag))
    return _resolve_links(dict.fromkeys(feeds), scan_base(markup, url))


def _href_in(attributes: str) -> str | None:
    found = _HREF.search(attributes)
    return unescape(next(filter(None, found.groups()), "")) if found else None


def _resolve_links(hrefs: Iterable[str], base: can_ada.URL | None) -> tuple[str, ...]:
    page = base.href.partition("#")[0] if base is not None else ""
    found: dict[str, None] = {}
    for href in hrefs:
        if not href.strip() or href.lstrip().startswith("#"):
            continue
        address = resolve_http_url(base, href)
        if address and ("#" not in address or address.partition("#")[0] != page):
            found[address] = None
    return tuple(found)


def resolve_urls(root: LexborNode, base: can_ada.URL | None, elements: Elements) -> None:
    """Rewrite href, src, srcset and poster below `root`; without a base, relative ones stay.

    Args:
        root: the remaining part of the page.
        base: the base URL of its addresses.
        elements: all elements that the page had.
    """
    # A query of the parser for each attribute is faster than a walk.
    for name in filter(elements.have_attribute, _URL_ATTRIBUTES):
        for node in root.css(f"[{name}]"):
            _resolve_attribute(node.attrs, name, base)
    if elements.have_tag("svg", "math") or elements.have_attribute(_SVG_URL_ATTRIBUTE):
        for node in root.css(_SVG_LINKS):
            _resolve_attribute(node.attrs, _SVG_URL_ATTRIBUTE, base)
    for node in root.css("[srcset]") if elements.have_attribute("srcset") else ():
        candidates = parse_srcset(node.attrs.sget("srcset"))
        resolved = [(resolve_url(base, address), size) for address, size in candidates]
        kept = [f"{address} {size}".rstrip() for address, size in resolved if address]
        if kept:
            node.attrs["srcset"] = ", ".join(kept)
        else:
            del node.attrs["srcset"]


def is_data_image(address: str) -> bool:
    """Whether an address contains an image's bytes."""
    return _DATA_IMAGE.match(address) is not None


def resolve_url(base: can_ada.URL | None, reference: str) -> str | None:
    """Return a reference as an absolute URL, or None if nothing should follow it."""
    if is_data_image(reference):
        return reference
    joined = join_url(base, reference)
    if joined is not None:
        return joined.href if joined.protocol in _KEPT_LINK_SCHEMES else None
    # Without a base only absolute addresses parse; one with a colon may still be a script.
    is_relative = base is None and ":" not in reference.partition("/")[0]
    return reference if is_relative else None


def _resolve_attribute(attributes: LexborAttributes, name: str, base: can_ada.URL | None) -> None:
    value = attributes.get(name)
    if value is None:
        return
    # An image may be embedded in the page; a link to embedded data leads nowhere.
    is_dead_link = name == "href" and is_data_image(value)
    resolved = None if is_dead_link else resolve_url(base, value)
    if resolved is None:
        del attributes[name]
    elif resolved != value:
        attributes[name] = resolved


def resolve_lazy_images(root: LexborNode) -> bool:
    """Set the source of images that wait for a script; return whether there are any."""
    has_lazy = False
    for image in root.css("img"):
        attributes = image.attributes
        source = attributes.get("src")
        if source and not _is_placeholder(source):
            continue
        lazy = next((attributes[name] for name in _LAZY_SOURCES if attributes.get(name)), None)
        sets = [attributes.get(name) for name in (*_LAZY_SOURCE_SETS, "srcset")]
        best = lazy or next((widest(parse_srcset(value)) for value in sets if value), None)
        if best:
            image.attrs["src"] = best
            has_lazy = True
    return has_lazy


def _is_placeholder(source: str) -> bool:
    if is_data_image(source):
        return len(source) <= _PLACEHOLDER_DATA_LENGTH and source.startswith(_PLACEHOLDER_DATA)
    file_name = source.rpartition("/")[2].lower()
    return any(name in file_name for name in _PLACEHOLDER_NAMES)


def collect_images(roots: Iterable[LexborNode], base: can_ada.URL | None) -> tuple[str, ...]:
    """Return the web addresses of the images below `roots`, absolute, each once, in order.

    An image that comes in several sizes is returned as in `src` and in the largest size.
    """
    references: dict[str, None] = {}
    for node in (node for root in roots for node in root.css(_IMAGE_ELEMENTS)):
        attributes = node.attributes
        # The `src` of other elements, such as the sources of audio and video, is no image.
        for name in _IMAGE_ATTRIBUTES.get(node.tag or "", ()):
            references[attributes.get(name) or ""] = None
        for name in _SRCSET_ATTRIBUTES:
            references[widest(parse_srcset(attributes.get(name) or "")) or ""] = None
        for address in _STYLE_URL.findall((attributes.get("style") or "")[:_MAX_STYLE_CHARS]):
            references[address.strip().strip("\"'")] = None
    found = (resolve_http_url(base, reference) for reference in references if reference.strip())
    return tuple(dict.fromkeys(filter(None, found)))


def restore_images(root: LexborNode) -> bool:
    """Set the source of images from their `picture` or `noscript`; return whether there are any."""
    waiting = [image for image in root.css("picture img") if not _has_source(image)]
    for image in waiting:
        picture = image.parent
        sources = picture.css("source") if picture is not None else []
        values = (source.attributes.get(name) for source in sources for name in _SOURCE_SETS)
        best = (widest(parse_srcset(value or "")) for value in values)
        if address := next(filter(None, best), None):
            image.attrs["src"] = address
    in_noscript = root.css("noscript img")
    for image in in_noscript:
        # It goes before its `noscript`, unless an image is there.
        around = ancestors(image, _MAX_ANCESTORS)
        holder = next((above for above in around if above.tag == "noscript"), None)
        if (
            holder is None
            or _is_pixel(image)
            or len(holder.css("img")) > 1
            or holder.text().strip()
        ):
            continue
        present = before = previous_element(holder)
        if before is not None and before.tag != "img":
            present = before.css_first("img")
        if present is None:
            holder.insert_before(image, move=True)
        elif not _has_source(present):
            present.replace_with(image, move=True)
    return bool(waiting or in_noscript)


def remove_pixels(root: LexborNode) -> None:
    """Remove images of one pixel or none."""
    detach([image for image in root.css("img[width][height]") if _is_pixel(image)])


def _is_pixel(image: LexborNode) -> bool:
    attributes = image.attributes
    return all((attributes.get(name) or "").strip() in _PIXEL_SIZES for name in ("width", "height"))


def write_emoji(root: LexborNode) -> None:
    """Replace images of emoji by the characters."""
    for image in root.css(_EMOJI_IMAGES):
        text = (image.attributes.get("alt") or "").strip()
        if text and len(text) <= _MAX_EMOJI_TEXT:
            image.replace_with(text)


def write_captions(root: LexborNode) -> None:
    """Turn the captions of figures into paragraphs, or into `div`s if they contain blocks."""
    for caption in root.css("figcaption"):
        rename_element(
            caption, "p" if caption.css_first("p, div, ul, ol, figure") is None else "div"
        )


def _has_source(image: LexborNode) -> bool:
    attributes = image.attributes
    return any(attributes.get(name) for name in (*_SOURCES, *_SOURCE_SETS))
