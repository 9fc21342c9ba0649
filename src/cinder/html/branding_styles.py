"""Styles that branding is read from: computed by a browser, or by the cascade of style sheets."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.html.css.declarations import (
    Declaration,
    parse_declarations,
    resolve_variables,
    without_comments,
)
from cinder.html.css.selectors import CssElement, Specificity, parse_selector, split_selectors
from cinder.html.css.sheet import StyleElement, read_style_sheets
from cinder.html.css.values import measure_length
from cinder.models.document import (
    BRAND_ROLES,
    BRAND_STYLES,
    BUTTON,
    BUTTONS,
    INHERITED_STYLES,
    MAX_BUTTONS,
    Json,
)

_MAX_SAMPLED_ELEMENTS = 50
_MAX_SAMPLED_ITEMS = 1_000
_MAX_SAMPLED_CHARS = 500

_MAX_STYLE_ELEMENTS = 50
_MAX_TOTAL_SHEET_CHARS = 4_000_000
# Of one rule, and of all.
_MAX_SELECTORS = 50
_MAX_SELECTORS_TRIED = 200_000
_MAX_SELECTOR_CHARS = 2_000
_MAX_COUNTED = 1_000
_MAX_PROPERTIES = 1_000
_MAX_RESOLVED_CHARS = 2_000

_FONT = re.compile(r"(?:^|\s)([\d.]+(?:px|rem|em|pt|%))(?:/([\d.]+[a-z%]*))?\s+(\S.*)")
_FONT_WEIGHT = re.compile(r"(?:^|\s)([1-9]00|bold|normal)\s")
_SPACE_NAMES = re.compile(r"(?:padding|margin)(?:-[a-z]+)*|(?:row-|column-)?gap")
_COLOUR_NAMES = re.compile(r"color|background(?:-color)?|border(?:-[a-z]+)?-color|fill|stroke")
# Themes define here what the whole page uses.
_GLOBAL_SELECTORS = frozenset((":root", "html", "body", ":host", "*"))
_INLINE: Specificity = (1_000, 0, 0)

_Rank = tuple[bool, Specificity, int]
_Rule = tuple[tuple[str, ...], list[Declaration]]


class SourcedValue(NamedTuple):
    """The value of a property, and its source."""

    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledElement:
    """An element with its styles that show a brand."""

    role: str
    name: str
    styles: Mapping[str, SourcedValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrandStyles:
    """All that is known about how a page looks."""

    is_computed: bool
    elements: tuple[StyledElement, ...] = ()
    custom_properties: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, int] = field(default_factory=dict)
    """How often each colour is used, in CSS notation."""
    spaces: Mapping[int, int] = field(default_factory=dict)
    """How often each distance is used, in pixels."""

    def of(self, role: str, name: str) -> SourcedValue | None:
        """Return a property of the first element in a role."""
        element = next((e for e in self.elements if e.role == role), None)
        return element.styles.get(name) if element else None

    def all_of(self, role: str) -> list[StyledElement]:
        """Return every element in a role."""
        return [element for element in self.elements if element.role == role]

    def say(self, kind: str) -> str:
        """Return the source of a count over the whole page."""
        return f"{'computed' if self.is_computed else 'css'}:{kind}"


def to_pixels(value: str) -> float | None:
    """Return a length in pixels, with 16 per `rem`; None for relative lengths."""
    pixels = measure_length(value) if value.endswith(("px", "rem", "pt")) else None
    return None if pixels is None else round(pixels, 2)


def _count_spaces(values: Mapping[str, int]) -> dict[int, int]:
    """Return how often each whole number of pixels occurs in the values of paddings and margins."""
    counts: Counter[int] = Counter()
    for value, count in values.items():
        for word in value.split()[:4]:
            pixels = to_pixels(word)
            if pixels is not None and 0 < pixels <= 200 and pixels == int(pixels):
                counts[int(pixels)] += count
    return dict(counts)


def styles_from_browser(samples: Mapping[str, Json]) -> BrandStyles:
    """Return how a page looks from a browser's samples; malformed samples are ignored."""
    elements = samples.get("elements")
    sampled = map(_sampled_element, elements if isinstance(elements, list) else [])
    return BrandStyles(
        is_computed=True,
        elements=tuple(filter(None, islice(sampled, _MAX_SAMPLED_ELEMENTS))),
        custom_properties=_texts(samples.get("properties")),
        colours=_counts(samples.get("colours")),
        spaces=_count_spaces(_counts(samples.get("spaces"))),
    )


def _sampled_element(item: Json) -> StyledElement | None:
    if not isinstance(item, dict):
        return None
    role, name = item.get("role"), item.get("name")
    if role not in (*BRAND_ROLES, BUTTON) or not isinstance(name, str):
        return None
    styles = _texts(item.get("styles"))
    source = f"computed:{name[:80]}"
    known = {
        key: SourcedValue(value, source) for key, value in styles.items() if key in BRAND_STYLES
    }
    if canvas := styles.get("canvas"):
        # The element itself is transparent: the background is that of an ancestor.
        known["background-color"] = SourcedValue(canvas, "computed:canvas")
    return StyledElement(role=str(role), name=name[:80], styles=known)


def _texts(value: Json) -> dict[str, str]:
    pairs = islice(value.items(), _MAX_SAMPLED_ITEMS) if isinstance(value, dict) else ()
    return {
        k[:_MAX_SAMPLED_CHARS]: v[:_MAX_SAMPLED_CHARS] for k, v in pairs if isinstance(v, str) and v
    }


def _counts(value: Json) -> dict[str, int]:
    pairs = islice(value.items(), _MAX_SAMPLED_ITEMS) if isinstance(value, dict) else ()
    return {
        k[:_MAX_SAMPLED_CHARS]: int(v) for k, v in pairs if isinstance(v, int) and 0 < v < 10**9
    }


@dataclass(slots=True)
class _Target:
    """An element, and the strongest declaration of each of its properties so far."""

    role: str
    element: CssElement
    best: dict[str, tuple[_Rank, SourcedValue]] = field(default_factory=dict)

    def take(self, declaration: Declaration, source: str, rank: _Rank) -> None:
        for name, value in _expand(declaration):
            held = self.best.get(name)
            if name in BRAND_STYLES and (held is None or held[0] <= rank):
                self.best[name] = (rank, SourcedValue(value, source))


def styles_from_css(tree: LexborHTMLParser, sheets: Iterable[str]) -> BrandStyles:
    """Return how a page looks by its own style sheets and by `sheets`, which it links to."""
    own = (node.text() or "" for node in tree.css("style")[:_MAX_STYLE_ELEMENTS])
    rules = _read_rules((*sheets, *own))
    targets = list(_find_targets(tree))
    tried = 0
    for order, (selectors, declared) in enumerate(rules):
        relevant = [d for d in declared if any(n in BRAND_STYLES for n, _ in _expand(d))]
        if not relevant or tried > _MAX_SELECTORS_TRIED:
            continue
        tried += len(selectors)
        parsed = filter(None, map(parse_selector, selectors[:_MAX_SELECTORS]))
        for selector in parsed:
            for target in targets:
                if selector.matches(target.element):
                    for declaration in relevant:
                        rank = (declaration.is_important, selector.specificity, order)
                        target.take(declaration, f"css:{selector.text}", rank)
    properties: dict[str, str] = {}
    for selectors, declared in rules:
        if not _GLOBAL_SELECTORS.isdisjoint(selectors) and len(properties) <= _MAX_PROPERTIES:
            properties |= {d.name: d.value for d in declared if d.name.startswith("--")}
    declarations = [declaration for _, declared in rules for declaration in declared]
    return BrandStyles(
        is_computed=False,
        elements=tuple(_styled(target, targets, properties) for target in targets),
        custom_properties={name: _resolve(value, properties) for name, value in properties.items()},
        colours=_count_values(declarations, _COLOUR_NAMES, properties),
        spaces=_count_spaces(_count_values(declarations, _SPACE_NAMES, properties)),
    )


def _read_rules(sheets: Iterable[str]) -> list[_Rule]:
    """Return the rules that apply for every visitor."""
    texts: list[StyleElement] = []
    room = _MAX_TOTAL_SHEET_CHARS
    for sheet in sheets:
        texts.append(StyleElement(sheet[:room], holds_for_all=True))
        room = max(0, room - len(sheet))
    return [
        (tuple(split_selectors(selectors[:_MAX_SELECTOR_CHARS])), parse_declarations(style))
        for selectors, style, holds_for_all in read_style_sheets(texts).rules
        if holds_for_all
    ]


def _resolve(value: str, properties: Mapping[str, str]) -> str:
    resolved = resolve_variables(value, properties, unknown="", max_chars=_MAX_RESOLVED_CHARS)
    return resolved or ""


def _find_targets(tree: LexborHTMLParser) -> Iterator[_Target]:
    nodes: list[tuple[str, LexborNode]] = []
    for role, selectors in BRAND_ROLES.items():
        found = (tree.css_first(selector) for selector in selectors)
        nodes += [(role, node) for node in islice(filter(None, found), 1)]
    for role, node in (*nodes, *((BUTTON, node) for node in tree.css(BUTTONS)[:MAX_BUTTONS])):
        target = _Target(role, CssElement.of(node))
        style = without_comments((node.attributes.get("style") or "")[:_MAX_SELECTOR_CHARS])
        for declaration in parse_declarations(style):
            rank = (declaration.is_important, _INLINE, 0)
            target.take(declaration, f"style:{target.element.name}", rank)
        yield target


def _expand(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Yield the properties that a declaration sets; a shorthand sets several."""
    name, value, _ = declaration
    if name == "background":
        yield "background-color", value
    elif name == "border":
        yield "border-color", value
    elif name == "font" and (found := _FONT.search(value[:500])):
        yield "font-size", found[1]
        yield "font-family", found[3]
        if weight := _FONT_WEIGHT.search(value[: found.start(1)]):
            yield "font-weight", weight[1]
        if found[2]:
            yield "line-height", found[2]
    else:
        yield name, value


def _styled(
    target: _Target, targets: Sequence[_Target], properties: Mapping[str, str]
) -> StyledElement:
    """Return an element with its own styles and with those that it inherits from the page."""
    merged: dict[str, SourcedValue] = {}
    for other in targets:
        if other.role in ("html", "body"):
            merged |= {n: s for n, (_, s) in other.best.items() if n in INHERITED_STYLES}
    merged |= {name: styled for name, (_, styled) in target.best.items()}
    return StyledElement(
        role=target.role,
        name=target.element.name,
        styles={
            name: SourcedValue(value, styled.source)
            for name, styled in merged.items()
            if (value := _resolve(styled.value, properties))
        },
    )


def _count_values(
    declarations: Iterable[Declaration], names: re.Pattern[str], properties: Mapping[str, str]
) -> dict[str, int]:
    """Return how often each value is assigned to the properties of these names."""
    written = Counter(d.value for d in declarations if names.fullmatch(d.name))
    counts: Counter[str] = Counter()
    for value, count in written.most_common(_MAX_COUNTED):
        counts[_resolve(value, properties)] += count
    return dict(counts)
