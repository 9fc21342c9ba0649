"""The colours of a brand, chosen from all that a page says of colour."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from cinder.extract.branding.colours import Colour, find_colour
from cinder.extract.branding.sheet import BrandSheet
from cinder.extract.branding.styles import BrandStyles, Styled
from cinder.model.brand_roles import BUTTON

# What themes call their colours, whatever prefix they give them; shades of it come later.
_NAMES = {
    "primary": r"(?:[a-z]+-)*(?:primary|brand|main)(?:-(?:color|colour|500|600|default|base))?",
    "secondary": r"(?:[a-z]+-)*secondary(?:-(?:color|colour|500|600|default|base))?",
    "accent": r"(?:[a-z]+-)*(?:accent|highlight)(?:-(?:color|colour|500|600|default|base))?",
}
_NAME_PATTERNS = {use: re.compile(f"--{name}", re.IGNORECASE) for use, name in _NAMES.items()}
# A custom property of these names is about text or borders, not about the brand.
_NOT_FILLS = re.compile(r"text|font|foreground|border|shadow|hover|contrast|on-", re.IGNORECASE)

# What a browser gives links of its own accord.
_BROWSERS_OWN = ("#0000ee", "#551a8b")


def choose_colours(sheet: BrandSheet, styles: BrandStyles, meta: Mapping[str, str]) -> None:
    """Put the colours of the page and of the brand on the sheet."""
    for place, roles, name in (
        ("background", ("body", "html"), "background-color"),
        ("textPrimary", ("text", "body", "html"), "color"),
        ("link", ("link",), "color"),
    ):
        for role in roles:
            _put(sheet, place, styles.of(role, name))
    for use in ("primary", "secondary", "accent"):
        taken = {_hex(sheet, other) for other in ("primary", "secondary")}
        for candidate in _candidates(use, sheet, styles, meta):
            colour = find_colour(candidate.value)
            if colour is not None and colour.hex not in taken:
                _put(sheet, use, candidate)
                break


def _put(sheet: BrandSheet, place: str, styled: Styled | None) -> None:
    colour = find_colour(styled.value) if styled else None
    if styled and colour:
        sheet.put(f"colors.{place}", Styled(colour.hex, styled.source))


def _hex(sheet: BrandSheet, place: str) -> str | None:
    found = sheet.get(f"colors.{place}")
    return found.value if found else None


def _candidates(
    use: str, sheet: BrandSheet, styles: BrandStyles, meta: Mapping[str, str]
) -> Iterator[Styled]:
    """Yield what may be a brand's colour, the likeliest first; greys only where so named."""
    yield from _named(use, styles)
    for styled in (*_used(sheet, styles, meta), *_frequent(styles)):
        if _is_vivid(styled.value):
            yield styled


def _named(use: str, styles: BrandStyles) -> Iterator[Styled]:
    for name, value in styles.custom_properties.items():
        if _NAME_PATTERNS[use].fullmatch(name) and not _NOT_FILLS.search(name):
            yield Styled(_spelled_out(value), f"css:{name}")


def _spelled_out(value: str) -> str:
    """Return a colour of which a theme keeps the parts alone, such as `255 85 0`, as a colour."""
    parts = value.replace(",", " ").split()
    is_parts = len(parts) == 3 and all(part.isdigit() for part in parts)
    if is_parts:
        return f"rgb({' '.join(parts)})"
    is_hsl = len(parts) == 3 and parts[1].endswith("%") and parts[2].endswith("%")
    return f"hsl({' '.join(parts)})" if is_hsl else value


def _used(sheet: BrandSheet, styles: BrandStyles, meta: Mapping[str, str]) -> Iterator[Styled]:
    for button in styles.all_of(BUTTON):
        if background := button.styles.get("background-color"):
            yield background
    for name in ("theme-color", "msapplication-tilecolor"):
        if name in meta:
            yield Styled(meta[name], f"meta:{name}")
    if background := styles.of("header", "background-color"):
        yield background
    if link := sheet.get("colors.link"):
        yield link


def _frequent(styles: BrandStyles) -> Iterator[Styled]:
    counts: Counter[Colour] = Counter()
    for value, count in styles.colours.items():
        colour = find_colour(value)
        if colour is not None and _is_vivid(value):
            counts[colour] += count
    for colour, count in counts.most_common(5):
        yield Styled(colour.hex, styles.say(f"used {count} times"))


def _is_vivid(value: str) -> bool:
    colour = find_colour(value)
    return colour is not None and not colour.is_grey and colour.hex not in _BROWSERS_OWN
