"""A page's branding: colours, fonts, spacing, buttons and logo, each with its source."""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
from cinder.html.links import resolve_http_url
from cinder.html.metadata.declared import read_declared, read_json_ld
from cinder.html.tree import Elements, collapse, document_base, parse_html
from cinder.models.document import BUTTON, Json
from cinder.text.content_type import Shape, content_kind, decode_body


class BrandProfile:
    """Takes the first value for each place, such as `colors.primary`; later ones are ignored."""

    def __init__(self) -> None:
        self._values: dict[str, Json] = {}
        self._sources: dict[str, Json] = {}

    def put(self, path: str, styled: SourcedValue | None) -> None:
        """Put a value where none stands yet, if there is one."""
        if styled is not None and styled.value and path not in self._values:
            self._values[path] = styled.value
            self._sources[path] = styled.source

    def put_list(self, path: str, values: Sequence[str], source: str) -> None:
        """Put a list of texts where none stands yet."""
        if path not in self._values:
            self._values[path] = list(values)
            self._sources[path] = source

    def put_value(self, path: str, value: Json) -> None:
        """Put any value; its source is noted apart."""
        self._values.setdefault(path, value)

    def note_source(self, path: str, source: str) -> None:
        """Note where a value, or a part of it, came from."""
        self._sources.setdefault(path, source)

    def get(self, path: str) -> SourcedValue | None:
        """Return what was put at a place."""
        value, source = self._values.get(path), self._sources.get(path)
        return SourcedValue(str(value), str(source)) if isinstance(value, str) else None

    def as_json(self) -> dict[str, Json]:
        """Return all of it, places nested as their names say, with `sources` by place."""
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


# What themes call their colours, whatever prefix they give them; shades of it come later.
_PROPERTY_NAMES = {
    "primary": r"(?:[a-z]+-)*(?:primary|brand|main)(?:-(?:color|colour|500|600|default|base))?",
    "secondary": r"(?:[a-z]+-)*secondary(?:-(?:color|colour|500|600|default|base))?",
    "accent": r"(?:[a-z]+-)*(?:accent|highlight)(?:-(?:color|colour|500|600|default|base))?",
}
_NAME_PATTERNS = {
    use: re.compile(f"--{name}", re.IGNORECASE) for use, name in _PROPERTY_NAMES.items()
}
# A custom property of these names is about text or borders, not about the brand.
_NOT_FILLS = re.compile(r"text|font|foreground|border|shadow|hover|contrast|on-", re.IGNORECASE)

# What a browser gives links of its own accord.
_BROWSERS_OWN = ("#0000ee", "#551a8b")


def choose_colours(sheet: BrandProfile, styles: BrandStyles, meta: Mapping[str, str]) -> None:
    """Put the colours of the page and of the brand on the sheet."""
    for place, roles, name in (
        ("background", ("body", "html"), "background-color"),
        ("textPrimary", ("text", "body", "html"), "color"),
        ("link", ("link",), "color"),
    ):
        for role in roles:
            _put_colour(sheet, place, styles.of(role, name))
    for use in ("primary", "secondary", "accent"):
        taken = {_hex_of(sheet, other) for other in ("primary", "secondary")}
        for candidate in _colour_candidates(use, sheet, styles, meta):
            colour = find_colour(candidate.value)
            if colour is not None and colour.hex not in taken:
                _put_colour(sheet, use, candidate)
                break


def _put_colour(sheet: BrandProfile, place: str, styled: SourcedValue | None) -> None:
    colour = find_colour(styled.value) if styled else None
    if styled and colour:
        sheet.put(f"colors.{place}", SourcedValue(colour.hex, styled.source))


def _hex_of(sheet: BrandProfile, place: str) -> str | None:
    found = sheet.get(f"colors.{place}")
    return found.value if found else None


def _colour_candidates(
    use: str, sheet: BrandProfile, styles: BrandStyles, meta: Mapping[str, str]
) -> Iterator[SourcedValue]:
    """Yield what may be a brand's colour, the likeliest first; greys only where so named."""
    yield from _named_colours(use, styles)
    for styled in (*_used_colours(sheet, styles, meta), *_frequent_colours(styles)):
        if _is_vivid(styled.value):
            yield styled


def _named_colours(use: str, styles: BrandStyles) -> Iterator[SourcedValue]:
    for name, value in styles.custom_properties.items():
        if _NAME_PATTERNS[use].fullmatch(name) and not _NOT_FILLS.search(name):
            yield SourcedValue(_spelled_out(value), f"css:{name}")


def _spelled_out(value: str) -> str:
    """Return a colour of which a theme keeps the parts alone, such as `255 85 0`, as a colour."""
    parts = value.replace(",", " ").split()
    is_parts = len(parts) == 3 and all(part.isdigit() for part in parts)
    if is_parts:
        return f"rgb({' '.join(parts)})"
    is_hsl = len(parts) == 3 and parts[1].endswith("%") and parts[2].endswith("%")
    return f"hsl({' '.join(parts)})" if is_hsl else value


def _used_colours(
    sheet: BrandProfile, styles: BrandStyles, meta: Mapping[str, str]
) -> Iterator[SourcedValue]:
    for button in styles.all_of(BUTTON):
        if background := button.styles.get("background-color"):
            yield background
    for name in ("theme-color", "msapplication-tilecolor"):
        if name in meta:
            yield SourcedValue(meta[name], f"meta:{name}")
    if background := styles.of("header", "background-color"):
        yield background
    if link := sheet.get("colors.link"):
        yield link


def _frequent_colours(styles: BrandStyles) -> Iterator[SourcedValue]:
    counts: Counter[Colour] = Counter()
    for value, count in styles.colours.items():
        colour = find_colour(value)
        if colour is not None and _is_vivid(value):
            counts[colour] += count
    for colour, count in counts.most_common(5):
        yield SourcedValue(colour.hex, styles.say(f"used {count} times"))


def _is_vivid(value: str) -> bool:
    colour = find_colour(value)
    return colour is not None and not colour.is_grey and colour.hex not in _BROWSERS_OWN


MAX_SVG_CHARS = 5_000
_MAX_LOGO_CANDIDATES = 200
_MAX_CLIMB = 4

_LOGO = re.compile(r"logo|brand|wordmark", re.IGNORECASE)
# What might run, or ask for something, in whatever shows a drawing.
_UNSAFE_SVG = re.compile(r"<script|<foreignobject|\son\w+=|javascript:", re.IGNORECASE)
_HEAD_OF_PAGE = "header, [role=banner], nav, #header, .header, .navbar"
_ICON_SIZE = re.compile(r"(\d{1,4})x\d{1,4}")
_MAKERS = ("organization", "corporation", "newsmediaorganization", "website", "brand", "store")


def find_logo(
    tree: LexborHTMLParser, base: can_ada.URL | None, json_ld: Iterable[Mapping[str, Json]]
) -> SourcedValue | None:
    """Return the address of a page's logo, a drawing as a `data:` URI, and where it was found."""
    for place in tree.css(_HEAD_OF_PAGE)[:10]:
        if found := _first_logo(place, base):
            return found
    if found := _declared_logo(json_ld, base):
        return found
    marked = tree.css_first("[itemprop=logo][src], [itemprop=logo] img")
    if marked is not None and (address := _image_url(marked, base)):
        return SourcedValue(address, "itemprop:logo")
    return _first_logo(tree.body, base) if tree.body is not None else None


def find_icon(tree: LexborHTMLParser, base: can_ada.URL | None) -> SourcedValue | None:
    """Return the address of the icon that a page names: a drawing, or the largest."""
    icons = tree.css("link[rel~=icon i][href], link[rel=apple-touch-icon i][href]")[:50]
    for link in sorted(icons, key=_icon_size, reverse=True):
        if address := resolve_http_url(base, link.attributes.get("href") or ""):
            return SourcedValue(address, f"link:{(link.attributes.get('rel') or '').lower()[:40]}")
    return None


def _first_logo(place: LexborNode, base: can_ada.URL | None) -> SourcedValue | None:
    for node in place.css("img, svg")[:_MAX_LOGO_CANDIDATES]:
        if not _is_called_logo(node):
            continue
        if node.tag == "svg" and (drawing := _svg_data_url(node)):
            return SourcedValue(drawing, f"svg:{CssElement.of(node).name}")
        if node.tag == "img" and (address := _image_url(node, base)):
            return SourcedValue(address, f"img:{CssElement.of(node.parent or node).name}")
    return None


def _is_called_logo(node: LexborNode) -> bool:
    """Whether the element, or what holds it closely, is named as a logo."""
    if any(_LOGO.search(word) for word in _naming_attributes(node, "alt", "src", "aria-label")):
        return True
    holder, climbed = node.parent, 0
    while holder is not None and climbed < _MAX_CLIMB and holder.tag not in ("body", "header"):
        if any(_LOGO.search(word) for word in _naming_attributes(holder, "aria-label", "title")):
            return True
        holder, climbed = holder.parent, climbed + 1
    return False


def _naming_attributes(node: LexborNode, *further: str) -> Iterator[str]:
    attributes = node.attributes
    for name in ("class", "id", *further):
        value = attributes.get(name) or ""
        if not value.startswith("data:"):
            yield value[:500]


def _image_url(node: LexborNode, base: can_ada.URL | None) -> str | None:
    attributes = node.attributes
    said = (attributes.get(name) or "" for name in ("src", "data-src", "data-lazy-src"))
    return next(
        filter(None, (resolve_http_url(base, address) for address in said if address)), None
    )


def _svg_data_url(node: LexborNode) -> str | None:
    """Return a drawing as an address that holds it; None where it is too long or might do more."""
    text = node.html or ""
    if len(text) > MAX_SVG_CHARS or _UNSAFE_SVG.search(text) or "<use" in text:
        return None
    if "xmlns=" not in text:
        text = text.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


def _declared_logo(
    json_ld: Iterable[Mapping[str, Json]], base: can_ada.URL | None
) -> SourcedValue | None:
    for thing in json_ld:
        kind = thing.get("@type")
        holders = [thing] if str(kind).lower() in _MAKERS else [thing.get("publisher")]
        for holder in holders:
            logo = holder.get("logo") if isinstance(holder, dict) else None
            said = logo.get("url") or logo.get("contentUrl") if isinstance(logo, dict) else logo
            if isinstance(said, str) and (address := resolve_http_url(base, said)):
                return SourcedValue(address, "json-ld:logo")
    return None


def _icon_size(link: LexborNode) -> int:
    attributes = link.attributes
    if "svg" in (attributes.get("type") or "") or (attributes.get("href") or "").endswith(".svg"):
        return 10_000
    found = _ICON_SIZE.search((attributes.get("sizes") or "")[:100])
    return int(found[1]) if found else 0


_GENERIC_FAMILIES = frozenset(
    (
        *("serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "inherit"),
        *("ui-sans-serif", "ui-serif", "ui-monospace", "ui-rounded", "initial", "unset"),
        *("-apple-system", "blinkmacsystemfont", "emoji", "math"),
    )
)
_MAX_FAMILIES = 10


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
    """Return a page's branding, from what a browser sampled or else from CSS.

    Args:
        body: the page as it came.
        content_type: the whole Content-Type header.
        url: where the page finally came from.
        sheets: the style sheets that it links to, in order.
        samples: the styles as a browser computed them; None where none rendered the page.
    """
    text = decode_body(body, content_type)
    if content_kind(content_type, text).shape is not Shape.HTML or find_bomb(text):
        return {}
    tree = parse_html(text)
    base = document_base(tree, url)
    declared = read_declared(Elements.of_page(tree))
    meta, json_ld = declared.meta, read_json_ld(declared.scripts)
    styles = styles_from_css(tree, sheets) if samples is None else styles_from_browser(samples)
    sheet = BrandProfile()
    _put_name(sheet, meta, json_ld)
    logo = find_logo(tree, base, json_ld)
    sheet.put("logo", logo)
    choose_colours(sheet, styles, meta)
    _put_scheme(sheet, meta)
    _put_fonts(sheet, styles)
    _put_sizes(sheet, styles)
    _put_spacing(sheet, styles)
    _put_components(sheet, styles)
    if logo is not None and not logo.value.startswith("data:"):
        sheet.put("images.logo", logo)
    sheet.put("images.favicon", find_icon(tree, base))
    if preview := resolve_http_url(base, meta.get("og:image", "")) if "og:image" in meta else None:
        sheet.put("images.ogImage", SourcedValue(preview, "meta:og:image"))
    return sheet.as_json()


def _put_name(
    sheet: BrandProfile, meta: Mapping[str, str], json_ld: Iterable[Mapping[str, Json]]
) -> None:
    for name in ("og:site_name", "application-name", "apple-mobile-web-app-title"):
        if name in meta:
            sheet.put("brandName", SourcedValue(meta[name][:200], f"meta:{name}"))
    for thing in json_ld:
        said = thing.get("name")
        is_maker = str(thing.get("@type")).lower() in ("organization", "corporation", "brand")
        if is_maker and isinstance(said, str):
            sheet.put("brandName", SourcedValue(said.strip()[:200], "json-ld:name"))


def _put_scheme(sheet: BrandProfile, meta: Mapping[str, str]) -> None:
    background = sheet.get("colors.background")
    if background is not None:
        colour = find_colour(background.value)
        scheme = "dark" if colour and colour.is_dark else "light"
        sheet.put("colorScheme", SourcedValue(scheme, background.source))
    declared = meta.get("color-scheme", "").split()
    if declared and declared[0] in ("dark", "light"):
        sheet.put("colorScheme", SourcedValue(declared[0], "meta:color-scheme"))


def _put_fonts(sheet: BrandProfile, styles: BrandStyles) -> None:
    fonts: dict[str, Json] = {}
    for use, roles in {
        "primary": ("body", "text", "html"),
        "heading": ("h1", "h2", "h3"),
        "code": ("code",),
    }.items():
        stack = _first_style(styles, roles, "font-family")
        families = _families(stack.value) if stack else []
        named = [name for name in families if name.lower() not in _GENERIC_FAMILIES]
        if stack is None or not families:
            continue
        sheet.put(
            f"typography.fontFamilies.{use}", SourcedValue((named or families)[0], stack.source)
        )
        sheet.put_list(f"typography.fontStacks.{use}", families, stack.source)
        if named and named[0] not in fonts:
            fonts[named[0]] = {"family": named[0], "role": "body" if use == "primary" else use}
            sheet.note_source(f"fonts.{len(fonts) - 1}", stack.source)
    if fonts:
        sheet.put_value("fonts", list(fonts.values()))


def _families(stack: str) -> list[str]:
    names = (collapse(name.strip().strip("\"'"))[:80] for name in stack[:1_000].split(","))
    return [name for name in names if name and not name.startswith("var(")][:_MAX_FAMILIES]


def _put_sizes(sheet: BrandProfile, styles: BrandStyles) -> None:
    body = ("text", "body", "html")
    for place, roles in {"h1": ("h1",), "h2": ("h2",), "h3": ("h3",), "body": body}.items():
        if (size := _first_style(styles, roles, "font-size", _is_length)) is not None:
            sheet.put(f"typography.fontSizes.{place}", _in_pixels(size))
    for place, roles in {"heading": ("h1", "h2", "h3"), "body": body}.items():
        if (weight := _first_style(styles, roles, "font-weight", _is_weight)) is not None:
            sheet.put(f"typography.fontWeights.{place}", weight)
        if (height := _first_style(styles, roles, "line-height", _is_length)) is not None:
            sheet.put(f"typography.lineHeights.{place}", height)


def _first_style(
    styles: BrandStyles,
    roles: Iterable[str],
    name: str,
    is_fit: Callable[[str], bool] = bool,
) -> SourcedValue | None:
    found = (styles.of(role, name) for role in roles)
    return next((styled for styled in found if styled and is_fit(styled.value)), None)


def _is_length(value: str) -> bool:
    return value[:1].isdigit() and len(value) <= 20


def _is_weight(value: str) -> bool:
    return value in ("normal", "bold") or (value.isdigit() and len(value) <= 4)


def _in_pixels(styled: SourcedValue) -> SourcedValue:
    pixels = to_pixels(styled.value)
    return styled if pixels is None else SourcedValue(f"{pixels:g}px", styled.source)


def _put_spacing(sheet: BrandProfile, styles: BrandStyles) -> None:
    total = sum(styles.spaces.values())
    for unit in (8, 4, 10, 5, 6):
        fitting = sum(count for pixels, count in styles.spaces.items() if pixels % unit == 0)
        if total and fitting / total >= 0.6:
            source = styles.say(f"padding and margin, {fitting} of {total} values")
            sheet.put_value("spacing.baseUnit", unit)
            sheet.note_source("spacing.baseUnit", source)
            break
    for element in (*styles.all_of(BUTTON), *styles.all_of("input")):
        radius = element.styles.get("border-radius")
        if radius and (to_pixels(radius.value) or 0) > 0:
            sheet.put("spacing.borderRadius", _in_pixels(radius))


def _put_components(sheet: BrandProfile, styles: BrandStyles) -> None:
    buttons = [element for element in styles.all_of(BUTTON) if _colour_of(element)]
    ranked = sorted(buttons, key=_button_rank)
    seen: list[str] = []
    for button in ranked:
        background = _colour_of(button)
        if background and background not in seen and len(seen) < 2:
            seen.append(background)
            name = "buttonPrimary" if len(seen) == 1 else "buttonSecondary"
            _put_component(sheet, f"components.{name}", button)
    for field in styles.all_of("input")[:1]:
        _put_component(sheet, "components.input", field)


def _button_rank(button: StyledElement) -> int:
    """Return the place of a button: the lower, the more it is the brand's."""
    name = button.name.lower()
    colour = find_colour(button.styles["background-color"].value)
    is_plain = colour is None or colour.is_grey
    is_named = any(word in name for word in ("primary", "cta", "brand"))
    return (0 if is_named else 1) + (2 if is_plain else 0)


def _colour_of(element: StyledElement) -> str | None:
    background = element.styles.get("background-color")
    colour = find_colour(background.value) if background else None
    return colour.hex if colour else None


def _put_component(sheet: BrandProfile, path: str, element: StyledElement) -> None:
    for key, name in {
        "background": "background-color",
        "textColor": "color",
        "borderColor": "border-color",
    }.items():
        styled = element.styles.get(name)
        colour = find_colour(styled.value) if styled else None
        if styled and colour:
            sheet.put(f"{path}.{key}", SourcedValue(colour.hex, styled.source))
    radius = element.styles.get("border-radius")
    if radius and _is_length(radius.value):
        sheet.put(f"{path}.borderRadius", _in_pixels(radius))
