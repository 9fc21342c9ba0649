"""A page's branding: colours, fonts, spacing, buttons and logo, each with its source."""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import can_ada
from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.html.bombs import find_bomb
from cinder.html.branding_styles import (
    BrandStyles,
    SourcedValue,
    StyledElement,
    styles_from_browser,
    styles_from_css,
    to_pixels,
)
from cinder.html.css.selectors import CssElement
from cinder.html.css.values import Colour, find_colour
from cinder.html.metadata.declared import read_declared, read_json_ld
from cinder.html.tree import (
    Elements,
    ancestors,
    collapse,
    document_base,
    parse_html,
    resolve_http_url,
)
from cinder.html.vocabulary import load_vocabulary
from cinder.models.document import BUTTON, Json
from cinder.text.content_type import Shape, content_kind, decode_body

_VOCABULARY = load_vocabulary()["branding"]


class BrandProfile:
    """The branding of a page by path, such as `colors.primary`; the first value of a path stays."""

    def __init__(self) -> None:
        self._values: dict[str, Json] = {}
        self._sources: dict[str, Json] = {}

    def put(self, path: str, styled: SourcedValue | None) -> None:
        """Set a value and its source, if there is a value."""
        if styled is not None and styled.value:
            self.put_value(path, styled.value, styled.source)

    def put_colour(self, path: str, styled: SourcedValue | None) -> None:
        """Set a colour as `#rrggbb`, if the value contains one."""
        colour = find_colour(styled.value) if styled else None
        if styled and colour:
            self.put_value(path, colour.hex, styled.source)

    def put_value(self, path: str, value: Json, source: str | None = None) -> None:
        """Set a value of any type; sources of its parts are noted separately."""
        if path not in self._values:
            self._values[path] = value
            if source is not None:
                self._sources[path] = source

    def note_source(self, path: str, source: str) -> None:
        """Set the source of a value, or of a part of it."""
        self._sources.setdefault(path, source)

    def get(self, path: str) -> SourcedValue | None:
        """Return the text at a path, with its source."""
        value, source = self._values.get(path), self._sources.get(path)
        return SourcedValue(value, str(source)) if isinstance(value, str) else None

    def as_json(self) -> dict[str, Json]:
        """Return all values, nested by path, with `sources` by path."""
        whole: dict[str, Json] = {}
        for path, value in self._values.items():
            *groups, leaf = path.split(".")
            table = whole
            for group in groups:
                inner = table.setdefault(group, {})
                if not isinstance(inner, dict):
                    raise TypeError(f"{path} lies within a value")
                table = inner
            table[leaf] = value
        return whole | {"sources": dict(self._sources)} if whole else {}


# Names of colours in themes, with any prefix; shades of them rank lower.
_SHADE = "(?:-(?:color|colour|500|600|default|base))?"
_NAME_PATTERNS = {
    use: re.compile(f"--(?:[a-z]+-)*(?:{names}){_SHADE}", re.IGNORECASE)
    for use, names in {
        "primary": "primary|brand|main",
        "secondary": "secondary",
        "accent": "accent|highlight",
    }.items()
}
# Custom properties with these words are about text or borders, not about the brand.
_NOT_FILLS = re.compile(r"text|font|foreground|border|shadow|hover|contrast|on-", re.IGNORECASE)
# The default link colours of browsers.
_BROWSER_COLOURS = ("#0000ee", "#551a8b")

MAX_SVG_CHARS = 5_000
_MAX_LOGO_CANDIDATES = 200
_MAX_CLIMB = 4
_LOGO = re.compile("|".join(_VOCABULARY["logo_words"]), re.IGNORECASE)
# Parts of a drawing that could run code or send requests.
_UNSAFE_SVG = re.compile(r"<script|<foreignobject|\son\w+=|javascript:|<use", re.IGNORECASE)
_HEAD_OF_PAGE = "header, [role=banner], nav, #header, .header, .navbar"
_ICON_SIZE = re.compile(r"(\d{1,4})x\d{1,4}")
_GENERIC_FAMILIES = frozenset(_VOCABULARY["generic_fonts"])
_MAX_FAMILIES = 10
_WEIGHT = re.compile(r"normal|bold|\d{1,4}")


def find_stylesheets(body: bytes, *, content_type: str, url: str) -> tuple[str, ...]:
    """Return the addresses of the style sheets that a page links to, in order."""
    text = decode_body(body, content_type)
    if content_kind(content_type, text).shape is not Shape.HTML or find_bomb(text):
        return ()
    tree = parse_html(text)
    base = document_base(tree, url)
    links = tree.css("link[rel~=stylesheet i][href]:not([rel~=alternate i]):not([media=print i])")
    found = (resolve_http_url(base, link.attributes.get("href") or "") for link in links[:200])
    return tuple(dict.fromkeys(filter(None, found)))


def read_branding(
    body: bytes,
    *,
    content_type: str,
    url: str,
    sheets: Iterable[str] = (),
    samples: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Return a page's branding, from a browser's samples or else from CSS.

    Args:
        body: the page as received.
        content_type: the whole Content-Type header.
        url: the final URL of the page.
        sheets: the style sheets that it links to, in order.
        samples: the styles that a browser computed; None if no browser rendered the page.
    """
    text = decode_body(body, content_type)
    if content_kind(content_type, text).shape is not Shape.HTML or find_bomb(text):
        return {}
    tree = parse_html(text)
    base = document_base(tree, url)
    declared = read_declared(Elements.of_page(tree))
    meta, json_ld = declared.meta, read_json_ld(declared.scripts)
    styles = styles_from_css(tree, sheets) if samples is None else styles_from_browser(samples)
    profile = BrandProfile()
    for name in ("og:site_name", "application-name", "apple-mobile-web-app-title"):
        if name in meta:
            profile.put("brandName", SourcedValue(meta[name][:200], f"meta:{name}"))
    for item in json_ld:
        title = item.get("name")
        is_maker = str(item.get("@type")).lower() in ("organization", "corporation", "brand")
        if is_maker and isinstance(title, str):
            profile.put("brandName", SourcedValue(title.strip()[:200], "json-ld:name"))
    logo = find_logo(tree, base, json_ld)
    profile.put("logo", logo)
    choose_colours(profile, styles, meta)
    _put_scheme(profile, meta)
    _put_typography(profile, styles)
    _put_spacing(profile, styles)
    _put_components(profile, styles)
    if logo is not None and not logo.value.startswith("data:"):
        profile.put("images.logo", logo)
    profile.put("images.favicon", find_icon(tree, base))
    if preview := resolve_http_url(base, meta.get("og:image", "")) if "og:image" in meta else None:
        profile.put("images.ogImage", SourcedValue(preview, "meta:og:image"))
    return profile.as_json()


def choose_colours(profile: BrandProfile, styles: BrandStyles, meta: Mapping[str, str]) -> None:
    """Add the colours of the page and of the brand."""
    for place, roles, name in (
        ("background", ("body", "html"), "background-color"),
        ("textPrimary", ("text", "body", "html"), "color"),
        ("link", ("link",), "color"),
    ):
        for role in roles:
            profile.put_colour(f"colors.{place}", styles.of(role, name))
    for use in ("primary", "secondary", "accent"):
        others = (profile.get(f"colors.{other}") for other in ("primary", "secondary"))
        taken = {other.value for other in others if other}
        for candidate in _colour_candidates(use, profile, styles, meta):
            colour = find_colour(candidate.value)
            if colour is not None and colour.hex not in taken:
                profile.put_colour(f"colors.{use}", candidate)
                break


def _colour_candidates(
    use: str, profile: BrandProfile, styles: BrandStyles, meta: Mapping[str, str]
) -> Iterator[SourcedValue]:
    """Yield possible brand colours, the likeliest first; greys only if a theme names them."""
    for name, value in styles.custom_properties.items():
        if _NAME_PATTERNS[use].fullmatch(name) and not _NOT_FILLS.search(name):
            # Some themes store only the parts of a colour, such as `255 85 0`.
            parts = value.replace(",", " ").split()
            if len(parts) == 3 and all(part.isdigit() for part in parts):
                value = f"rgb({' '.join(parts)})"  # noqa: PLW2901 - completed
            elif len(parts) == 3 and parts[1].endswith("%") and parts[2].endswith("%"):
                value = f"hsl({' '.join(parts)})"  # noqa: PLW2901 - completed
            yield SourcedValue(value, f"css:{name}")
    used = [button.styles.get("background-color") for button in styles.all_of(BUTTON)]
    for name in ("theme-color", "msapplication-tilecolor"):
        used += [SourcedValue(meta[name], f"meta:{name}")] if name in meta else []
    used += [styles.of("header", "background-color"), profile.get("colors.link")]
    yield from (styled for styled in used if styled and _vivid_colour(styled.value))
    counts: Counter[Colour] = Counter()
    for value, count in styles.colours.items():
        if colour := _vivid_colour(value):
            counts[colour] += count
    for colour, count in counts.most_common(5):
        yield SourcedValue(colour.hex, styles.say(f"used {count} times"))


def _vivid_colour(value: str) -> Colour | None:
    colour = find_colour(value)
    is_vivid = colour and not colour.is_grey and colour.hex not in _BROWSER_COLOURS
    return colour if is_vivid else None


def find_logo(
    tree: LexborHTMLParser, base: can_ada.URL | None, json_ld: Iterable[Mapping[str, Json]]
) -> SourcedValue | None:
    """Return the address of a page's logo, a drawing as a `data:` URI, with its source."""
    for place in tree.css(_HEAD_OF_PAGE)[:10]:
        if found := _first_logo(place, base):
            return found
    for item in json_ld:
        is_maker = str(item.get("@type")).lower() in _VOCABULARY["organization_types"]
        holder = item if is_maker else item.get("publisher")
        logo = holder.get("logo") if isinstance(holder, dict) else None
        reference = logo.get("url") or logo.get("contentUrl") if isinstance(logo, dict) else logo
        if isinstance(reference, str) and (address := resolve_http_url(base, reference)):
            return SourcedValue(address, "json-ld:logo")
    marked = tree.css_first("[itemprop=logo][src], [itemprop=logo] img")
    if marked is not None and (address := _image_url(marked, base)):
        return SourcedValue(address, "itemprop:logo")
    return _first_logo(tree.body, base) if tree.body is not None else None


def find_icon(tree: LexborHTMLParser, base: can_ada.URL | None) -> SourcedValue | None:
    """Return the address of a page's icon: a drawing, or the largest."""

    def size(link: LexborNode) -> int:
        attributes = link.attributes
        href = attributes.get("href") or ""
        if "svg" in (attributes.get("type") or "") or href.endswith(".svg"):
            return 10_000
        found = _ICON_SIZE.search((attributes.get("sizes") or "")[:100])
        return int(found[1]) if found else 0

    icons = tree.css("link[rel~=icon i][href], link[rel=apple-touch-icon i][href]")[:50]
    for link in sorted(icons, key=size, reverse=True):
        if address := resolve_http_url(base, link.attributes.get("href") or ""):
            return SourcedValue(address, f"link:{(link.attributes.get('rel') or '').lower()[:40]}")
    return None


def _first_logo(place: LexborNode, base: can_ada.URL | None) -> SourcedValue | None:
    for node in place.css("img, svg")[:_MAX_LOGO_CANDIDATES]:
        if not _is_called_logo(node):
            continue
        svg = node.html or "" if node.tag == "svg" else ""
        if svg and len(svg) <= MAX_SVG_CHARS and not _UNSAFE_SVG.search(svg):
            if "xmlns=" not in svg:
                svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
            drawing = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
            return SourcedValue(drawing, f"svg:{CssElement.of(node).name}")
        if node.tag == "img" and (address := _image_url(node, base)):
            return SourcedValue(address, f"img:{CssElement.of(node.parent or node).name}")
    return None


def _is_called_logo(node: LexborNode) -> bool:
    """Whether the attributes of an element, or of a close ancestor, name it as a logo."""
    names: tuple[str, ...] = ("class", "id", "alt", "src", "aria-label")
    for element in (node, *ancestors(node, _MAX_CLIMB)):
        if element is not node and element.tag in ("body", "header"):
            break
        values = (element.attributes.get(name) or "" for name in names)
        if any(_LOGO.search(value[:500]) for value in values if not value.startswith("data:")):
            return True
        names = ("class", "id", "aria-label", "title")
    return False


def _image_url(node: LexborNode, base: can_ada.URL | None) -> str | None:
    for name in ("src", "data-src", "data-lazy-src"):
        reference = node.attributes.get(name)
        if reference and (address := resolve_http_url(base, reference)):
            return address
    return None


def _put_scheme(profile: BrandProfile, meta: Mapping[str, str]) -> None:
    background = profile.get("colors.background")
    if background is not None:
        colour = find_colour(background.value)
        scheme = "dark" if colour and colour.is_dark else "light"
        profile.put("colorScheme", SourcedValue(scheme, background.source))
    declared = meta.get("color-scheme", "").split()
    if declared and declared[0] in ("dark", "light"):
        profile.put("colorScheme", SourcedValue(declared[0], "meta:color-scheme"))


def _put_typography(profile: BrandProfile, styles: BrandStyles) -> None:
    fonts: dict[str, Json] = {}
    for use, roles in {
        "primary": ("body", "text", "html"),
        "heading": ("h1", "h2", "h3"),
        "code": ("code",),
    }.items():
        stack = _first_style(styles, roles, "font-family")
        if stack is None:
            continue
        parts = stack.value[:1_000].split(",")
        names = (collapse(part.strip().strip("\"'"))[:80] for part in parts)
        families = [name for name in names if name and not name.startswith("var(")][:_MAX_FAMILIES]
        named = [name for name in families if name.lower() not in _GENERIC_FAMILIES]
        if not families:
            continue
        first = (named or families)[0]
        profile.put_value(f"typography.fontFamilies.{use}", first, stack.source)
        profile.put_value(f"typography.fontStacks.{use}", list(families), stack.source)
        if named and named[0] not in fonts:
            fonts[named[0]] = {"family": named[0], "role": "body" if use == "primary" else use}
            profile.note_source(f"fonts.{len(fonts) - 1}", stack.source)
    if fonts:
        profile.put_value("fonts", list(fonts.values()))
    body, headings = ("text", "body", "html"), ("h1", "h2", "h3")
    for place, roles in {"h1": ("h1",), "h2": ("h2",), "h3": ("h3",), "body": body}.items():
        size = _first_style(styles, roles, "font-size", _is_length)
        profile.put(f"typography.fontSizes.{place}", _in_pixels(size) if size else None)
    for place, roles in {"heading": headings, "body": body}.items():
        weight = _first_style(styles, roles, "font-weight", _WEIGHT.fullmatch)
        profile.put(f"typography.fontWeights.{place}", weight)
        height = _first_style(styles, roles, "line-height", _is_length)
        profile.put(f"typography.lineHeights.{place}", height)


def _first_style(
    styles: BrandStyles,
    roles: Iterable[str],
    name: str,
    is_valid: Callable[[str], object] = bool,
) -> SourcedValue | None:
    found = (styles.of(role, name) for role in roles)
    return next((styled for styled in found if styled and is_valid(styled.value)), None)


def _is_length(value: str) -> bool:
    return value[:1].isdigit() and len(value) <= 20


def _in_pixels(styled: SourcedValue) -> SourcedValue:
    pixels = to_pixels(styled.value)
    return styled if pixels is None else SourcedValue(f"{pixels:g}px", styled.source)


def _put_spacing(profile: BrandProfile, styles: BrandStyles) -> None:
    total = sum(styles.spaces.values())
    for unit in (8, 4, 10, 5, 6):
        fitting = sum(count for pixels, count in styles.spaces.items() if pixels % unit == 0)
        if total and fitting / total >= 0.6:
            source = styles.say(f"padding and margin, {fitting} of {total} values")
            profile.put_value("spacing.baseUnit", unit, source)
            break
    for element in (*styles.all_of(BUTTON), *styles.all_of("input")):
        radius = element.styles.get("border-radius")
        if radius and (to_pixels(radius.value) or 0) > 0:
            profile.put("spacing.borderRadius", _in_pixels(radius))


def _put_components(profile: BrandProfile, styles: BrandStyles) -> None:
    ranked: list[tuple[int, str, StyledElement]] = []
    for button in styles.all_of(BUTTON):
        background = button.styles.get("background-color")
        if colour := find_colour(background.value) if background else None:
            is_named = any(word in button.name.lower() for word in ("primary", "cta", "brand"))
            ranked.append((2 * colour.is_grey - is_named, colour.hex, button))
    ranked.sort(key=lambda entry: entry[0])
    buttons: dict[str, StyledElement] = {}
    for _, background_colour, button in ranked:
        buttons.setdefault(background_colour, button)
    components = dict(zip(("buttonPrimary", "buttonSecondary"), buttons.values(), strict=False))
    if fields := styles.all_of("input"):
        components["input"] = fields[0]
    for name, element in components.items():
        path = f"components.{name}"
        profile.put_colour(f"{path}.background", element.styles.get("background-color"))
        profile.put_colour(f"{path}.textColor", element.styles.get("color"))
        profile.put_colour(f"{path}.borderColor", element.styles.get("border-color"))
        radius = element.styles.get("border-radius")
        if radius and _is_length(radius.value):
            profile.put(f"{path}.borderRadius", _in_pixels(radius))
