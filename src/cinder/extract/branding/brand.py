"""A page's branding: colours, fonts, spacing, buttons and logo, each with where it came from."""

from collections.abc import Callable, Iterable, Mapping

from cinder.extract.bombs import find_bomb
from cinder.extract.branding.colours import find_colour
from cinder.extract.branding.computed_styles import styles_from_browser
from cinder.extract.branding.css_cascade import styles_from_css
from cinder.extract.branding.images import find_icon, find_logo
from cinder.extract.branding.palette import choose_colours
from cinder.extract.branding.sheet import BrandSheet
from cinder.extract.branding.styles import BrandStyles, Styled, StyledElement, to_pixels
from cinder.extract.charset import decode_body
from cinder.extract.content_kind import Shape, content_kind
from cinder.extract.elements import Elements
from cinder.extract.html_tree import collapse, document_base, parse_html
from cinder.extract.links import web_address
from cinder.extract.metadata.declared_elements import read_declared
from cinder.extract.metadata.json_ld import read_json_ld
from cinder.model.brand_roles import BUTTON
from cinder.model.document import Json

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
    found = (web_address(base, link.attributes.get("href") or "") for link in links[:200])
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
    sheet = BrandSheet()
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
    if preview := web_address(base, meta.get("og:image", "")) if "og:image" in meta else None:
        sheet.put("images.ogImage", Styled(preview, "meta:og:image"))
    return sheet.as_json()


def _put_name(
    sheet: BrandSheet, meta: Mapping[str, str], json_ld: Iterable[Mapping[str, Json]]
) -> None:
    for name in ("og:site_name", "application-name", "apple-mobile-web-app-title"):
        if name in meta:
            sheet.put("brandName", Styled(meta[name][:200], f"meta:{name}"))
    for thing in json_ld:
        said = thing.get("name")
        is_maker = str(thing.get("@type")).lower() in ("organization", "corporation", "brand")
        if is_maker and isinstance(said, str):
            sheet.put("brandName", Styled(said.strip()[:200], "json-ld:name"))


def _put_scheme(sheet: BrandSheet, meta: Mapping[str, str]) -> None:
    background = sheet.get("colors.background")
    if background is not None:
        colour = find_colour(background.value)
        scheme = "dark" if colour and colour.is_dark else "light"
        sheet.put("colorScheme", Styled(scheme, background.source))
    declared = meta.get("color-scheme", "").split()
    if declared and declared[0] in ("dark", "light"):
        sheet.put("colorScheme", Styled(declared[0], "meta:color-scheme"))


def _put_fonts(sheet: BrandSheet, styles: BrandStyles) -> None:
    fonts: dict[str, Json] = {}
    for use, roles in {
        "primary": ("body", "text", "html"),
        "heading": ("h1", "h2", "h3"),
        "code": ("code",),
    }.items():
        stack = _first(styles, roles, "font-family")
        families = _families(stack.value) if stack else []
        named = [name for name in families if name.lower() not in _GENERIC_FAMILIES]
        if stack is None or not families:
            continue
        sheet.put(f"typography.fontFamilies.{use}", Styled((named or families)[0], stack.source))
        sheet.put_list(f"typography.fontStacks.{use}", families, stack.source)
        if named and named[0] not in fonts:
            fonts[named[0]] = {"family": named[0], "role": "body" if use == "primary" else use}
            sheet.note_source(f"fonts.{len(fonts) - 1}", stack.source)
    if fonts:
        sheet.put_value("fonts", list(fonts.values()))


def _families(stack: str) -> list[str]:
    names = (collapse(name.strip().strip("\"'"))[:80] for name in stack[:1_000].split(","))
    return [name for name in names if name and not name.startswith("var(")][:_MAX_FAMILIES]


def _put_sizes(sheet: BrandSheet, styles: BrandStyles) -> None:
    body = ("text", "body", "html")
    for place, roles in {"h1": ("h1",), "h2": ("h2",), "h3": ("h3",), "body": body}.items():
        if (size := _first(styles, roles, "font-size", _is_length)) is not None:
            sheet.put(f"typography.fontSizes.{place}", _in_pixels(size))
    for place, roles in {"heading": ("h1", "h2", "h3"), "body": body}.items():
        if (weight := _first(styles, roles, "font-weight", _is_weight)) is not None:
            sheet.put(f"typography.fontWeights.{place}", weight)
        if (height := _first(styles, roles, "line-height", _is_length)) is not None:
            sheet.put(f"typography.lineHeights.{place}", height)


def _first(
    styles: BrandStyles,
    roles: Iterable[str],
    name: str,
    is_fit: Callable[[str], bool] = bool,
) -> Styled | None:
    found = (styles.of(role, name) for role in roles)
    return next((styled for styled in found if styled and is_fit(styled.value)), None)


def _is_length(value: str) -> bool:
    return value[:1].isdigit() and len(value) <= 20


def _is_weight(value: str) -> bool:
    return value in ("normal", "bold") or (value.isdigit() and len(value) <= 4)


def _in_pixels(styled: Styled) -> Styled:
    pixels = to_pixels(styled.value)
    return styled if pixels is None else Styled(f"{pixels:g}px", styled.source)


def _put_spacing(sheet: BrandSheet, styles: BrandStyles) -> None:
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


def _put_components(sheet: BrandSheet, styles: BrandStyles) -> None:
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


def _put_component(sheet: BrandSheet, path: str, element: StyledElement) -> None:
    for key, name in {
        "background": "background-color",
        "textColor": "color",
        "borderColor": "border-color",
    }.items():
        styled = element.styles.get(name)
        colour = find_colour(styled.value) if styled else None
        if styled and colour:
            sheet.put(f"{path}.{key}", Styled(colour.hex, styled.source))
    radius = element.styles.get("border-radius")
    if radius and _is_length(radius.value):
        sheet.put(f"{path}.borderRadius", _in_pixels(radius))
